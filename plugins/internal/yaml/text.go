//go:build wasip1 || libyaml

package yaml

import (
	"errors"
	"strconv"
)

// sprintf is what the parser needs of fmt: %d, %s, %c and %v of what it has.
func sprintf(format string, args ...any) string {
	var out []byte
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			out = append(out, format[i])
			continue
		}
		i++
		out = appendArg(out, format[i], args[0])
		args = args[1:]
	}
	return string(out)
}

func errorf(format string, args ...any) error { return errors.New(sprintf(format, args...)) }

func appendArg(out []byte, verb byte, arg any) []byte {
	switch v := arg.(type) {
	case string:
		return append(out, v...)
	case Stage:
		return append(out, v...)
	case error:
		return append(out, v.Error()...)
	case int:
		return strconv.AppendInt(out, int64(v), 10)
	case EventType:
		return strconv.AppendInt(out, int64(v), 10)
	case byte:
		return appendRune(out, verb, rune(v))
	case rune:
		return appendRune(out, verb, v)
	}
	panic("yaml: sprintf doesn't know its argument")
}

func appendRune(out []byte, verb byte, r rune) []byte {
	if verb == 'c' {
		return append(out, string(r)...)
	}
	return strconv.AppendInt(out, int64(r), 10)
}
