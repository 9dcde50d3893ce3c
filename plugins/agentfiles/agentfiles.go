// Package agentfiles is the built-in resolver "context": instruction files and rules, skills,
// subagents and commands, wherever the table of conventions has them.
//
// # Guarantees
//
// Every file that a convention names is reported. The host classifies unreadable files. Files
// that clients load with a warning are ok, with findings that say what is wrong. A skill is a
// directory: its path, and the name it should have, are those of the directory, even if a
// link leads there. A directory without SKILL.md is not a skill.
//
// A file with MCP servers or hooks beside its text is reported without the text, unless the
// configuration grants it.
//
// In a root that is a plugin, or lists plugins, what these bring is reported with the
// attribute plugin; see package bundles.
//
// # Configuration
//
//   - file_names: the instruction files at the top level, replacing the table's
//   - more_file_names: additional instruction files there
//   - meta_file: the name of SKILL.md
//   - strict: true makes skills, subagents and commands with a warning invalid
//   - heads: how front matter is read, replacing the table's way (conventions.Heads)
//   - grants: "hooks" and "mcp" show files that hold these
//   - disabled: ids of conventions that are ignored
//   - conventions: an operator's rows, after the table's
//   - scope, base: places of the scope "user" are relative to the home directory, of which
//     the root is base
//   - directories: directories below the root, by clean relative paths, to search instead of
//     the root, by the rows of the table that are also read there (Nested). Their places are
//     looked up in each, and nothing else is listed
//   - children: directories at the top of the root that are projects of their own. They are
//     searched after the root, by the same rows
//   - nested: instruction files in directories below, each for the files of its directory,
//     which is what the host marks them as
//   - plugins: what the user of a home directory has installed, from the host; see package
//     plugins/installed
//
// # Limits
//
// Each file, or directory of a skill, is a unit of its own, so that an edit costs what one of
// them costs.
//
// Only the first 1 KiB are read, or 4 KiB if the first line of the text is needed; and up to
// the host's limit per resource if front matter is longer, and of TOML, JSON and YAML. All
// texts together stay below the size of a response; the rest is left out with a warning. 512
// KiB of front matter in total may need the YAML library: anchors and tags do, lists and maps
// don't.
package agentfiles

import (
	"errors"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/bundles"
	"waymark/plugins/internal/places"
	guest "waymark/sdk-guest"
)

// Name is the resolver's name.
const Name = "context"

// Keys of the configuration.
const (
	keyFileNames = "file_names"
	keyMoreNames = "more_file_names"
	keyMetaFile  = "meta_file"
)

var kinds = []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindSubagent, abi.KindCommand}

// Resolver returns the resolver of a table, which is prepared here and not in each run.
func Resolver(table []conventions.Convention) guest.Resolver {
	t := &tables{table: table, bare: &unknownSkill, places: places.CompilePair(table, kinds)}
	for i := range table {
		c := &table[i]
		switch {
		case c.Scope != conventions.ScopeProject:
		case c.Kind == abi.KindSkill && slices.Contains(c.Places, "skills/*/"+places.SkillFile):
			t.bare = c
		case c.Kind == abi.KindInstructionFile:
			t.instructions = append(t.instructions, c)
		}
	}
	reads := places.Reads(table, kinds, conventions.ScopeProject, conventions.ScopeUser)
	return guest.Resolver{
		Name:            Name,
		Kinds:           kinds,
		Summary:         "instructions, rules, skills, subagents and commands of all agents",
		Reads:           append(places.Manifests(table, reads), places.SkillFile),
		ReadsFromConfig: []string{keyFileNames, keyMoreNames},
		Resolve:         t.resolve,
	}
}

// tables is a prepared table.
type tables struct {
	table        []conventions.Convention
	places       places.Pair
	bare         *conventions.Convention   // that of skills/*/SKILL.md
	instructions []*conventions.Convention // of files
}

func (t *tables) resolve(req *guest.Request, root fs.FS) (*guest.Response, error) {
	if req.Root.Role == abi.RoleMCP {
		return nil, nil
	}
	f := &finder{tables: t, req: req, root: root, yaml: fullYAMLBudget}
	if err := f.configure(); err != nil {
		return nil, err
	}
	if req.Root.File != "" {
		f.fileRoot(req.Root.File)
		return f.response(), nil
	}
	if err := f.directoryRoot(); err != nil {
		return nil, err
	}
	return f.response(), nil
}

// finder gathers the resources of one root.
type finder struct {
	*tables
	req  *guest.Request
	root fs.FS
	options

	resp guest.Response
	yaml yamlBudget
	// below is the directory that is searched, with a slash; empty for the root.
	below string
	bundle
	size int            // estimate of the response's length
	buf  [headSize]byte // holds one head after the other
	// unlisted counts resources, undescribed descriptions that had no room.
	unlisted, undescribed int
}

// options is what the configuration says.
type options struct {
	places.Settings
	metaFile   string
	fileNames  []string
	named      bool // by fileNames alone, and not by the table
	strict     bool
	hooks, mcp bool // are granted
	heads      conventions.Heads
	// instructionsOnly and skillsOnly say what a root with a role is for.
	instructionsOnly, skillsOnly bool
}

