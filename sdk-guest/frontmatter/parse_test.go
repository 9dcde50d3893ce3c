package frontmatter_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"waymark/sdk-guest/frontmatter"
	"waymark/sdk-guest/frontmatter/frontmattertest"
)

var update = flag.Bool("update", false, "write what Parse returns into the vectors")

func vectors(t testing.TB) []frontmattertest.Vector {
	t.Helper()
	all, err := frontmattertest.All()
	if err != nil || len(all) < 100 {
		t.Fatalf("there are %d vectors, %v", len(all), err)
	}
	return all
}

func show(block string, lenient bool) string {
	return frontmattertest.Show(frontmatter.Parse([]byte(block), frontmatter.Options{Lenient: lenient}))
}

// TestVectors: what all kits must make of some blocks, and that a YAML library
// makes the same of those that are YAML.
func TestVectors(t *testing.T) {
	all := vectors(t)
	for i, v := range all {
		got, lenient := show(v.Block(), false), show(v.Block(), true)
		if *update {
			all[i].Want, all[i].Lenient = got, lenient
			continue
		}
		if got != v.Want {
			t.Errorf("%s: %q\ngot  %s\nwant %s", v.Name, v.Block(), got, v.Want)
		}
		if lenient != v.Lenient {
			t.Errorf("%s: %q, lenient\ngot  %s\nwant %s", v.Name, v.Block(), lenient, v.Lenient)
		}
		agree(t, []byte(v.Block()))
	}
	if *update {
		text, err := json.MarshalIndent(all, "", " ")
		if err == nil {
			err = os.WriteFile("frontmattertest/vectors.json", append(text, '\n'), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestBombs: what a block costs is a small multiple of its size.
func TestBombs(t *testing.T) {
	for name, block := range frontmattertest.Bombs() {
		for _, lenient := range []bool{false, true} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			v, err := frontmatter.Parse([]byte(block), frontmatter.Options{Lenient: lenient})
			globs := v.Get("globs").Globs()
			runtime.ReadMemStats(&after)
			if used := after.TotalAlloc - before.TotalAlloc; used > 400*frontmatter.MaxSize {
				t.Errorf("%s: it took %d bytes (%v, %d globs)", name, used, err, len(globs))
			}
		}
		agree(t, []byte(block))
	}
}

func TestGlobs(t *testing.T) {
	for block, want := range map[string]string{
		"globs: a, {b,c}/*.ts,, d": "a|{b,c}/*.ts|d", "globs: [a, 'b,c', 3]": "a|b|c|3", "globs: {a: b}": "", "globs:": "", "x: y": "",
		"globs: **/*.go": "**/*.go", "globs: a}, {b, c": "a}|{b, c", "globs:\n- a\n- [b]\n- true": "a|true", "globs: true": "",
		"globs: " + strings.Repeat("ab,", 2000): strings.TrimSuffix(strings.Repeat("ab|", 1638), "|"),
	} {
		v, err := frontmatter.Parse([]byte(block+"\n"), frontmatter.Options{Lenient: true})
		if got := strings.Join(v.Get("globs").Globs(), "|"); err != nil || got != want {
			t.Errorf("%.80q: got %.80q (%d), %v, want %.80q", block, got, len(got), err, want)
		}
	}
}

func TestGet(t *testing.T) {
	v, err := frontmatter.Parse([]byte("a:\n  b: {c: d}\nt: true\nq: 'true'\nl: [x]\n"), frontmatter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := v.Get("a", "b", "c"); got.Text != "d" || got.Line != 3 {
		t.Errorf("got %+v", got)
	}
	for _, keys := range [][]string{{"x"}, {"a", "x", "c"}, {"t", "b"}, {"l", "0"}} {
		if got := v.Get(keys...); got.Kind != frontmatter.Null || got.Line != 0 {
			t.Errorf("%q: got %+v", keys, got)
		}
	}
	if !v.Get("t").True() || v.Get("q").True() || v.Get("x").True() {
		t.Error("only true is true")
	}
}

// agree checks that Parse reads a block as a YAML library does, if it reads it,
// and that a lenient Parse then reads the same.
func agree(t *testing.T, block []byte) {
	t.Helper()
	v, err := frontmatter.Parse(block, frontmatter.Options{})
	lenient, lenientErr := frontmatter.Parse(block, frontmatter.Options{Lenient: true})
	if err != nil {
		return
	}
	strict, other := frontmattertest.Show(v, nil), frontmattertest.Show(lenient, lenientErr)
	if strict != other {
		t.Errorf("%q: it is %s, lenient %s", block, strict, other)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(block, &doc); err != nil {
		t.Errorf("%q: it is %s, but to a YAML library %v", block, strict, err)
		return
	}
	if len(doc.Content) == 0 {
		if len(v.Map) != 0 {
			t.Errorf("%q: it is %s, and to a YAML library nothing", block, strict)
		}
		return
	}
	if len(v.Map) > 0 || doc.Content[0].ShortTag() != "!!null" {
		compare(t, block, v, doc.Content[0])
	}
}

func compare(t *testing.T, block []byte, v frontmatter.Value, n *yaml.Node) {
	t.Helper()
	bad := func() {
		t.Errorf("%q: %+v is %s %q of kind %d to a YAML library", block, v, n.ShortTag(), n.Value, n.Kind)
	}
	tags := map[frontmatter.Kind]string{frontmatter.Null: "!!null", frontmatter.Bool: "!!bool", frontmatter.String: "!!str"}
	switch v.Kind {
	case frontmatter.List:
		if n.Kind != yaml.SequenceNode || len(n.Content) != len(v.List) {
			bad()
			return
		}
		for i := range v.List {
			compare(t, block, v.List[i], n.Content[i])
		}
	case frontmatter.Map:
		if n.Kind != yaml.MappingNode || len(n.Content) != 2*len(v.Map) {
			bad()
			return
		}
		for i, m := range v.Map {
			compare(t, block, frontmatter.Value{Kind: frontmatter.String, Text: m.Key}, n.Content[2*i])
			compare(t, block, m.Value, n.Content[2*i+1])
		}
	default:
		tag := n.ShortTag()
		if n.Kind != yaml.ScalarNode || tags[v.Kind] != "" && tag != tags[v.Kind] {
			bad()
		}
		if same := v.Text == n.Value || v.Kind == frontmatter.Null || v.Kind == frontmatter.Bool && strings.EqualFold(v.Text, n.Value); !same {
			bad()
		}
	}
}

// FuzzParse holds the guarantees: nothing panics, what is read is what a YAML
// library reads, and an error has a line of the block.
func FuzzParse(f *testing.F) {
	for _, v := range vectors(f) {
		f.Add([]byte(v.Block()))
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		if _, _, err := frontmatter.Find(append([]byte("---\n"), block...), true); err == nil {
			return // the block holds a delimiter, so it can't be one
		}
		if len(block) > 0 && block[len(block)-1] != '\n' {
			block = append(block, '\n') // as all blocks end
		}
		agree(t, block)
		for _, lenient := range []bool{false, true} {
			var wrong *frontmatter.SyntaxError
			_, err := frontmatter.Parse(block, frontmatter.Options{Lenient: lenient})
			if errors.As(err, &wrong) && (wrong.Line < 2 || wrong.Line > 2+strings.Count(string(block), "\n")) {
				t.Errorf("%q: %v", block, err)
			}
		}
	})
}
