package text

import (
	"cmp"
	"strings"
)

// Natural compares two names as people sort them: by the value of numbers in them, so that
// s-2 comes before s-10. It is 0 only for equal names. Hashed or sent data is sorted by bytes
// instead.
func Natural(a, b string) int {
	restA, restB := a, b
	for restA != "" && restB != "" {
		digitsA, digitsB := digits(restA), digits(restB)
		if digitsA == 0 || digitsB == 0 {
			if restA[0] != restB[0] {
				return cmp.Compare(restA[0], restB[0])
			}
			restA, restB = restA[1:], restB[1:]
			continue
		}
		x, y := strings.TrimLeft(restA[:digitsA], "0"), strings.TrimLeft(restB[:digitsB], "0")
		if order := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y)); order != 0 {
			return order
		}
		restA, restB = restA[digitsA:], restB[digitsB:]
	}
	return cmp.Or(cmp.Compare(len(restA), len(restB)), strings.Compare(a, b))
}

// digits returns how many digits a text begins with.
func digits(s string) int {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return i
		}
	}
	return len(s)
}

// maxKey bounds a NaturalKey: databases limit what an index may have.
const maxKey = 400

// NaturalKey returns a text whose order by bytes is that of Natural. Texts that differ only
// behind hundreds of bytes, or in zeros before numbers, may have equal keys.
func NaturalKey(s string) string {
	var key strings.Builder
	for s != "" && key.Len() < maxKey {
		n := digits(s)
		if n == 0 {
			key.WriteByte(s[0])
			s = s[1:]
			continue
		}
		// A number begins with a digit, for its place among other characters, and its length.
		number := strings.TrimLeft(s[:n], "0")
		key.WriteByte('0')
		for rest := len(number); ; rest -= lengths {
			if rest < lengths {
				key.WriteByte(byte('!' + rest))
				break
			}
			key.WriteByte('!' + lengths)
		}
		key.WriteString(number)
		s = s[n:]
	}
	return strings.ToValidUTF8(key.String()[:min(key.Len(), maxKey)], "")
}

// lengths is how many lengths of numbers one byte of a key tells apart.
const lengths = '{' - '!'