func (f *finder) configure() (err error) {
	config := &f.req.Config
	f.instructionsOnly, f.skillsOnly = f.req.Root.Role == abi.RoleInstructions, f.req.Root.Role == abi.RoleSkills
	if f.metaFile, err = config.String(keyMetaFile, places.SkillFile); err != nil {
		return err
	}
	if f.metaFile != path.Base(f.metaFile) || f.metaFile == "." || f.metaFile == ".." {
		return errors.New("meta_file must be the name of a file, without directories")
	}
	if f.strict, err = config.Bool("strict", false); err != nil {
		return err
	}
	heads, err := config.String("heads", "")
	if err != nil {
		return err
	}
	f.heads = conventions.Heads(heads)
	if f.Settings, err = places.Configure(*config, kinds); err != nil {
		return err
	}
	f.hooks, f.mcp = slices.Contains(f.Grants, "hooks"), slices.Contains(f.Grants, "mcp")
	return f.names()
}

// names reads the names of instruction files.
func (f *finder) names() error {
	config := &f.req.Config
	names, err := config.Strings(keyFileNames)
	if err != nil {
		return err
	}
	more, err := config.Strings(keyMoreNames)
	if err != nil {
		return err
	}
	_, f.named = config.Value(keyFileNames)
	f.fileNames = f.plainNames(keyMoreNames, f.plainNames(keyFileNames, nil, names), more)
	return nil
}

// plainNames adds the names of files at the top level, without duplicates.
func (f *finder) plainNames(key string, plain, names []string) []string {
	for _, name := range names {
		switch {
		case name == "" || name == "." || strings.Contains(name, "/") || !fs.ValidPath(name):
			f.warn(key + ": " + strconv.Quote(guest.Truncate(name, 80)) + " is not the name of a file at the top level; ignored")
		case !slices.Contains(plain, name):
			plain = append(plain, name)
		}
	}
	return plain
}

func (f *finder) warn(text string) {
	f.resp.Warnings = append(f.resp.Warnings, guest.Truncate(text, abi.MaxError))
}

func (f *finder) response() *guest.Response {
	if f.undescribed > 0 {
		f.warn("too much text: " + strconv.Itoa(f.undescribed) + " descriptions were left out")
	}
	if f.unlisted > 0 {
		f.warn("too many resources: " + strconv.Itoa(f.unlisted) + " were left out")
	}
	return &f.resp
}

// fileRoot looks at a root that is one file.
func (f *finder) fileRoot(name string) {
	switch {
	case f.instructionsOnly || !f.skillsOnly && slices.Contains(f.fileNames, name):
		f.instruction(name)
	case name == f.metaFile:
		f.Skill(f.bare, ".", nil)
	default:
		f.Settings.File(f.places, name, f)
	}
}

func (f *finder) directoryRoot() error {
	if dirs := f.Directories(); len(dirs) > 0 {
		for _, dir := range dirs {
			f.below = dir + "/"
			f.WalkBelow(f.places, f.root, dir, f)
		}
		return nil
	}
	if len(f.fileNames) > 0 && !f.skillsOnly {
		if err := f.topLevel(f.fileNames, f.instruction); err != nil {
			return err
		}
	}
	if f.skillsOnly || f.req.Root.Name == "skills" && !f.instructionsOnly {
		if err := f.container(); err != nil {
			return err
		}
	}
	if f.instructionsOnly {
		if f.named {
			return nil
		}
		return f.topLevel(nil, func(name string) { f.Settings.File(f.places, name, f) })
	}
	f.Walk(f.places, f.root, f)
	f.plugins()
	for _, dir := range f.Children() {
		if err := f.child(dir); err != nil {
			return err
		}
	}
	for _, p := range f.Nested() {
		f.nested(p)
	}
	return nil
}

// nested reports an instruction file in a directory below. Its readers are those that look
// there.
func (f *finder) nested(p string) {
	var row *conventions.Convention
	for _, c := range f.instructions {
		for _, place := range c.Places {
			if dir, ok := strings.CutSuffix(p, place); ok && strings.HasSuffix(dir, "/") && len(c.Nested) > 0 && (row == nil || len(dir) < len(f.below)) {
				row, f.below = c, dir
			}
		}
	}
	if row == nil || f.Skip(row) || f.Again(row, p) {
		return
	}
	f.addPart(row, f.req.Part(row.ID+" nested "+p, func() guest.Part {
		part := f.readFile(row, p)
		if part.Rows.Len() > 0 {
			part.Rows = change(part.Rows, func(r *guest.Resource) { r.Readers = row.Nested })
		}
		return part
	}))
}

// child searches a directory that is a project of its own.
func (f *finder) child(dir string) error {
	f.below = dir + "/"
	if len(f.fileNames) > 0 {
		if err := f.topLevel(f.fileNames, func(name string) { f.instruction(f.below + name) }); err != nil {
			return err
		}
	}
	f.WalkChild(f.places, f.root, dir, f)
	return nil
}

