package credential_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waymark/internal/credential"
)

// TestKinds: what holds for all kinds, and what is written down of each.
func TestKinds(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	want := map[string]struct {
		bits, most int // most is the longest text
		life       time.Duration
	}{
		"wma_": {258, 256, 0}, "wmr_": {258, 256, 0}, "wmo_": {258, 256, 0}, "wms_": {258, 47, day / 2}, "wme_": {258, 47, 30 * day}, "wmh_": {258, 47, 0},
		"whsec_": {264, 50, 0}, "wmk_": {258, 47, 0}, "wm_": {258, 46, day / 3}, "wmc_": {258, 47, day / 3}, "wml_": {258, 47, 0},
		"a code of a login link": {132, 22, 10 * time.Minute}, "an enrollment code": {65, 13, 10 * time.Minute},
	}
	for _, k := range credential.Kinds() {
		name := k.Prefix
		if name == "" {
			name = k.Name
		}
		w, listed := want[name]
		delete(want, name)
		if !listed || k.Bits() != w.bits || k.Life != w.life {
			t.Errorf("%s: %d bits, valid for %s; want %+v", name, k.Bits(), k.Life, w)
		}
		text := k.New()
		kept, err := k.Parse(text)
		if again, _ := k.Parse(kept); err != nil || again != kept || k.Prefix != "" && kept != text || text == k.New() {
			t.Errorf("%s: made %q, which is read as %q, %v", name, text, kept, err)
		}
		if of := credential.Of(text); k.Prefix != "" && of != k {
			t.Errorf("%s is said to be %s", k.Name, of.Name)
		}
		long := kept + strings.Repeat("A", w.most-len(kept))
		for _, bad := range []string{"", k.Prefix, kept[:len(kept)-1], long + "A", kept[:len(kept)-1] + "\x00", kept[:len(kept)-1] + "=", kept[:9] + "\n" + kept[10:]} {
			if got, err := k.Parse(bad); err == nil || got != "" {
				t.Errorf("%s: %q is taken", name, bad)
			} else if len(bad) > 12 && strings.Contains(err.Error(), bad[5:12]) {
				t.Errorf("%s: %v repeats the secret", name, err)
			}
		}
		if !k.Is(long) {
			t.Errorf("%s: %d characters are refused", name, len(long))
		}
		for _, other := range credential.Kinds() {
			if other == k {
				continue
			}
			_, err := other.Parse(text)
			if err == nil || k.Prefix != "" && other.Prefix != "" && !strings.HasSuffix(err.Error(), "this is "+k.Name) {
				t.Errorf("%s is taken for %s: %v", k.Name, other.Name, err)
			}
		}
		made := time.Now()
		end := made.Add(k.Life)
		if valid := credential.Valid(end.Add(-1), end, time.Time{}); !valid || credential.Valid(end, end, time.Time{}) || credential.Valid(made, end, made) {
			t.Errorf("%s: valid before its end: %t, or at it, or revoked", name, valid)
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
	if none := (credential.Kind{}); none.Is("x") || none.New() != "" || credential.Of("wmz_x") != none {
		t.Error("the zero Kind has texts")
	}
}

func TestTyped(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"0123-4567-ABCDE", "ol23 4567 abcde", "oI-234567-abCDe"} {
		if got, err := credential.EnrollmentCode.Parse(text); got != "01234567ABCDE" || err != nil {
			t.Errorf("%q is read as %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"ABCD-EFGH-JKMN", "UUUU-UUUU-UUUUU", "0123-4567-ABCDE-------", strings.Repeat("-", 1000) + "0123-4567-ABCDE"} {
		if credential.EnrollmentCode.Is(text) {
			t.Errorf("%.40q is taken", text)
		}
	}
}

func TestEnds(t *testing.T) {
	t.Parallel()
	var never time.Time
	now := time.Now()
	later := now.Add(time.Second)
	if !credential.Valid(time.Unix(math.MaxInt32, 0), never, never) || credential.Valid(now, never, later) {
		t.Error("what has no end has one, or what is revoked is valid")
	}
	for _, c := range [][3]time.Time{{now, later, now}, {later, now, now}, {never, now, now}, {now, never, now}, {never, never, never}} {
		if got := credential.Sooner(c[0], c[1]); !got.Equal(c[2]) {
			t.Errorf("of %v and %v %v is sooner", c[0], c[1], got)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		shown, secret string
		want          bool
	}{{"a", "a", true}, {"a", "b", false}, {"a", "aa", false}, {"", "a", false}, {"", "", false}, {"a", "", false}} {
		if got := credential.Same(c.shown, c.secret); got != c.want {
			t.Errorf("%q, %q: %t", c.shown, c.secret, got)
		}
	}
}

func TestHash(t *testing.T) {
	t.Parallel()
	h := credential.HashOf("x")
	data, err := json.Marshal(h)
	if err != nil || string(data) != `"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"` {
		t.Fatalf("%s, %v", data, err)
	}
	var got credential.Hash
	if err := json.Unmarshal(data, &got); err != nil || got != h {
		t.Errorf("%x, %v", got, err)
	}
	for _, bad := range []string{`""`, `"2d71"`, `"` + strings.Repeat("zz", 32) + `"`, `"` + strings.Repeat("00", 33) + `"`} {
		if json.Unmarshal([]byte(bad), &got) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "token")
	if err := credential.WriteFile(path, "secret"); err != nil {
		t.Fatal(err)
	}
	if token, err := credential.ReadToken(path); token != "secret" || err != nil {
		t.Errorf("%q, %v", token, err)
	}
	if err := credential.WriteFile(path, "other"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("written twice: %v", err)
	}
	if err := credential.ReadJSON("agent", path, 100, new(string)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("that is no JSON: %v", err)
	}
	if err := credential.ReadJSON("agent", path+"x", 100, new(string)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"": "one token", "secret one": "one token", "secret\nsecret": "one token", strings.Repeat("s", 5000): "larger than 4096 bytes"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := credential.ReadToken(path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
	for name, at := range map[string]string{"missing": path + "x", "directory": dir, "pipe that nobody writes to": pipe} {
		if _, err := credential.ReadToken(at); err == nil || errors.Is(err, fs.ErrNotExist) != (name == "missing") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, mode := range []fs.FileMode{0o640, 0o604, 0o620} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := credential.ReadToken(path); err == nil || !strings.Contains(err.Error(), "can be read by others: chmod 600 it") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

// FuzzParse: a text has the form of one kind at most, and is hashed as one that has it.
func FuzzParse(f *testing.F) {
	for _, k := range credential.Kinds() {
		f.Add(k.New())
	}
	f.Add("ol23 4567 abcde")
	f.Add("wma_\n")
	f.Fuzz(func(t *testing.T, text string) {
		found := ""
		for _, k := range credential.Kinds() {
			kept, err := k.Parse(text)
			if err != nil {
				if kept != "" || len(text) > 12 && k.Prefix != "" && strings.Contains(err.Error(), text[4:]) {
					t.Errorf("%s: %q, %v", k.Name, kept, err)
				}
				continue
			}
			if found != "" {
				t.Errorf("%q is %s and %s", text, found, k.Name)
			}
			found = k.Name
			if again, err := k.Parse(kept); err != nil || again != kept || len(kept) > 256 {
				t.Errorf("%s: %q becomes %q, %q, %v", k.Name, text, kept, again, err)
			}
		}
	})
}
