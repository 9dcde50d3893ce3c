package conform

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"text/template"
	"unicode/utf16"

	"waymark/cmd/harness/internal/fixture"
)

// shapes are things that stand where they shouldn't, in the notation of fixtures.
// The name of an entry is that of the workspace; its body and target are
// templates, in which .Path is the path that it is put at.
//
//go:embed hostile/*.txtar
var shapes embed.FS

// shapesOf reads a file of shapes. Those that root has a power over are left out
// when root is who runs this.
func shapesOf(name string) ([]fixture.Entry, error) {
	file := "hostile/" + name + ".txtar"
	data, err := shapes.ReadFile(file)
	if err != nil {
		return nil, err
	}
	f, err := fixture.Parse(file, data)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(f.Entries, func(e fixture.Entry) bool { return e.HasMode && os.Geteuid() == 0 }), nil
}

// shapeAt is a shape at a path.
func shapeAt(shape fixture.Entry, at string) (fixture.Entry, error) {
	ext := path.Ext(at)
	values := map[string]any{"Path": at, "Name": nameOf(at), "Sample": sampleText(at, "Sample"), "JSON": ext == ".json" || ext == ".jsonc"}
	expand := func(text string) (string, error) {
		t, err := template.New(shape.Path).Delims("<<", ">>").Funcs(directives).Parse(text)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		err = t.Execute(&b, values)
		return b.String(), err
	}
	body, err := expand(string(shape.Body))
	if err != nil {
		return shape, err
	}
	shape.Path, shape.Body, shape.Optional = at, []byte(body), shape.Kind == fixture.Socket
	shape.Target, err = expand(shape.Target)
	return shape, err
}

// directives make what no file could show.
var directives = template.FuncMap{
	"repeat": func(n int, text string) string { return strings.Repeat(text, n) },
	"crlf":   func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") },
	"nul":    func(text string) string { return strings.Replace(text, "Sample", "Sam\x00ple", 2) },
	// utf16 is a text in UTF-16, with its byte order mark.
	"utf16": func(text string) string {
		b := []byte{0xff, 0xfe}
		for _, u := range utf16.Encode([]rune(text)) {
			b = append(b, byte(u&0xff), byte(u>>8))
		}
		return string(b)
	},
	// binary holds every byte, in no order of a text's.
	"binary": func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(i * 167 >> 3)
		}
		return string(b)
	},
}

// hostile looks at workspaces as they shouldn't be.
func (c *checker) hostile(ctx context.Context) error {
	for _, list := range []func() ([]*workspace, error){c.contents, c.specials, c.links, c.parents, c.oddNames, c.crowds} {
		workspaces, err := list()
		if err != nil {
			return err
		}
		for some := range slices.Chunk(workspaces, atOnce) {
			if len(c.alive()) == 0 {
				return nil
			}
			if err := c.run(ctx, some...); err != nil {
				return err
			}
			for _, w := range some {
				c.judge(w)
				w.forget()
			}
		}
	}
	return nil
}

// atOnce is how many hostile workspaces are looked at together: all that is found in
// them is in memory.
const atOnce = 12

const oneFile = "report what is wrong with one file as its resource's status invalid and error, or emit it without a status: the host classifies what it can't read"

// replaced are workspaces that are the sample with a shape in the place of each
// victim, one for each shape of a file.
func (c *checker) replaced(rule, name string) ([]*workspace, error) {
	list, err := shapesOf(name)
	if err != nil {
		return nil, err
	}
	var workspaces []*workspace
	for _, shape := range list {
		workspaces = append(workspaces, &workspace{
			name: shape.Path, rule: rule, tree: c.sample.tree, shape: shape, places: c.sample.victims, victims: c.sample.victims, hint: oneFile,
		})
	}
	return workspaces, nil
}

// contents are files that hold something else than they should.
func (c *checker) contents() ([]*workspace, error) {
	list, err := c.replaced(ruleContents, "contents")
	for _, w := range list {
		w.plain = true
	}
	return list, err
}

// specials are things that aren't the file that they should be.
func (c *checker) specials() ([]*workspace, error) { return c.replaced(ruleFiles, "files") }

// links are links in the place of files.
func (c *checker) links() ([]*workspace, error) {
	list, err := c.replaced(ruleLinks, "links")
	for _, w := range list {
		if w.name == "link-root" { // it leads to all that is there, by other names
			w.victims = nil
		}
	}
	return list, err
}

// parents are things in the place of directories.
func (c *checker) parents() ([]*workspace, error) {
	var dirs []string
	for _, v := range c.sample.victims {
		if dir, _, ok := strings.Cut(v, "/"); ok && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		if at := strings.LastIndex(v, "/"); at > 0 && !slices.Contains(dirs, v[:at]) {
			dirs = append(dirs, v[:at])
		}
	}
	if len(dirs) == 0 {
		return nil, nil
	}
	list, err := shapesOf("parents")
	if err != nil {
		return nil, err
	}
	var workspaces []*workspace
	for _, level := range []string{"top", "nested"} {
		for _, shape := range list {
			w := &workspace{
				name: shape.Path + "-" + level, rule: ruleParents, tree: c.sample.tree, shape: shape, lenient: true,
				hint: "a directory that can't be listed holds nothing for you: go on, with a warning at most",
			}
			for _, dir := range dirs {
				if strings.Contains(dir, "/") != (level == "nested") || slices.ContainsFunc(dirs, func(o string) bool { return strings.Contains(o, "/") && below(dir, o) }) {
					continue // of directories in each other the outermost is replaced: nothing can be below that
				}
				w.places = append(w.places, dir)
			}
			workspaces = append(workspaces, w)
		}
	}
	return workspaces, nil
}

// oddNames are names that people don't expect.
func (c *checker) oddNames() ([]*workspace, error) {
	list, err := shapesOf("names")
	var odd []string
	for _, e := range list {
		odd = append(odd, e.Path)
	}
	hint := "take names as they come, and cut what you show of them"
	return []*workspace{
		{name: "names", rule: ruleNames, tree: c.sample.named(c.sample.stars, odd...), plain: true, victims: []string{}, hint: hint},
	}, err
}

const (
	// crowd is how many files a crowded workspace has at most: thousands, but
	// fewer than a run may open.
	crowd = 2000
	// deepest is how many directories lie in each other, of which none is
	// longer than a letter.
	deepest = 120
)

// crowds are workspaces with very much in them.
func (c *checker) crowds() ([]*workspace, error) {
	var workspaces []*workspace
	if n := len(c.sample.stars); n > 0 {
		var names []string
		for i := range max(crowd/n, 1) {
			names = append(names, fmt.Sprintf("crowd-%04d", i))
		}
		workspaces = append(workspaces, &workspace{name: "crowd", rule: ruleCrowd, tree: c.sample.named(c.sample.stars, names...), plain: true})
	}
	if len(c.sample.deep) > 0 {
		var names []string
		for _, depth := range []int{20, 60, deepest} {
			names = append(names, strings.Repeat("d/", depth-1)+"d")
		}
		workspaces = append(workspaces, &workspace{name: "deep", rule: ruleCrowd, tree: c.sample.named(c.sample.deep, names...), plain: true})
	}
	return workspaces, nil
}
