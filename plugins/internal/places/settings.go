package places

import (
	"errors"
	"io/fs"
	"slices"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/installed"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/jsonlite"
)

// Settings are what the configuration of a resolver says that walks a table.
type Settings struct {
	// Grants are what the operator lets be shown.
	Grants []string
	// disabled are the ids of conventions that don't count.
	disabled map[string]bool
	// own are the operator's conventions, and seen is what others have already.
	own  *Tree
	seen map[string]bool
	// inHome says that the root lies in a home directory, and is base there.
	inHome bool
	base   string
	// directories are where nested places begin, in the place of the root.
	directories []string
	// children are directories in which all places begin, besides in the root.
	children []string
	// nested are files below the root or a child, at nested places of their directories.
	nested []string
	// plugins are those that are installed for the user of a home directory.
	plugins []installed.Plugin
	// used is what the walks of children have taken, all together.
	used usage
}

var errConventions = errors.New("config key conventions is not a list of tables with the fields of a convention")

// scopeConfigured is that of an operator's conventions: the host hands out those that
// are for a root.
const scopeConfigured conventions.Scope = ""

// Configure reads these keys, of which the host has checked the values: grants,
// disabled and conventions, of which those of some kinds count, and dependencies, which
// has their "**" look into node_modules; scope and base; directories, children, nested and
// plugins.
//
// # Errors
//
// For values of another type.
func Configure(config guest.Config, kinds []abi.Kind) (s Settings, err error) {
	if s.Grants, err = config.Strings("grants"); err != nil {
		return s, err
	}
	disabled, err := config.Strings("disabled")
	if err != nil {
		return s, err
	}
	if len(disabled) > 0 {
		s.disabled = make(map[string]bool, len(disabled))
		for _, id := range disabled {
			s.disabled[id] = true
		}
	}
	scope, err := config.String("scope", "")
	if err != nil {
		return s, err
	}
	s.inHome = scope == string(conventions.ScopeUser)
	if s.base, err = config.String("base", ""); err != nil {
		return s, err
	}
	if s.directories, err = config.Strings("directories"); err != nil {
		return s, err
	}
	if s.children, err = config.Strings("children"); err != nil {
		return s, err
	}
	if s.nested, err = config.Strings("nested"); err != nil {
		return s, err
	}
	if rows, ok := config.Value("plugins"); ok {
		s.plugins = installed.FromRows(rows)
	}
	dependencies, err := config.Bool("dependencies", false)
	if err != nil {
		return s, err
	}
	list, ok := config.Value("conventions")
	if !ok {
		return s, nil
	}
	return s, s.compile(list, kinds, dependencies)
}

func (s *Settings) compile(list jsonlite.Value, kinds []abi.Kind, dependencies bool) error {
	if list.Kind() != jsonlite.Array {
		return errConventions
	}
	var table []conventions.Convention
	for row := range list.Elements() {
		c, err := configured(row)
		if err != nil {
			return err
		}
		table = append(table, c)
	}
	s.own, s.seen = Compile(table, kinds, scopeConfigured), map[string]bool{}
	s.own.dependencies = dependencies
	return nil
}

// Disabled reports whether a convention doesn't count.
func (s *Settings) Disabled(c *conventions.Convention) bool {
	return s.disabled != nil && s.disabled[c.ID]
}

// Again reports whether something was found already. Only an operator's conventions may
// have what others have, too.
func (s *Settings) Again(c *conventions.Convention, p string) bool {
	if s.own == nil {
		return false
	}
	key := string(c.Kind) + " " + p
	known := s.seen[key]
	s.seen[key] = true
	return known
}

// Base is the path of the root below a home directory; empty where it is one, or lies
// in none.
func (s *Settings) Base() string { return s.base }

// Directories are those, relative to the root, in which the places of nested rows begin.
// Where there are some, the root's own places aren't asked for.
func (s *Settings) Directories() []string { return s.directories }

// Children are the directories at the top of the root that are projects of their own: all
// places of projects begin in each of them, too.
func (s *Settings) Children() []string { return s.children }

// Nested are files below the root or one of the Children, relative to the root, at the nested
// places of their directories: the host knows them from elsewhere, so that nobody looks for
// them.
func (s *Settings) Nested() []string { return s.nested }

// Plugins are those that the user of a home directory has installed, whether they are on
// or not.
func (s *Settings) Plugins() []installed.Plugin { return s.plugins }

