package edit_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"waymark/agentapi"
	"waymark/workspace/files/edit"
)

var update = flag.Bool("update", false, "rewrite what the corpus expects")

// minCases is how many the corpus has at least.
const minCases = 150

// editCase is a case of testdata/*.txtar: sections "case NAME", "file", "search"
// or "search all" and "replace" for each edit, then what is expected, "result" and
// "rules" with a line for each edit, or "error".
//
// In their texts → stands for a tab, ␍ for a carriage return, ␌ for a form feed, ⍽ for
// a no-break space, · for a space at the end of a line, and ⊣ for the end of a text
// that has no final newline.
type editCase struct {
	name, about string
	content     string
	edits       []agentapi.Edit
	want        map[string]string
}

var (
	marks    = strings.NewReplacer("→", "\t", "␍", "\r", "␌", "\f", "⍽", "\u00a0", "·", " ", "⊣\n", "")
	unmarks  = strings.NewReplacer("\t", "→", "\r", "␍", "\f", "␌", "\u00a0", "⍽")
	trailing = regexp.MustCompile(` +[\r\n⊣]`)
)

// TestCorpus runs all cases.
func TestCorpus(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	count := 0
	for _, path := range paths {
		cases := readCases(t, path)
		count += len(cases)
		for i := range cases {
			c := &cases[i]
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+c.name, func(t *testing.T) {
				got := run(c)
				if *update {
					c.want = got
				}
				for section, text := range got {
					if text != c.want[section] {
						t.Errorf("%s is\n%swant\n%s", section, text, c.want[section])
					}
				}
				if len(got) != len(c.want) {
					t.Errorf("it has %v, want %v", got, c.want)
				}
				check(t, c.content, c.edits)
			})
		}
		if *update {
			writeCases(t, path, cases)
		}
	}
	if count < minCases {
		t.Errorf("%d cases", count)
	}
}

// run returns the sections that are expected of a case.
func run(c *editCase) map[string]string {
	result, applied, err := edit.Apply(c.content, c.edits)
	if err != nil {
		return map[string]string{"error": err.Error() + "\n"}
	}
	var rules strings.Builder
	for _, a := range applied {
		var places []string
		for _, p := range a.Places {
			places = append(places, fmt.Sprint(p.Line))
		}
		fmt.Fprintf(&rules, "%s at %s\n", a.Rule, strings.Join(places, ", "))
	}
	return map[string]string{"result": shown(result), "rules": rules.String()}
}

// shown is a text as it stands in a section.
func shown(text string) string {
	if text == "" {
		return ""
	}
	if !strings.HasSuffix(text, "\n") {
		text += "⊣\n"
	}
	text = trailing.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, " ", "·") })
	return unmarks.Replace(text)
}

func readCases(t *testing.T, path string) []editCase {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var cases []editCase
	for _, f := range archive.Files {
		text := string(f.Data)
		if name, ok := strings.CutPrefix(f.Name, "case "); ok {
			cases = append(cases, editCase{name: name, about: text, want: map[string]string{}})
			continue
		}
		c := &cases[len(cases)-1]
		switch f.Name {
		case "file":
			c.content = marks.Replace(text)
		case "search", "search all":
			c.edits = append(c.edits, agentapi.Edit{Search: marks.Replace(text), ReplaceAll: f.Name != "search"})
		case "replace":
			c.edits[len(c.edits)-1].Replace = marks.Replace(text)
		case "result", "rules", "error":
			c.want[f.Name] = text
		default:
			t.Fatalf("%s: section %q", path, f.Name)
		}
	}
	return cases
}

func writeCases(t *testing.T, path string, cases []editCase) {
	t.Helper()
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var files []txtar.File
	add := func(name, text string) { files = append(files, txtar.File{Name: name, Data: []byte(text)}) }
	for _, c := range cases {
		add("case "+c.name, c.about)
		add("file", shown(c.content))
		for _, e := range c.edits {
			search := "search"
			if e.ReplaceAll {
				search = "search all"
			}
			add(search, shown(e.Search))
			add("replace", shown(e.Replace))
		}
		for _, section := range []string{"result", "rules", "error"} {
			if text, ok := c.want[section]; ok {
				add(section, text)
			}
		}
	}
	if err := os.WriteFile(path, txtar.Format(&txtar.Archive{Comment: archive.Comment, Files: files}), 0o644); err != nil {
		t.Fatal(err)
	}
}
