package guest

import (
	"errors"
	"strconv"

	"waymark/sdk-guest/jsonlite"
)

// ErrConfig says that the operator's configuration has a value of the wrong type. The full
// error names the key.
var ErrConfig = errors.New("bad configuration")

type configError struct{ key, got, want string }

func (e *configError) Error() string {
	return "config key " + strconv.Quote(e.key) + " is " + e.got + ", not " + e.want
}

func (e *configError) Unwrap() error { return ErrConfig }

// Config is the operator's table for a resolver. Each getter returns its default if the key
// is missing, and an ErrConfig if the value has another type, so that mistakes are noticed.
// The zero value is an empty table.
type Config struct{ table jsonlite.Value }

// ParseConfig makes a Config from a JSON object, for tests.
func ParseConfig(json string) (Config, error) {
	v, err := jsonlite.Parse([]byte(json), jsonlite.Options{})
	if err != nil {
		return Config{}, err
	}
	if v.Kind() != jsonlite.Object {
		return Config{}, &configError{"", string(v.Kind()), string(jsonlite.Object)}
	}
	return Config{v}, nil
}

// Value returns the value of a key as JSON, for structures that the other getters don't
// cover.
func (c Config) Value(key string) (v jsonlite.Value, ok bool) { return c.table.Get(key) }

// String returns a string.
func (c Config) String(key, def string) (string, error) {
	v, ok := c.Value(key)
	if !ok {
		return def, nil
	}
	s, ok := v.Text()
	if !ok {
		return def, &configError{key, string(v.Kind()), string(jsonlite.String)}
	}
	return s, nil
}

// Strings returns a list of strings. A single string counts as a list of one.
func (c Config) Strings(key string, def ...string) ([]string, error) {
	v, ok := c.Value(key)
	if !ok {
		return def, nil
	}
	if s, ok := v.Text(); ok {
		return []string{s}, nil
	}
	if v.Kind() != jsonlite.Array {
		return def, &configError{key, string(v.Kind()), "a list of strings"}
	}
	list := []string{}
	for e := range v.Elements() {
		s, ok := e.Text()
		if !ok {
			return def, &configError{key, "a list with " + string(e.Kind()), "a list of strings"}
		}
		list = append(list, s)
	}
	return list, nil
}

// Bool returns a boolean.
func (c Config) Bool(key string, def bool) (bool, error) {
	v, ok := c.Value(key)
	if !ok {
		return def, nil
	}
	b, ok := v.Bool()
	if !ok {
		return def, &configError{key, string(v.Kind()), string(jsonlite.Bool)}
	}
	return b, nil
}

// Int returns an integer.
func (c Config) Int(key string, def int64) (int64, error) {
	v, ok := c.Value(key)
	if !ok {
		return def, nil
	}
	n, err := v.Int()
	if err != nil {
		return def, &configError{key, string(v.Kind()), "an integer"}
	}
	return n, nil
}
