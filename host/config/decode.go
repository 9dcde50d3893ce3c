package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"waymark/internal/errtext"
	"waymark/internal/text"
)

// Parse lays the text of one file over c, as LoadFile does. The name is for errors,
// which are *Error: the first problem of the file, which unwraps to the others. When
// there is one, c is not to be used any more. What has the name MachineFile is the
// machine's, by which the files after it are narrowed.
func (c *Config) Parse(name, content string) error {
	return c.parse(document{file: name, text: content, named: true})
}

// parse is Parse, of a document that knows whose it is.
func (c *Config) parse(d document) error {
	d.config, d.own = c, d.file != MachineFile
	if _, err := toml.Decode(d.text, &d.raw); err != nil {
		return d.syntaxError(err)
	}
	known := c.schema()
	d.apply(known, d.raw, nil, 0)
	d.check(c, known)
	return d.found()
}

// document is one file that is being read.
type document struct {
	file, text string
	config     *Config // over which it is laid
	own        bool    // a user's, and not the machine's
	named      bool    // and somebody has named it
	raw        map[string]any
	entry      string // the name of the entry that is read, if one is
	below      any    // the machine's value of the key that is read
	problems   []problem
}

// problem is something wrong with the value at a path. The entry is the
// number of the [[plugin]] or [[convention]] entry that the path goes through, if it does.
type problem struct {
	path    []string
	entry   int
	unknown bool // the key itself is wrong
	message string
	hint    string
}

// problemsMax bounds the problems that are told: to find the place of each, the
// file is read once more.
const problemsMax = 64

func (d *document) add(p problem) {
	if len(d.problems) < problemsMax {
		d.problems = append(d.problems, p)
	}
}

// apply stores every value of the table at path and collects what is wrong.
func (d *document) apply(known table, have map[string]any, path []string, entry int) {
	for _, name := range slices.Sorted(maps.Keys(have)) {
		here := append(slices.Clip(path), name)
		p := problem{path: here, entry: entry}
		switch want := known.of(name).(type) {
		case key:
			if err := d.set(want, have[name], here); err != nil {
				p.message = keyName(here) + ": " + errtext.Of(err)
				d.add(p)
			}
		case table:
			deeper, ok := have[name].(map[string]any)
			if !ok {
				p.message = fmt.Sprintf("%s: %v", keyName(here), wrongType("a table", have[name]))
				d.add(p)
				continue
			}
			d.apply(want, deeper, here, entry)
		case entries:
			if want.named {
				d.applyNamed(want, have[name], here)
			} else {
				d.applyList(want, have[name], name)
			}
		default:
			p.unknown = true
			p.message = "unknown key " + keyName(here)
			p.hint = suggest(name, known)
			d.add(p)
		}
	}
}

// set stores the value of a key, or what the machine's leaves of it.
func (d *document) set(k key, value any, path []string) error {
	full := path
	if len(path) > 1 && (path[0] == entriesKey || path[0] == conventionsKey) {
		full = slices.Insert(slices.Clone(path), 1, d.entry)
	}
	name := keyName(full)
	d.below = nil
	if d.own {
		d.below = d.config.narrowedBy(name, path)
	}
	whole, err := k.set(value, d.below)
	if err == nil {
		d.config.note(name, k, d, value, whole)
	}
	return err
}

// applyNamed is apply for tables under names of the operator's own.
func (d *document) applyNamed(known entries, value any, path []string) {
	tables, ok := value.(map[string]any)
	if !ok {
		d.add(problem{path: path, message: fmt.Sprintf("%s: %v", keyName(path), wrongType("a table of tables", value))})
		return
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		here := append(slices.Clip(path), name)
		deeper, ok := tables[name].(map[string]any)
		if !ok {
			d.add(problem{path: here, message: fmt.Sprintf("%s: %v", keyName(here), wrongType("a table", tables[name]))})
			continue
		}
		want, err := known.open(name)
		if err != nil {
			d.add(problem{path: here, message: keyName(here) + ": " + errtext.Of(err)})
			continue
		}
		d.apply(want, deeper, here, 0)
	}
}

// check holds values against each other, over all files so far, where this one
// has set them right.
func (d *document) check(c *Config, known table) {
	if path := d.present([]string{"mcp", "keys"}); d.own && !d.named && path != nil {
		d.add(problem{
			path: path, message: "mcp.keys: a user's own file can't say whose signatures count",
			hint: "write it into " + MachineFile + ", or name a file with --config",
		})
	}
	if len(c.Own) > maxOwn {
		d.add(problem{path: []string{conventionsKey}, message: fmt.Sprintf("convention: there are %d entries, at most %d are taken", len(c.Own), maxOwn)})
	}
	for _, r := range known {
		if t, ok := r.is.(table); ok && !d.wrongBelow(r.name) {
			d.checkTable(t, r.name)
		}
	}
	d.checkAgents(c)
}