// WalkChild walks one of the Children, by a table and by the operator's conventions. All of
// them together have the bounds of one walk, and of what is found the visitor is told of 800:
// somebody's repository must not keep what is the workspace's from being found.
func (s *Settings) WalkChild(p Pair, root fs.FS, dir string, v Visitor) {
	p.project.walkIn(root, dir, v, &s.used)
	if s.own != nil {
		s.own.walkIn(root, dir, v, &s.used)
	}
}

// Pair is a table made ready, for projects, for directories below their top, for home
// directories, and for plugins.
type Pair struct{ project, nested, user, plugin *Tree }

// CompilePair makes a Pair of the rows of a table that have one of the kinds. Of a project
// it has the manifests of plugins, too, since those say where more of these kinds are.
func CompilePair(table []conventions.Convention, kinds []abi.Kind) Pair {
	project := compile(table, func(c *conventions.Convention) bool {
		return c.Scope == conventions.ScopeProject && (slices.Contains(kinds, c.Kind) || IsManifest(c))
	})
	plugin := compileFirst(table, func(c *conventions.Convention) bool {
		return slices.Contains(kinds, c.Kind) && c.Scope == conventions.ScopePlugin
	})
	return Pair{project, compileNested(table, kinds), Compile(table, kinds, conventions.ScopeUser), plugin}
}

// IsManifest reports whether a row is one of manifests of plugins, or of lists of them, at
// the top of a project.
func IsManifest(c *conventions.Convention) bool {
	return c.Kind == abi.KindPlugin && c.Scope == conventions.ScopeProject && c.Format == conventions.JSON
}

// Manifests adds the places of manifests to patterns, each once.
func Manifests(table []conventions.Convention, reads []string) []string {
	for i := range table {
		if IsManifest(&table[i]) {
			for _, p := range table[i].Places {
				if !slices.Contains(reads, p) {
					reads = append(reads, p)
				}
			}
		}
	}
	return reads
}

// WalkPlugin walks the directory of a plugin. The paths, by the first name of the place
// that they are like, are looked at as if they were it.
func (s *Settings) WalkPlugin(p Pair, root fs.FS, dir string, paths map[string][]string, instead []string, v Visitor) {
	p.plugin.walkPlugin(root, dir, paths, instead, v)
}

// WalkBelow walks one of the Directories, by the rows of a table that are read below the
// top of a project, too. An operator's conventions are for the top.
func (s *Settings) WalkBelow(p Pair, root fs.FS, dir string, v Visitor) {
	p.nested.walkBelow(root, dir, v)
}

// Walk walks a root, by a table and by the operator's conventions.
func (s *Settings) Walk(p Pair, root fs.FS, v Visitor) {
	if s.inHome {
		p.user.Walk(root, s.base, v)
	} else {
		p.project.Walk(root, "", v)
	}
	if s.own != nil {
		s.own.Walk(root, "", v)
	}
}

// File looks at a root that is one file, or at one file at the top of a root.
func (s *Settings) File(p Pair, name string, v Visitor) {
	p.project.File(name, v)
	if s.own != nil {
		s.own.File(name, v)
	}
}

func configured(row jsonlite.Value) (c conventions.Convention, err error) {
	if row.Kind() != jsonlite.Object {
		return c, errConventions
	}
	text := func(v jsonlite.Value) string {
		s, ok := v.Text()
		if !ok {
			err = errConventions
		}
		return s
	}
	for key, v := range row.Members() {
		switch key {
		case "id":
			c.ID = text(v)
		case "kind":
			c.Kind = abi.Kind(text(v))
		case "format":
			c.Format = conventions.Format(text(v))
		case "name":
			c.Name = conventions.Derivation(text(v))
		case "description":
			c.Description = conventions.Derivation(text(v))
		case "mode":
			c.Applies.Mode = text(v)
		case "globs_key":
			c.Applies.GlobsKey = text(v)
		case "globs_of_all":
			c.Applies.GlobsOfAll, _ = v.Bool()
		case "manual_key":
			c.Applies.ManualKey = text(v)
		case "mode_key":
			c.Applies.ModeKey = text(v)
		case "words":
			for is, mode := range v.Members() {
				c.Applies.Words = append(c.Applies.Words, conventions.Word{Is: is, Mode: text(mode)})
			}
		case "imports":
			c.Imports, _ = v.Bool()
		case "places":
			for e := range v.Elements() {
				c.Places = append(c.Places, text(e))
			}
		}
	}
	return c, err
}
