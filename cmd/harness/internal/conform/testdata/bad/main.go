// Command bad is a module of resolvers, each with one fault that authors really
// make. Their names say what they do wrong.
package main

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	guest "waymark/sdk-guest"
)

func main() {}

// resolveFunc is what a resolver does.
type resolveFunc = func(*guest.Request, fs.FS) (*guest.Response, error)

func init() {
	rules := []string{"rules/*.md"}
	m := guest.Module{Name: "bad", Version: "1.0.0"}
	add := func(name string, reads []string, resolve resolveFunc) {
		m.Resolvers = append(m.Resolvers, guest.Resolver{
			Name: name, Kinds: []guest.Kind{guest.InstructionFile}, Summary: "a resolver that does one thing wrong", Reads: reads, Resolve: resolve,
		})
	}
	add("undeclared-kind", rules, each(func(r *guest.Resource, _ string) error { r.Kind = guest.Hook; return nil }))
	add("content-outside-reads", rules, each(func(r *guest.Resource, _ string) error { r.Content = guest.File("README.md"); return nil }))
	add("bad-path", rules, each(func(r *guest.Resource, _ string) error { r.Path = "/" + r.Path; return nil }))
	add("unknown-modes", rules, unknownModes)
	add("long-name", rules, each(func(r *guest.Resource, text string) error { r.Name = text[:min(len(text), 300)]; return nil }))
	add("twice", rules, twice)
	add("no-content", rules, each(func(r *guest.Resource, _ string) error { r.Content = nil; return nil }))
	add("asks-for-more", rules, asksForMore)
	add("always-there", []string{"AGENTS.md"}, alwaysThere)
	add("demands-something", rules, demands)
	add("crashes-on-empty", rules, each(func(r *guest.Resource, text string) error { r.Name = text[:1]; return nil }))
	add("gives-up", rules, givesUp)
	add("reads-everything", rules, readsEverything)
	add("shows-links", rules, showsLinks)
	add("explodes-in-depth", []string{"rules/**/RULE.md"}, explodes)
	add("hoards-memory", []string{"rules/**"}, hoards)
	add("floods-answer", rules, each(func(r *guest.Resource, _ string) error {
		r.Description = strings.Repeat("much to say about nothing ", 40)
		return nil
	}))
	add("floods-logs", rules, each(func(*guest.Resource, string) error {
		for range 20 {
			guest.Log(guest.LevelInfo, strings.Repeat("and another thing ", 20))
		}
		return nil
	}))
	add("counts-in-units", rules, counts)
	add("never-ends", rules, each(func(_ *guest.Resource, text string) error {
		for strings.HasPrefix(text, "---") && !strings.Contains(text[3:], "---") { // looks for the end, and doesn't look on
		}
		return nil
	}))
	add("nests-recursively", []string{"rules/*.json"}, nests)
	guest.Serve(m)
}

// unknownModes emits rules that nobody knows when to apply.
func unknownModes(req *guest.Request, root fs.FS) (*guest.Response, error) {
	resp := &guest.Response{}
	for _, path := range names(root, ".md") {
		for i, mode := range []guest.Value{{Text: "alway"}, {List: []string{"always"}}, {Text: "glob"}, {Text: "manual"}} {
			r := rule(path)
			r.Key, r.Attributes = strconv.Itoa(i), map[string]guest.Value{"mode": mode}
			if most := req.Limits.MaxResources; most == 0 || len(resp.Resources) < most {
				resp.Resources = append(resp.Resources, r)
			}
		}
	}
	return resp, nil
}

// names lists rules/*.md. One that isn't there is empty.
func names(root fs.FS, suffix string) (list []string) {
	entries, _ := fs.ReadDir(root, "rules")
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix) {
			list = append(list, "rules/"+e.Name())
		}
	}
	return list
}

func rule(path string) guest.Resource {
	return guest.Resource{Kind: guest.InstructionFile, Path: path, Content: guest.File(path)}
}

// each emits a resource for each rule, after something was done to it. What
// can't be read is left to the host.
func each(spoil func(r *guest.Resource, text string) error) resolveFunc {
	return func(_ *guest.Request, root fs.FS) (*guest.Response, error) {
		resp := &guest.Response{}
		for _, path := range names(root, ".md") {
			r := rule(path)
			text, err := guest.ReadHead(root, path, 4096)
			if err == nil {
				if err := spoil(&r, string(text)); err != nil {
					return nil, err
				}
			}
			resp.Resources = append(resp.Resources, r)
		}
		return resp, nil
	}
}

