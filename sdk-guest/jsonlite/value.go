package jsonlite

import (
	"errors"
	"iter"
	"strconv"
)

// Kind is the type of a JSON value.
type Kind string

// The kinds, named as they are shown to people. The zero Value has the empty
// kind.
const (
	Null   Kind = "null"
	Bool   Kind = "a boolean"
	Number Kind = "a number"
	String Kind = "a string"
	Array  Kind = "a list"
	Object Kind = "an object"
)

// ErrNotInteger says that a value is not a number that fits an int64 and is
// written without fraction and exponent.
var ErrNotInteger = errors.New("not an integer")

// Value is a view of one value in a document that Parse has checked. The zero
// Value stands for "there is none".
type Value struct{ raw []byte }

// Kind returns the type of the value.
func (v Value) Kind() Kind {
	if len(v.raw) == 0 {
		return ""
	}
	switch v.raw[0] {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}

// Raw returns the text of the value as it stands in the document.
func (v Value) Raw() []byte { return v.raw }

// Text returns the value of a string.
func (v Value) Text() (s string, ok bool) {
	if v.Kind() != String {
		return "", false
	}
	return unquote(v.raw), true
}

// Bool returns the value of a boolean.
func (v Value) Bool() (b, ok bool) {
	if v.Kind() != Bool {
		return false, false
	}
	return v.raw[0] == 't', true
}

// Int returns the value of an integer, or ErrNotInteger.
func (v Value) Int() (int64, error) {
	if v.Kind() != Number {
		return 0, ErrNotInteger
	}
	n, err := strconv.ParseInt(string(v.raw), 10, 64)
	if err != nil {
		return 0, ErrNotInteger
	}
	return n, nil
}

// Elements walks an array in order. For other kinds there are none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != Array {
			return
		}
		i := skipSpace(v.raw, 1)
		for v.raw[i] != ']' {
			end := skipValue(v.raw, i)
			if !yield(Value{v.raw[i:end]}) {
				return
			}
			i = skipComma(v.raw, end)
		}
	}
}

// Members walks an object in the order of the document. For other kinds there
// are none.
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		i := skipSpace(v.raw, 1)
		for v.raw[i] != '}' {
			keyEnd := skipString(v.raw, i)
			start := skipSpace(v.raw, skipSpace(v.raw, keyEnd)+1)
			end := skipValue(v.raw, start)
			if !yield(unquote(v.raw[i:keyEnd]), Value{v.raw[start:end]}) {
				return
			}
			i = skipComma(v.raw, end)
		}
	}
}

func skipComma(data []byte, i int) int {
	i = skipSpace(data, i)
	if data[i] == ',' {
		i = skipSpace(data, i+1)
	}
	return i
}

// Get returns a member of an object, the last one if there are several.
func (v Value) Get(key string) (member Value, ok bool) {
	for k, m := range v.Members() {
		if k == key {
			member, ok = m, true
		}
	}
	return member, ok
}