// checkTable is about keys that may not be less than another one of their table.
func (d *document) checkTable(t table, name string) {
	for _, r := range t {
		part, ok := t.of(r.tag.Get("holds")).(key)
		if !ok || r.is.(key).compare(part) >= 0 {
			continue
		}
		less := "less"
		if _, ok := part.get().(time.Duration); ok {
			less = "shorter"
		}
		whole, below := []string{name, r.name}, []string{name, r.tag.Get("holds")}
		d.add(problem{
			path:    d.present(whole, below),
			message: fmt.Sprintf("%s (%v) is %s than %s (%v)", keyName(whole), shown(r.is.(key).get()), less, keyName(below), shown(part.get())),
			hint:    r.tag.Get("why"),
		})
	}
}

// wrongBelow reports whether something is wrong in a table at the top.
func (d *document) wrongBelow(table string) bool {
	return slices.ContainsFunc(d.problems, func(p problem) bool { return len(p.path) > 0 && p.path[0] == table })
}

// present returns the first of the paths that this file has.
func (d *document) present(paths ...[]string) []string {
	for _, path := range paths {
		if t, ok := d.raw[path[0]].(map[string]any); ok && t[path[1]] != nil {
			return path
		}
	}
	return nil
}

func keyName(path []string) string { return toml.Key(path).String() }

// found returns the problem that comes first in the file, with the others; nil
// when there is none.
func (d *document) found() error {
	if len(d.problems) == 0 {
		return nil
	}
	list := make([]*Error, len(d.problems))
	for i := range d.problems {
		list[i] = d.locate(&d.problems[i])
	}
	slices.SortStableFunc(list, func(a, b *Error) int { // whose place is unknown comes last
		return cmp.Or(cmp.Compare(uint(a.Line-1), uint(b.Line-1)), cmp.Compare(a.Col, b.Col))
	})
	list[0].more = list[1:]
	return list[0]
}

// syntaxError takes position and message from the library's error.
func (d *document) syntaxError(err error) error {
	e := &Error{File: d.file, Message: "not TOML: " + err.Error()}
	var parse toml.ParseError
	if errors.As(err, &parse) {
		e.Message = "not TOML: " + strings.TrimPrefix(parse.Message, "toml: ")
		d.mark(e, parse.Position.Start, parse.Position.Len)
	}
	return e
}

// The names of the lists of entries.
const (
	entriesKey     = "plugin"
	conventionsKey = "convention"
)

// applyList merges the [[entries]] of a list by their names.
func (d *document) applyList(known entries, value any, key string) {
	list, ok := asTables(value)
	if !ok {
		d.add(problem{
			path: []string{key}, message: fmt.Sprintf("%s: %v", key, wrongType("a list of tables", value)),
			hint: "write [[" + key + "]] above each entry",
		})
		return
	}
	first, seen := known.of("")[0].name, make(map[string]bool)
	for i, have := range list {
		name, _ := have[first].(string)
		wrong := known.wrong(name)
		if wrong == "" && seen[name] {
			wrong = fmt.Sprintf("there is an entry for %.80q already: put its keys into one entry", name)
		}
		if wrong != "" {
			path := []string{key}
			if _, ok := have[first]; ok {
				path = append(path, first)
			}
			d.add(problem{path: path, entry: i, message: key + "." + first + ": " + wrong})
			name = ""
		}
		seen[name] = true
		before := len(d.problems)
		want, _ := known.open(name) // any name that isn't wrong can be opened
		d.entry = name
		d.apply(want, have, []string{key}, i)
		if name != "" && len(d.problems) == before && known.complete != nil {
			known.complete(d, name, i)
		}
	}
}

func nameProblem(name string) string {
	if name == "" {
		return `every [[plugin]] entry needs the plugin's name, as "agent status" shows it`
	}
	return ""
}

// asTables takes both forms in which TOML writes a list of tables.
func asTables(value any) ([]map[string]any, bool) {
	switch v := value.(type) {
	case []map[string]any:
		return v, true
	case []any:
		tables := make([]map[string]any, len(v))
		for i := range v {
			var ok bool
			if tables[i], ok = v[i].(map[string]any); !ok {
				return nil, false
			}
		}
		return tables, true
	}
	return nil, false
}

// suggest returns a hint for an unknown key: the known key that looks most
// like it, or all that there are.
func suggest(key string, known table) string {
	names := slices.Sorted(slices.Values(known.names()))
	if best := text.Nearest(key, names); best != "" {
		return "did you mean " + best + "?"
	}
	return "known here: " + strings.Join(names, ", ")
}
