package hostile

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"text/template"
	"time"

	"golang.org/x/tools/txtar"

	"waymark/test/wasmtest"
)

// The cases that can be read as text: one file each, called as the case. The
// package comment says what is in a file.
//
//go:embed corpus
var corpus embed.FS

// textCases returns the cases of the corpus. A file that is wrong is a mistake
// of this package, and a panic.
func textCases() []Case {
	var list []Case
	err := fs.WalkDir(corpus, "corpus", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := corpus.ReadFile(name)
		if err != nil {
			return err
		}
		name = strings.TrimSuffix(strings.TrimPrefix(name, "corpus/"), ".txtar")
		cases, err := parseCases(name, data)
		if err != nil {
			return fmt.Errorf("corpus/%s.txtar: %w", name, err)
		}
		list = append(list, cases...)
		return nil
	})
	if err != nil {
		panic(err)
	}
	return list
}

// parseCases reads the cases of one file: one, or one for each moment of its
// body.
func parseCases(name string, data []byte) ([]Case, error) {
	class, _, _ := strings.Cut(name, "/")
	p := &caseFile{c: Case{Name: name, Class: class}, parts: map[string]string{}}
	for _, f := range txtar.Parse(data).Files {
		if err := p.section(f.Name, strings.TrimSuffix(string(f.Data), "\n")); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	switch {
	case p.parts["body.wat"] != "":
		m, err := p.module()
		if err != nil {
			return nil, err
		}
		body, err := expanded(p.parts["body.wat"])
		s := shape{module: m, body: body, ends: p.c.Want.Outcomes, text: p.c.Want.Text}
		return s.cases(&p.c, p.at), err
	case p.sound || len(p.parts) > 0:
		p.c.Module = p.build
	}
	return []Case{p.c}, nil
}

// caseFile is what has been read of a file.
type caseFile struct {
	c     Case
	sound bool              // there is a module, though no part says so
	parts map[string]string // sections that make a module, as they are written
	pages int               // further ones
	at    []string          // the moments of the body
}

func (p *caseFile) section(name, text string) error {
	switch name {
	case "case":
		return eachLine(text, p.property)
	case "want":
		return eachLine(text, p.want)
	case "workspace":
		var lines []string
		err := eachLine(text, func(line string) error { lines = append(lines, line); return nil })
		p.c.Workspace = tree(lines...)
		return err
	case "imports.wat", "fields.wat", "describe.wat", "resolve.wat", "initialize.wat", "start.wat", "description", "response",
		"module.wat", "module", "body.wat":
		p.parts[name] = text
		return nil
	}
	return errors.New("unknown section")
}

// build builds the module, lazily: some are large, and a child runs one case.
func (p *caseFile) build() []byte {
	whole, err := expanded(p.parts["module.wat"] + p.parts["module"])
	m, err2 := p.module()
	switch {
	case err != nil || err2 != nil:
		panic(fmt.Errorf("corpus/%s.txtar: %w", p.c.Name, errors.Join(err, err2)))
	case p.parts["module.wat"] != "":
		return wasmtest.MustWAT(whole)
	case p.parts["module"] != "":
		return []byte(whole)
	}
	return m.build()
}

// module is what the parts make.
func (p *caseFile) module() (module, error) {
	m := module{Pages: p.pages}
	imports := p.parts["imports.wat"]
	for _, named := range []struct{ name, text string }{{"kernel", kernel}, {"files", files}, {"units", units}} {
		if rest, ok := strings.CutPrefix(imports, named.name); ok {
			m.Imports += named.text
			imports = strings.TrimPrefix(rest, "\n")
		}
	}
	m.Imports += imports
	for name, into := range map[string]*string{
		"fields.wat": &m.Fields, "describe.wat": &m.Describe, "resolve.wat": &m.Resolve, "initialize.wat": &m.Initialize,
		"start.wat": &m.Start, "description": &m.Description, "response": &m.Response,
	} {
		var err error
		if *into, err = expanded(p.parts[name]); err != nil {
			return m, err
		}
	}
	return m, nil
}

// property reads a line of the section case.
func (p *caseFile) property(line string) (err error) {
	key, value, _ := strings.Cut(line, " ")
	c := &p.c
	switch key {
	case "class":
		c.Class = value
	case "at":
		p.at = strings.Fields(value)
	case "module":
		p.sound = true
	case "builtin":
		c.Builtin = true
	case "nobody":
		c.Nobody = true
	case "within":
		c.Within, err = time.ParseDuration(value)
	case "time":
		c.Limits.Time, err = time.ParseDuration(value)
	case "memory":
		c.Limits.Memory, err = strconv.ParseInt(value, 10, 64)
	case "response":
		c.Limits.Response, err = strconv.Atoi(value)
	case "grows":
		c.Memory, err = strconv.Atoi(value)
	case "pages":
		p.sound = true
		p.pages, err = strconv.Atoi(value)
	case "rounds":
		c.Rounds, err = strconv.Atoi(value)
	case "roots":
		c.Roots, err = strconv.Atoi(value)
	default:
		return fmt.Errorf("unknown property %q", key)
	}
	return err
}

// want reads a line of the section want.
func (p *caseFile) want(line string) error {
	key, value, _ := strings.Cut(line, " ")
	w := &p.c.Want
	switch key {
	case "outcome":
		w.Outcomes = strings.Fields(value)
	case "error":
		w.Text = value
	case "warning":
		w.Warning = value
	case "rows": // these and no others; without a row, none
		w.Rows = []string{}
	case "row":
		w.Rows = append(w.Rows, value)
	default:
		return fmt.Errorf("unknown expectation %q", key)
	}
	return nil
}

// eachLine calls f with every line that isn't blank, expanded.
func eachLine(text string, f func(string) error) error {
	for line := range strings.Lines(text) {
		line, err := expanded(strings.TrimSuffix(line, "\n"))
		if err == nil && line != "" {
			err = f(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// expanded fills in what stands between << and >>.
func expanded(text string) (string, error) {
	if !strings.Contains(text, "<<") {
		return text, nil
	}
	t, err := template.New("").Delims("<<", ">>").Funcs(template.FuncMap{
		"repeat": func(n int, unit string) string { return strings.Repeat(unit, n) },
		"each": func(n int, unit string) string {
			var b strings.Builder
			for i := range n {
				b.WriteString(strings.ReplaceAll(unit, "#", strconv.Itoa(i)))
			}
			return b.String()
		},
	}).Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = t.Execute(&b, nil)
	return b.String(), err
}

// shape is an attack that may be made in any moment of a run: instructions, and
// the module whose fields and imports they need.
type shape struct {
	module module
	body   string
	// ends lists other ends than the deadline.
	ends []string
	text string
}

// moments are the four in which a guest has control.
var moments = []string{"resolve", "describe", "initialize", "start"}

// at puts a shape into one of the moments.
func (s shape) at(moment string) module {
	m := s.module
	switch moment {
	case "resolve":
		m.Resolve = s.body
	case "describe":
		m.Describe = s.body
	case "initialize":
		m.Initialize = s.body
	case "start":
		m.Start = s.body
	}
	return m
}

// within is more than the default where a large body is compiled first.
func (s shape) within(moment string) time.Duration {
	if moment == "resolve" || len(s.module.Fields) < 100_000 {
		return 0
	}
	return deadline + 4*grace
}

func (s shape) want(moment string) Want {
	kinds, text := s.ends, s.text
	if kinds == nil {
		kinds = []string{Deadline}
	}
	if text == "" {
		text = "deadline|limit|out of memory|stack|unreachable|kernel"
	}
	switch moment {
	case "resolve":
		return ends(kinds...).saying(text)
	case "start": // a host may refuse those altogether
		return rejected("start function|" + text)
	}
	return rejected(text)
}

// cases are the shape at moments of a run, as c but for the module. "procs=1"
// is resolve where there is but one processor.
func (s shape) cases(c *Case, at []string) []Case {
	var list []Case
	for _, moment := range at {
		one := *c
		one.Name = c.Name + "/" + moment
		if moment == "procs=1" {
			// Long enough to see whether a collection has to wait for the end.
			one.Procs, one.Limits.Time, moment = 1, 3*c.Limits.Time, "resolve"
		}
		one.Module, one.Want, one.Within = s.at(moment).build, s.want(moment), max(c.Within, s.within(moment))
		list = append(list, one)
	}
	return list
}
