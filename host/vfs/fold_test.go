package vfs_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/testenv"
)

// listed are samples of all that the two lists protect.
func listed() []string {
	var places []string
	for _, s := range vfs.SecretPatterns() {
		places = append(places, s.Pattern)
	}
	for _, m := range vfs.MCPFiles() {
		places = append(places, m.Pattern)
	}
	for i, p := range places {
		places[i] = strings.ReplaceAll(strings.TrimSuffix(p, "/**"), "*", "some")
	}
	return places
}

// respell spells a name as some file system finds it all the same.
func respell(r *rand.Rand, name string) string {
	ignored := []rune{0xAD, 0x34F, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x202A, 0x202E, 0x2060, 0x206A, 0x206F, 0xFEFF, 0xFE0F, 0x180E, 0xE0020}
	var b strings.Builder
	for _, c := range name {
		switch r.IntN(5) {
		case 0:
			c = unicode.ToUpper(c)
		case 1: // full width
			if c > ' ' && c < 0x7f {
				c += 0xFEE0
			}
		case 2:
			b.WriteRune(ignored[r.IntN(len(ignored))])
		case 3:
			switch c {
			case 's':
				c = 'ſ'
			case 'k':
				c = 'K'
			}
		}
		b.WriteRune(c)
	}
	spelled := strings.Replace(b.String(), "ss", "ß", r.IntN(2))
	switch r.IntN(6) {
	case 0:
		spelled += strings.Repeat(".", 1+r.IntN(3))
	case 1:
		spelled += " . "
	case 2:
		spelled += "::$INDEX_ALLOCATION"
	case 3:
		spelled += ":x"
	case 4:
		if short := shortName(r, name); short != "" {
			return short
		}
	}
	return spelled
}

// shortName makes the name of eight and three letters, as FAT and NTFS do.
func shortName(r *rand.Rand, name string) string {
	stem, ext := strings.TrimLeft(name, "."), ""
	if i := strings.LastIndexByte(stem, '.'); i >= 0 {
		stem, ext = stem[:i], stem[i+1:]
	}
	if name[0] != '.' && len(stem) <= 8 && len(ext) <= 3 && !strings.Contains(stem, ".") {
		return "" // it is one
	}
	stem = strings.ReplaceAll(stem, ".", "")
	switch r.IntN(3) {
	case 0:
		stem = stem[:min(6, len(stem))] + "~" + string(rune('1'+r.IntN(9)))
	case 1:
		stem = stem[:min(5, len(stem))] + "~1" + string(rune('0'+r.IntN(10)))
	case 2:
		stem = stem[:min(2, len(stem))] + "0A3f~1"
	}
	if ext != "" {
		ext = "." + ext[:min(3, len(ext))]
	}
	return strings.ToUpper(stem + ext)
}

// TestRespelled: what is protected is protected in every spelling under which
// a file system may find it: by the path asked for, in listings, as the target
// of a link, and as another name of a file.
func TestRespelled(t *testing.T) {
	seed, rounds := testenv.Seed(t), testenv.Rounds(3, 20, 300)
	for round := range rounds {
		r := testenv.RandOf(seed, uint64(round))
		dir := vfstest.Build(t, nil)
		var spelled []string
		for _, place := range listed() {
			names := strings.Split(place, "/")
			for i := range names {
				names[i] = respell(r, names[i])
			}
			spelled = append(spelled, strings.Join(names, "/"))
		}
		root, filter, run := begin(t, everything(dir))
		for i, path := range spelled {
			for _, at := range []string{path, "deep/er/" + path, path + "/below"} {
				if j := root.Judge(filter, at); j.Reason != vfs.ReasonSecret && j.Reason != vfs.ReasonMCP {
					t.Errorf("round %d: %q (%s) is judged %+v", round, at, listed()[i], j)
				}
			}
			if _, err := run.Stat(path); !errors.Is(err, vfs.ErrHidden) {
				t.Errorf("round %d: %q: %v", round, path, err)
			}
		}
		// One of them as a file, with a link of each kind to it.
		path := spelled[r.IntN(len(spelled))]
		full := filepath.Join(dir, "d", path)
		err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte("TOKEN"), 0o600),
			os.Symlink(filepath.Join("d", path), filepath.Join(dir, "soft.md")), os.Link(full, filepath.Join(dir, "hard.md")))
		if err != nil {
			t.Fatal(err)
		}
		_, _, run = begin(t, everything(dir))
		for _, name := range []string{"soft.md", "hard.md", "d/" + path} {
			if c, err := run.Content(name); !errors.Is(err, vfs.ErrHidden) || c.Data != nil {
				t.Errorf("round %d: %q through %s: %q %v", round, path, name, c.Data, err)
			}
		}
		up, name := filepath.Split("d/" + path)
		if list, errno := (direct{run}).List(up); errno == "" && slices.ContainsFunc(list, func(e vfstest.Entry) bool { return e.Name == name }) {
			t.Errorf("round %d: %q is listed", round, path)
		}
	}
}