// topLevel calls a function for the files at the top level: for those with given names, in
// their order, or for all.
func (f *finder) topLevel(names []string, each func(name string)) error {
	entries, err := fs.ReadDir(f.root, path.Clean(f.below))
	if err != nil && f.below == "" && !errors.Is(err, fs.ErrNotExist) { // below, the walk says why
		return err
	}
	if names == nil {
		for _, e := range entries {
			if !e.IsDir() {
				each(e.Name())
			}
		}
		return nil
	}
	for _, name := range names {
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
		if i >= 0 && !entries[i].IsDir() {
			each(name)
		}
	}
	return nil
}

// container reports the skills whose directories lie in the root itself.
func (f *finder) container() error {
	entries, err := fs.ReadDir(f.root, ".")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			f.Skill(f.bare, e.Name(), e)
		}
	}
	return nil
}

// instruction reports a file at the top level that was named as one.
func (f *finder) instruction(p string) {
	name := p[len(f.below):]
	for _, c := range f.instructions {
		if slices.Contains(c.Places, name) {
			f.add(c, p)
			return
		}
	}
	f.add(&unknown, p)
}

// unknown is the convention of an instruction file that the table doesn't have.
var unknown = conventions.Convention{Kind: abi.KindInstructionFile, Format: conventions.Markdown, Description: conventions.FromHeading}

// unknownSkill is the convention of a skill at a place that the table doesn't have.
var unknownSkill = conventions.Convention{
	Kind: abi.KindSkill, Format: conventions.Markdown, Name: conventions.FromField, Description: conventions.FromField,
}

// Skip implements places.Visitor.
func (f *finder) Skip(c *conventions.Convention) bool {
	if f.plugin != nil && !f.plugin.LoadedBy(c.Readers) {
		return true
	}
	return f.Disabled(c) || f.skillsOnly && c.Kind != abi.KindSkill || f.instructionsOnly && c.Kind != abi.KindInstructionFile
}

// Unreadable implements places.Visitor.
func (f *finder) Unreadable(c *conventions.Convention, dir string, err error) {
	if c == nil || dir == "." || c.Kind == abi.KindPlugin {
		f.warn(dir + ": " + err.Error())
		return
	}
	r := guest.Resource{Kind: c.Kind, Path: dir, Content: guest.File(dir), Convention: c.ID, Name: path.Base(dir)}
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	fail(&r, errors.New("the directory can't be listed: "+strings.ToLower(err.Error()))) // the host knows where links lead
	f.attributed(c, &r)
	f.addRow(guest.Encode(r), 0)
}

// File implements places.Visitor.
func (f *finder) File(c *conventions.Convention, p string) {
	if c.Kind == abi.KindPlugin {
		if f.below == "" { // what plugins of another project bring is that project's
			f.tops = append(f.tops, bundles.Manifest{Path: p, Convention: c})
		}
		return
	}
	if f.plugin != nil {
		f.partOfPlugin(c, p)
		return
	}
	name := p[len(f.below):]
	if c.Kind == abi.KindInstructionFile && len(f.Directories()) == 0 && (f.named && !strings.Contains(name, "/") || slices.Contains(f.fileNames, name)) {
		return // reported by its name
	}
	if c.Kind == abi.KindInstructionFile && f.below != "" && f.named && !strings.Contains(name, "/") && !slices.Contains(f.fileNames, name) {
		return // what isn't read at the top isn't read below it either
	}
	f.add(c, p)
}

// add reports a file.
func (f *finder) add(c *conventions.Convention, p string) {
	if f.Again(c, p) {
		return
	}
	key := f.partID(c) + " file " + p
	p = key[len(key)-len(p):]
	f.addPart(c, f.req.Part(key, func() guest.Part { return f.readFile(c, p) }))
}

// Skill implements places.Visitor.
func (f *finder) Skill(c *conventions.Convention, dir string, e fs.DirEntry) bool {
	if known, skill := f.putOff(c, dir, e); known {
		return skill
	}
	if f.Again(c, dir) {
		return true
	}
	id := f.partID(c)
	how := " directory "
	if e == nil || e.Type()&fs.ModeSymlink != 0 {
		how = " link "
	}
	// The key, the path and the file are parts of one text.
	start := len(id) + len(how)
	text := id + how + dir + "/" + f.metaFile
	key := text[:start+len(dir)]
	part := f.req.Part(key, func() guest.Part {
		file := text[start:]
		var name string
		switch {
		case e == nil:
			file, name = f.metaFile, f.req.Root.Name
		case e.Type()&fs.ModeSymlink != 0:
			name = f.linked(key[start:])
		default:
			name = e.Name()
		}
		return f.readSkill(c, key[start:], file, name)
	})
	f.addPart(c, part)
	return part.Rows.Len() > 0
}

// linked returns the name of the directory that a link leads to.
func (f *finder) linked(dir string) string {
	if name := places.RealPath(f.root, dir); name != "." {
		return path.Base(name)
	}
	return f.req.Root.Name
}
