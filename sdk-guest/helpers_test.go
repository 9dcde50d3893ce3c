package guest_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	guest "waymark/sdk-guest"
)

func TestConfig(t *testing.T) {
	c, err := guest.ParseConfig(`{"s":"x","l":["a","b"],"e":[],"b":true,"n":7,"m":["a",1],"o":{},"z":null}`)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, got any, err error, want any) {
		t.Helper()
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %v, %v; want %v", what, got, err, want)
		}
	}
	fails := func(err error, want string) {
		t.Helper()
		if !errors.Is(err, guest.ErrConfig) || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	s, err := c.String("s", "def")
	check("s", s, err, "x")
	s, err = c.String("missing", "def")
	check("missing", s, err, "def")
	l, err := c.Strings("l")
	check("l", l, err, []string{"a", "b"})
	l, err = c.Strings("e", "def")
	check("e", l, err, []string{})
	l, err = c.Strings("s")
	check("a single string", l, err, []string{"x"})
	l, err = c.Strings("missing", "d", "e")
	check("missing list", l, err, []string{"d", "e"})
	b, err := c.Bool("b", false)
	check("b", b, err, true)
	n, err := c.Int("n", 0)
	check("n", n, err, int64(7))
	n, err = (guest.Config{}).Int("n", 3)
	check("the zero value", n, err, int64(3))

	_, err = c.String("n", "")
	fails(err, `config key "n" is a number, not a string`)
	_, err = c.Strings("m")
	fails(err, `config key "m" is a list with a number, not a list of strings`)
	_, err = c.Strings("o")
	fails(err, `config key "o" is an object, not a list of strings`)
	_, err = c.Bool("z", true)
	fails(err, `config key "z" is null, not a boolean`)
	_, err = c.Int("s", 0)
	fails(err, `config key "s" is a string, not an integer`)

	for _, bad := range []string{`[]`, `{`, `{"a":1,"a":2}`} {
		if _, err := guest.ParseConfig(bad); err == nil {
			t.Errorf("%s is a config", bad)
		}
	}
}

func TestReadHead(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, root := range []fs.FS{os.DirFS(dir), fstest.MapFS{"f": {Data: []byte("0123456789")}, "empty": {}}} {
		for n, want := range map[int]string{0: "", 4: "0123", 10: "0123456789", 99: "0123456789"} {
			buf := make([]byte, n)
			if got, err := guest.ReadHeadInto(root, "f", buf); err != nil || string(got) != want || string(buf[:len(want)]) != want {
				t.Errorf("%d bytes into a buffer: got %q, %v", n, got, err)
			}
			if got, err := guest.ReadHead(root, "f", n); err != nil || string(got) != want {
				t.Errorf("%T: the first %d bytes are %q, %v", root, n, got, err)
			}
		}
		if got, err := guest.ReadHead(root, "empty", 4); err != nil || len(got) != 0 {
			t.Errorf("%T: an empty file: %q, %v", root, got, err)
		}
		if _, err := guest.ReadHead(root, "missing", 4); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%T: %v", root, err)
		}
		if _, err := guest.ReadHead(root, ".", 4); err == nil {
			t.Errorf("%T: a directory has a head", root)
		}
	}
}

type headFS struct{ fs.FS }

func (headFS) ReadHead(name string, n int) ([]byte, error) { return []byte(name)[:n], nil }

func TestHeadFS(t *testing.T) {
	buf := make([]byte, 3)
	if got, err := guest.ReadHeadInto(headFS{}, "name", buf); err != nil || string(got) != "nam" || &got[0] != &buf[0] {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := guest.ReadHead(headFS{}, "name", 2); err != nil || string(got) != "na" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestTruncate(t *testing.T) {
	for _, s := range []string{"", "abc", "äöü", "a😀b", strings.Repeat("é", 50)} {
		for n := range 110 {
			got := guest.Truncate(s, n)
			if len(got) > n || !utf8.ValidString(got) || len(s) <= n && got != s || len(s) > n && n >= 3 && !strings.HasSuffix(got, "…") {
				t.Errorf("Truncate(%q, %d) = %q", s, n, got)
			}
		}
	}
}

func TestMaxBytes(t *testing.T) {
	for limit, want := range map[int64]int{0: 64 << 10, -1: 64 << 10, 7: 7, 1 << 40: 1 << 30} {
		req := guest.Request{Limits: guest.Limits{MaxResourceBytes: limit}}
		if got := req.MaxBytes(); got != want {
			t.Errorf("%d: got %d, want %d", limit, got, want)
		}
	}
}

// TestDependencies holds what makes a guest load fast: what it links.
func TestDependencies(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".", "./frontmatter", "./jsonlite")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	banned := map[string]string{
		"fmt": "13 ms of load time", "os": "10 ms of load time", "reflect": "it keeps much alive",
		"encoding/json": "29 ms of load time", "encoding/binary": "it links reflect", "log": "it links fmt",
		"log/slog": "it links fmt and reflect", "regexp": "its tables", "internal/poll": "it comes with os",
	}
	for pkg := range strings.FieldsSeq(string(out)) {
		if why := banned[pkg]; why != "" {
			t.Errorf("a guest links %s: %s", pkg, why)
		}
		if first, _, _ := strings.Cut(pkg, "/"); strings.Contains(first, ".") {
			t.Errorf("the SDK imports %s: only the standard library and abi are allowed", pkg)
		}
		if strings.HasPrefix(pkg, "waymark/") && pkg != "waymark/abi" && !strings.HasPrefix(pkg, "waymark/sdk-guest") {
			t.Errorf("the SDK imports %s: only abi is allowed", pkg)
		}
	}
}
