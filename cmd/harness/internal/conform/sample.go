package conform

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/cmd/harness/internal/fixture"
)

// maxFiles bounds the sample: a module with hundreds of patterns is checked on
// some of each.
const maxFiles = 240

// sample is the workspace that a module hopes for, made from its reads.
type sample struct {
	tree
	// victims are the files that are replaced by something worse. Their
	// neighbors stay as they are.
	victims []string
	// stars are paths in which star stands for a name that may be any, and
	// deep those in which it stands for any number of directories.
	stars, deep []string
}

// star can't be in a path.
const star = "\x00"

// sampleOf makes files at the paths that resolvers declare. config holds the
// operator's tables, in which some of them may be named.
func sampleOf(resolvers []abi.Resolver, config map[string][]byte) sample {
	var s sample
	var lists [][]string
	for _, r := range resolvers {
		for _, p := range configPaths(config[r.Name], r.ReadsFromConfig) {
			lists = append(lists, []string{p})
		}
		for _, p := range r.Reads {
			lists = append(lists, MatchingPaths(p))
		}
	}
	share := max(maxFiles/max(len(lists), 1), 4)
	for _, paths := range lists {
		for _, p := range spread(paths, share) {
			s.take(p)
		}
		if len(paths) > 0 && !slices.ContainsFunc(paths, func(p string) bool { return strings.Contains(p, Stem) }) {
			s.victims = append(s.victims, paths[0])
		}
	}
	var victims []string
	for _, v := range s.victims {
		if !slices.Contains(victims, v) && slices.ContainsFunc(s.tree, func(e fixture.Entry) bool { return e.Path == v }) {
			victims = append(victims, v)
		}
	}
	s.victims = victims
	return s
}

// take adds a file, and what can be made of its name.
func (s *sample) take(p string) {
	if len(s.tree) >= 4*maxFiles || !s.add(fileOf(p, sampleText(p, "Sample"))) {
		return
	}
	switch before, after, nested := strings.Cut("/"+p, "/"+Inner+"/"); {
	case nested:
		s.deep = append(s.deep, strings.TrimPrefix(before+"/"+star+"/"+after, "/"))
		if !strings.Contains(p, Stem) {
			s.stars = append(s.stars, strings.TrimPrefix(before+"/"+star+"/"+after, "/"))
		}
	case strings.Contains("/"+p, "/"+Outer+"/"):
	case strings.Contains(p, Stem):
		s.victims = append(s.victims, p)
		s.stars = append(s.stars, strings.Replace(p, Stem, star, 1))
	}
}

// spread takes n of a list, from all over it.
func spread(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	var some []string
	for i := range n {
		some = append(some, list[i*len(list)/n])
	}
	return some
}

// named is the sample with more files, in whose paths the stars have other
// names.
func (s *sample) named(stars []string, names ...string) tree {
	t := slices.Clone(s.tree)
	for _, path := range stars {
		for _, name := range names {
			p := strings.Replace(path, star, name, 1)
			e := fileOf(p, sampleText(p, "Sample"))
			e.Optional = true // not all file systems take all names
			t = append(t, e)
		}
	}
	return t
}

// configPaths are the paths that a configuration names under some keys.
func configPaths(config []byte, keys []string) []string {
	var table map[string]any
	if json.Unmarshal(config, &table) != nil {
		return nil
	}
	var paths []string
	for _, key := range keys {
		switch v := table[key].(type) {
		case string:
			paths = append(paths, v)
		case []any:
			for _, e := range v {
				if s, ok := e.(string); ok {
					paths = append(paths, s)
				}
			}
		}
	}
	return slices.DeleteFunc(paths, func(p string) bool { return p != path.Clean(p) || path.IsAbs(p) || strings.HasPrefix(p, "..") })
}

// sampleText is a content that most resolvers can make something of, by what
// the file is called.
func sampleText(p, title string) string {
	name := nameOf(p)
	switch path.Ext(p) {
	case ".json", ".jsonc":
		text, _ := json.MarshalIndent(map[string]any{ // of strings and maps: can't fail
			"name": name, "description": title + " of " + name, "mcpServers": map[string]any{name: map[string]any{"command": "true", "args": []string{title}}},
		}, "", "  ")
		return string(text) + "\n"
	case ".toml":
		return "name = \"" + name + "\"\ndescription = \"" + title + "\"\n"
	case ".yaml", ".yml":
		return "name: " + name + "\ndescription: " + title + "\n"
	}
	return "---\nname: " + name + "\ndescription: " + title + " of " + name + "\nglobs: \"**/*.ts\"\napplyTo: \"**/*.ts\"\nalwaysApply: false\n---\n\n# " +
		title + "\n\nText of " + path.Base(p) + ".\n"
}

// nameOf is what a file would call itself: skills and the like are called as
// their directory.
func nameOf(p string) string {
	base := strings.TrimSuffix(path.Base(p), path.Ext(p))
	if base == strings.ToUpper(base) && path.Dir(p) != "." {
		base = path.Base(path.Dir(p))
	}
	return strings.ToLower(strings.Trim(base, ". "))
}
