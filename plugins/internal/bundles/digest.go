// This file is SHA-256 for guests. crypto/sha256 links os, fmt, reflect and FIPS code, which is
// more than all other code of the built-in module. It is for detecting changes of a text, and
// not for secrets.
//
// # Guarantees
//
// Digest equals the result of crypto/sha256 and encoding/hex; a test compares them.
//
// # Concurrency
//
// The function has no state.

package bundles

import "math/bits"

const (
	blockSize = 64
	rounds    = 64
)

// Digest returns the SHA-256 of a text in hexadecimal digits.
func Digest(text []byte) string {
	h := [8]uint32{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}
	length := uint64(len(text)) * 8
	for len(text) >= blockSize {
		block(&h, text[:blockSize])
		text = text[blockSize:]
	}
	// What is left, a one, zeros, and the length in bits at the end of a block.
	var last [2 * blockSize]byte
	n := copy(last[:], text)
	last[n] = 0x80
	end := blockSize
	if n >= blockSize-8 {
		end = 2 * blockSize
	}
	for i := range 8 {
		last[end-1-i] = byte(length >> (8 * i)) //nolint:gosec // the lowest byte
	}
	block(&h, last[:blockSize])
	if end > blockSize {
		block(&h, last[blockSize:])
	}
	out := make([]byte, 0, 2*4*len(h))
	for _, word := range h {
		for shift := 28; shift >= 0; shift -= 4 {
			out = append(out, "0123456789abcdef"[word>>shift&0xf])
		}
	}
	return string(out)
}

// block takes the next block of a text in.
func block(h *[8]uint32, text []byte) {
	var w [rounds]uint32
	for i := range w {
		if i < 16 {
			w[i] = uint32(text[4*i])<<24 | uint32(text[4*i+1])<<16 | uint32(text[4*i+2])<<8 | uint32(text[4*i+3])
			continue
		}
		s0 := rotate(w[i-15], 7) ^ rotate(w[i-15], 18) ^ w[i-15]>>3 //nolint:gosec // i is 16 or more
		s1 := rotate(w[i-2], 17) ^ rotate(w[i-2], 19) ^ w[i-2]>>10  //nolint:gosec // i is 16 or more
		w[i] = w[i-16] + s0 + w[i-7] + s1                           //nolint:gosec // i is 16 or more
	}
	v := *h
	for i := range w {
		s1 := rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)
		t1 := v[7] + s1 + (v[4]&v[5] ^ ^v[4]&v[6]) + constants[i] + w[i]
		s0 := rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)
		t2 := s0 + (v[0]&v[1] ^ v[0]&v[2] ^ v[1]&v[2])
		v = [8]uint32{t1 + t2, v[0], v[1], v[2], v[3] + t1, v[4], v[5], v[6]}
	}
	for i := range h {
		h[i] += v[i]
	}
}

func rotate(x uint32, n int) uint32 { return bits.RotateLeft32(x, -n) }

// constants are those of FIPS 180-4, section 4.2.2.
var constants = [rounds]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}