func twice(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	resp := &guest.Response{}
	for _, path := range names(root, ".md") {
		resp.Resources = append(resp.Resources, rule(path), rule(path))
	}
	return resp, nil
}

func asksForMore(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	if _, err := fs.Stat(root, "package.json"); err != nil {
		return each(func(*guest.Resource, string) error { return nil })(nil, root)
	}
	return nil, nil
}

func alwaysThere(*guest.Request, fs.FS) (*guest.Response, error) {
	return &guest.Response{Resources: []guest.Resource{rule("AGENTS.md")}}, nil
}

func demands(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	if _, err := fs.ReadDir(root, "rules"); err != nil {
		return nil, errors.New("there are no rules here")
	}
	return nil, nil
}

// givesUp fails when one file can't be read.
func givesUp(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	resp := &guest.Response{}
	for _, path := range names(root, ".md") {
		if _, err := guest.ReadHead(root, path, 100); err != nil {
			return nil, err
		}
		resp.Resources = append(resp.Resources, rule(path))
	}
	return resp, nil
}

// readsEverything reads whole files, to show their first line.
func readsEverything(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	resp := &guest.Response{}
	for _, path := range names(root, ".md") {
		r := rule(path)
		if text, err := fs.ReadFile(root, path); err == nil {
			line, _, _ := strings.Cut(string(text), "\n")
			r.Description = guest.Truncate(line, 200)
		}
		resp.Resources = append(resp.Resources, r)
	}
	return resp, nil
}

// showsLinks puts the text of a link where everybody sees it.
func showsLinks(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	resp := &guest.Response{}
	for _, path := range names(root, ".md") {
		r := rule(path)
		if target, err := fs.ReadLink(root, path); err == nil {
			r.Description = "linked from " + guest.Truncate(target, 1000)
		}
		resp.Resources = append(resp.Resources, r)
	}
	return resp, nil
}

// explodes looks at every directory twice, and so at the one in it four times.
func explodes(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	resp := &guest.Response{}
	var walk func(dir string) int
	walk = func(dir string) (deepest int) {
		entries, _ := fs.ReadDir(root, dir)
		for range 2 {
			for _, e := range entries {
				if e.IsDir() {
					deepest = max(deepest, 1+walk(dir+"/"+e.Name()))
				}
			}
		}
		return deepest
	}
	if n := walk("rules"); n > 0 {
		resp.Warnings = []string{strconv.Itoa(n) + " levels of rules"}
	}
	if _, err := fs.Stat(root, "rules/RULE.md"); err == nil {
		resp.Resources = append(resp.Resources, rule("rules/RULE.md"))
	}
	return resp, nil
}

// hoards keeps room for as much as a file may have, for each file.
func hoards(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	resp := &guest.Response{}
	var kept [][]byte
	for _, path := range names(root, ".md") {
		text := make([]byte, 256<<10)
		for i := range text {
			text[i] = path[i%len(path)]
		}
		kept = append(kept, text)
	}
	for i, path := range names(root, ".md") {
		r := rule(path)
		r.Name = string(kept[i][:3])
		resp.Resources = append(resp.Resources, r)
	}
	return resp, nil
}

// counts numbers its finds within units, so that a remembered one has the
// number of another run.
func counts(req *guest.Request, root fs.FS) (*guest.Response, error) {
	resp := &guest.Response{}
	n := 0
	for _, path := range names(root, ".md") {
		value := req.Memo(path, func() []byte {
			_, _ = guest.ReadHead(root, path, 100)
			n++
			return []byte("rule " + strconv.Itoa(n))
		})
		r := rule(path)
		r.Name = string(value)
		resp.Resources = append(resp.Resources, r)
	}
	return resp, nil
}

// nests goes as deep as a document says, and keeps much on the way.
func nests(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	resp := &guest.Response{}
	for _, path := range names(root, ".json") {
		text, err := fs.ReadFile(root, path)
		if err != nil {
			continue
		}
		r := rule(path)
		r.Name = "depth " + strconv.Itoa(depth(text))
		resp.Resources = append(resp.Resources, r)
	}
	return resp, nil
}

func depth(text []byte) int {
	var room [16 << 10]byte
	copy(room[:], text)
	if len(text) == 0 || room[0] != '[' && room[0] != '{' {
		return 0
	}
	return 1 + depth(text[1:]) + int(room[len(room)-1])
}
