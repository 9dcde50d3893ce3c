package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"waymark/host/vfs"
)

// setter checks a value as the TOML library decoded it, and stores it. Its
// error begins with what is expected or wrong, and fits after "key: ".
type setter func(value any) error

func setBytes(dst *Bytes, low, high Bytes) setter {
	return func(value any) error {
		var n Bytes
		switch v := value.(type) {
		case int64:
			n = Bytes(v)
		case string:
			var err error
			if n, err = ParseBytes(v); err != nil {
				return err
			}
		default:
			return wrongType("a size like \"64KiB\" or a number of bytes", value)
		}
		if n < low || n > high {
			return outside(n, low, high)
		}
		*dst = n
		return nil
	}
}

func setDuration(dst *time.Duration, low, high time.Duration) setter {
	const example = `a duration with its unit, like "150ms", "2s" or "1m"`
	return func(value any) error {
		s, ok := value.(string)
		if !ok {
			return wrongType(example, value)
		}
		d, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%.60q is not %s", s, example)
		}
		if d < low || d > high {
			return outside(short(d), short(low), short(high))
		}
		*dst = d
		return nil
	}
}

func setCount(dst *int, low, high int) setter {
	return func(value any) error {
		n, ok := value.(int64)
		if !ok {
			return wrongType("a whole number", value)
		}
		if n < int64(low) || n > int64(high) {
			return outside(n, low, high)
		}
		*dst = int(n)
		return nil
	}
}

func outside(value, low, high any) error {
	return fmt.Errorf("%v is outside the range from %v to %v", value, low, high)
}

// short writes a duration as a person would: 1m, not 1m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func setText(dst *string, check func(string) error) setter {
	return func(value any) error {
		s, ok := value.(string)
		if !ok {
			return wrongType("a string", value)
		}
		if err := check(s); err != nil {
			return err
		}
		*dst = s
		return nil
	}
}

func setList(dst *[]string, check func(string) error) setter {
	return func(value any) error {
		items, ok := value.([]any)
		if !ok {
			return wrongType("a list of strings", value)
		}
		list := make([]string, 0, len(items))
		for _, item := range items {
			s, ok := item.(string)
			if !ok {
				return wrongType("a list of strings", item)
			}
			if err := check(s); err != nil {
				return err
			}
			list = append(list, s)
		}
		*dst = list
		if len(list) == 0 {
			*dst = nil // nil and empty mean the same; only one of them exists
		}
		return nil
	}
}

// setPatterns is setList for patterns, which check bounds together.
func setPatterns(dst *[]string, check func([]string) error) setter {
	set := setList(dst, checkPattern)
	return func(value any) error {
		if err := set(value); err != nil {
			return err
		}
		if e, ok := errors.AsType[*vfs.PatternError](check(*dst)); ok {
			return fmt.Errorf("%.80q %s", e.Pattern, e.Problem)
		}
		return nil
	}
}

// checkNarrow says what is wrong with patterns that narrow a plugin's reads.
func checkNarrow(list []string) error {
	_, err := vfs.View{Narrow: list}.Compile()
	return err
}

func wrongType(want string, got any) error {
	return fmt.Errorf("%s is expected, not %s", want, typeName(got))
}

// typeName names a TOML type for a person.
func typeName(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case int64:
		return "a number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case time.Time:
		return "a date or time"
	case []any, []map[string]any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "that"
}

var errEmpty = errors.New("it must not be empty")
