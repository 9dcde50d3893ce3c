package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes is a number of bytes, written as "64KiB" or as a plain number.
type Bytes int64

// The units that Bytes is written in.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

// String writes the number with the largest unit that divides it.
func (b Bytes) String() string {
	switch {
	case b == 0:
		return "0B"
	case b%GiB == 0:
		return strconv.FormatInt(int64(b/GiB), 10) + "GiB"
	case b%MiB == 0:
		return strconv.FormatInt(int64(b/MiB), 10) + "MiB"
	case b%KiB == 0:
		return strconv.FormatInt(int64(b/KiB), 10) + "KiB"
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// ParseBytes reads a whole number with one of the units B, KiB, MiB, GiB, or
// without a unit.
//
// Decimal units (KB, MB) are refused: half of their readers take them for the
// binary ones.
func ParseBytes(s string) (Bytes, error) {
	unit := Bytes(1)
	digits := strings.TrimRight(s, "BKMGi")
	switch s[len(digits):] {
	case "", "B":
	case "KiB":
		unit = KiB
	case "MiB":
		unit = MiB
	case "GiB":
		unit = GiB
	default:
		return 0, errSize(s)
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || n > math.MaxInt64/uint64(unit) {
		return 0, errSize(s)
	}
	return Bytes(n) * unit, nil
}

func errSize(s string) error {
	return fmt.Errorf("%.60q is not a size: write a whole number of B, KiB, MiB or GiB, like \"64KiB\"", s)
}