// TestFoldIsUnicodes: of every letter that Unicode folds to letters of ASCII,
// case and compatibility apart, a protected name stays one with it.
func TestFoldIsUnicodes(t *testing.T) {
	root, filter, _ := begin(t, everything(t.TempDir()))
	caser, tested := cases.Fold(), 0
	letters := ".env.0123456789~_-abcdefghijklmnopqrstuvwxyz" // .env* is a star long
	for c := rune(0x80); c <= unicode.MaxRune; c++ {
		folded := norm.NFKD.String(caser.String(norm.NFKD.String(string(c))))
		if i := strings.Index(letters, folded); i >= 0 && folded != "" {
			tested++
			for _, name := range []string{strings.Replace(".env", folded, string(c), 1), strings.Replace(".ssh", folded, string(c), 1), strings.Replace("id_dsa", folded, string(c), 1)} {
				if j := root.Judge(filter, name); j.Reason != vfs.ReasonSecret {
					t.Errorf("%U in %q: %+v", c, name, j)
				}
			}
		}
	}
	if tested < 1000 {
		t.Errorf("only %d letters", tested)
	}
	for _, c := range "\u00ad\u034f\u061c\u115f\u17b4\u180b\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2065\u206a\u206f\u3164\ufe00\ufeff\uffa0\ufff0\U0001bca0\U0001d173\U000e0000\U000e0fff" {
		if j := root.Judge(filter, ".e"+string(c)+"nv"); j.Reason != vfs.ReasonSecret {
			t.Errorf("%U: %+v", c, j)
		}
	}
}

// TestNotTooMuchIsFolded: names that no file system takes for a protected one
// stay visible.
func TestNotTooMuchIsFolded(t *testing.T) {
	root, filter, _ := begin(t, everything(t.TempDir()))
	for _, name := range []string{
		"AGENTS.md", "env", "git/config", "skills/\u00fcber/SKILL.md", "a.b.c", "keys/README.md", "x~", "notes~1.md", ".github/copilot-instructions.md",
		"...", ":", "a:b", "ssh", "skills/stra\u00dfe.md", "\u65e5\u672c\u8a9e.md", "\U0001f600.md", "#x.md#", ".#x.md", "backup.~1~", "GITHUB~1.md",
		"a/. ", ".gitignore", "id_rsa.pub", "git~x", "~1",
	} {
		if j := root.Judge(filter, name); !j.File {
			t.Errorf("%q: %+v", name, j)
		}
	}
}

// TestGrantedInEverySpelling: a grant is for the entry, however its file is
// spelled.
func TestGrantedInEverySpelling(t *testing.T) {
	config := everything(t.TempDir())
	config.View.GrantSecrets = []string{".env*", ".git/**"}
	root, filter, _ := begin(t, config)
	for name, want := range map[string]bool{".e\u00adnv": true, ".GIT/x": true, "GIT~1/x": true, ".\u017fsh/x": false, "SSH~1/x": false} {
		if j := root.Judge(filter, name); j.File != want {
			t.Errorf("%q: %+v", name, j)
		}
	}
}

// TestRootsOwnMCPFile: what the operator names is found in other spellings,
// too.
func TestRootsOwnMCPFile(t *testing.T) {
	config := everything(t.TempDir())
	config.Options.MCPFiles = []string{"conf/Servers [1].json", "\u00fcber.json", "..."}
	root, filter, _ := begin(t, config)
	for name, want := range map[string]vfs.Reason{
		"conf/Servers [1].json": vfs.ReasonMCP, "CONF/servers [1].JSON.": vfs.ReasonMCP, "u\u0308ber.json": vfs.ReasonMCP, "\u00dcBER.json": vfs.ReasonMCP,
		"conf/servers 1.json": vfs.ReasonNone, "x/\u00fcber.json": vfs.ReasonNone, "conf": vfs.ReasonNone,
	} {
		if j := root.Judge(filter, name); j.Reason != want {
			t.Errorf("%q: %+v, want %q", name, j, want)
		}
	}
}
