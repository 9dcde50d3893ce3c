// Package errtext phrases errors for people. Go's packages phrase theirs for Go programmers:
// "json: cannot unmarshal string into Go struct field T.n of type int", "strconv.ParseInt:
// parsing", "dial unix /x: connect:".
//
// Call Of where an error leaves the program's own code: before it is printed, logged, stored
// in a status, or sent. Code in between wraps errors as usual and needs to know nothing of
// this.
//
// # Guarantees
//
//   - The words of our own errors are unchanged; only what they wrap, and quote with %w, is
//     rephrased.
//   - The result reveals nothing that the error's own text doesn't.
//
// Its functions are pure and safe for concurrent use. A text that quotes an error without
// wrapping it is unchanged.
package errtext

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Of returns the text of an error, for a person; "" for nil.
func Of(err error) string {
	if err == nil {
		return ""
	}
	if text, known := phrase(err); known {
		return text
	}
	text := err.Error()
	for _, inner := range unwrap(err) {
		if was, now := inner.Error(), Of(inner); was != now {
			text = replaceLast(text, was, now) // an error quotes what it wraps after its own words
		}
	}
	if short, ok := leafText(err); ok {
		return short
	}
	return withoutPackage(text)
}

func unwrap(err error) []error {
	switch err := err.(type) { //nolint:errorlint // this is what looks into errors
	case interface{ Unwrap() error }:
		if inner := err.Unwrap(); inner != nil {
			return []error{inner}
		}
	case interface{ Unwrap() []error }:
		return err.Unwrap()
	}
	return nil
}

func replaceLast(text, was, now string) string {
	i := strings.LastIndex(text, was)
	if i < 0 || was == "" {
		return text
	}
	return text[:i] + now + text[i+len(was):]
}

// leaves are errors without a type of their own.
var leaves = map[error]string{
	io.EOF:                   "it ends too early",
	io.ErrUnexpectedEOF:      "it ends too early",
	net.ErrClosed:            "the connection is closed",
	context.Canceled:         "interrupted",
	context.DeadlineExceeded: "the time is up",
	hex.ErrLength:            "an odd number of hexadecimal digits",
	exec.ErrNotFound:         "it isn't installed, or not in $PATH",
}

func leafText(err error) (text string, ok bool) {
	if reflect.TypeOf(err).Comparable() {
		if text, ok = leaves[err]; ok {
			return text, true
		}
	}
	if unwrap(err) == nil && errors.Is(err, context.DeadlineExceeded) { // net/http has one of its own
		return leaves[context.DeadlineExceeded], true
	}
	return "", false
}

// packages are names of Go's packages, with which their errors begin.
var packages = []string{
	"json: ", "jsontext: ", "time: ", "encoding/hex: ", "tls: failed to verify certificate: ", "tls: ", "x509: ", "http: ", "net/http: ", "os: ", "exec: ",
}

func withoutPackage(text string) string {
	for _, name := range packages {
		text = strings.TrimPrefix(text, name)
	}
	return text
}

// phrase rephrases an error of one of Go's own types.
func phrase(err error) (text string, known bool) {
	switch err := err.(type) { //nolint:errorlint // Of unwraps by itself, to see what is quoted
	case *fs.PathError:
		return ofPath(err.Op, shown(err.Path), err.Err), true
	case *os.LinkError:
		return fmt.Sprintf("can't %s %s to %s: %s", verbs[err.Op], shown(err.Old), shown(err.New), Of(err.Err)), verbs[err.Op] != ""
	case *os.SyscallError:
		return Of(err.Err), true
	case *exec.Error:
		return fmt.Sprintf("%q can't be started: %s", err.Name, Of(err.Err)), true
	case *net.OpError:
		return ofNetwork(err), true
	case *net.DNSError:
		return fmt.Sprintf("the name %q can't be looked up: %s", err.Name, err.Err), true
	case *url.Error:
		if err.Op == "parse" {
			return fmt.Sprintf("%q isn't a URL: %s", err.URL, Of(err.Err)), true
		}
		return Of(err.Err), true
	case *strconv.NumError:
		return ofNumber(err), true
	case *time.ParseError:
		return fmt.Sprintf("%q isn't a time such as 2026-01-02T15:04:05Z", err.Value), true
	}
	return ofJSON(err)
}

// verbs describe system calls in words; "" for those that only look.
var verbs = map[string]string{
	"mkdir": "make the directory", "mkdirat": "make the directory", "mkdirtemp": "make a directory in", "createtemp": "make a file in",
	"remove": "remove", "unlink": "remove", "unlinkat": "remove", "RemoveAll": "remove", "rename": "rename", "renameat": "rename",
	"symlink": "link", "link": "link", "write": "write to", "read": "read", "chmod": "change the mode of", "chown": "change the owner of",
	"fork/exec": "start", "exec": "start", "chdir": "change to the directory", "truncate": "write to", "sync": "write to", "fsync": "write to",
	"close": "close", "flock": "lock", "fcntl": "lock",
}

func ofPath(op, path string, err error) string {
	if verb := verbs[op]; verb != "" {
		return fmt.Sprintf("can't %s %s: %s", verb, path, Of(err))
	}
	return cmp.Or(path, `""`) + ": " + Of(err)
}

// shown quotes a path that can't be shown literally.
func shown(path string) string {
	if quoted := strconv.Quote(path); quoted != `"`+path+`"` {
		return quoted
	}
	return path
}

func ofNetwork(err *net.OpError) string {
	why := Of(err.Err)
	if err.Addr == nil {
		if err.Source == nil {
			return why
		}
		return fmt.Sprintf("the connection from %s: %s", err.Source, why)
	}
	switch err.Op {
	case "dial":
		return fmt.Sprintf("can't connect to %s: %s", err.Addr, why)
	case "listen":
		return fmt.Sprintf("can't listen on %s: %s", err.Addr, why)
	}
	return fmt.Sprintf("the connection with %s: %s", err.Addr, why)
}

func ofNumber(err *strconv.NumError) string {
	want := "a whole number"
	switch err.Func {
	case "ParseBool":
		want = "true or false"
	case "ParseFloat":
		want = "a number"
	case "ParseUint":
		want = "a whole number from 0"
	}
	if errors.Is(err.Err, strconv.ErrRange) {
		return fmt.Sprintf("%q is out of range", err.Num)
	}
	return fmt.Sprintf("%q isn't %s", err.Num, want)
}

func ofJSON(err error) (text string, known bool) {
	switch err := err.(type) { //nolint:errorlint // as above
	case *json.UnmarshalTypeError:
		kind, _, _ := strings.Cut(err.Value, " ") // "number 12"
		return fmt.Sprintf("%s must be %s, not %s", member(err.Field), wanted(err.Type), kinds[kind]), true
	}
	return ofStrictJSON(err)
}

func member(field string) string {
	if field == "" {
		return "it"
	}
	return strconv.Quote(field)
}

// kinds are the kinds of values, as both packages call them.
var kinds = map[string]string{
	"string": "a string", "number": "a number", "object": "an object", "{": "an object", "array": "a list", "[": "a list",
	"bool": "true or false", "true": "true or false", "false": "true or false", "null": "null", "": "that",
}

var timeType = reflect.TypeFor[time.Time]()

// wanted says what to write for a value of a type.
func wanted(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case nil:
		return "something else"
	case timeType:
		return "a time such as 2026-01-02T15:04:05Z"
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string"
		}
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "something else"
}
