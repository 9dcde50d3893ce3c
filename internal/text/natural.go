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
