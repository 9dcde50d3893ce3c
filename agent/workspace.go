package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"waymark/abi"
	"waymark/agentapi"
	"waymark/host"
	"waymark/host/config"
	"waymark/host/sources"
	"waymark/snapshot"
)

// workspace knows where to look. It learns places from flags, from the environment and from
// requests, some of them after the start.
type workspace struct {
	paths   *config.Paths
	places  *config.Workspace
	sources *sources.List
	env     variables

	mu   sync.Mutex // guards the fields below
	root string     // the working directory, absolute; "" while it isn't known
	user bool       // the home directory is scanned, too
}

// variables are those that Coder sets in its workspaces. Their paths may be relative to the
// working directory.
type variables struct {
	instructionsDirs, skillsDirs, mcpFiles []string
	// instructionsFile and skillMetaFile are file names; empty means the default ones.
	instructionsFile, skillMetaFile string
}

// readVariables reads the environment. An invalid file name is a usage error.
func readVariables(getenv func(string) string) (variables, error) {
	const prefix = "CODER_AGENT_EXP_"
	list := func(name string) (items []string) {
		for item := range strings.SplitSeq(getenv(prefix+name), ",") {
			if item = strings.TrimSpace(item); item != "" {
				items = append(items, item)
			}
		}
		return items
	}
	var errs []error
	name := func(variable string) string {
		value := strings.TrimSpace(getenv(prefix + variable))
		if value != "" && !isName(value) {
			errs = append(errs, usage("%s%s is %q: it takes the name of a file, without directories", prefix, variable, value))
		}
		return value
	}
	v := variables{
		instructionsDirs: list("INSTRUCTIONS_DIRS"), skillsDirs: list("SKILLS_DIRS"), mcpFiles: list("MCP_CONFIG_FILES"),
		instructionsFile: name("INSTRUCTIONS_FILE"), skillMetaFile: name("SKILL_META_FILE"),
	}
	return v, errors.Join(errs...)
}

// maxName is the longest file name, in bytes.
const maxName = 255

// isName reports whether a string can be the name of a file in a directory.
func isName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= maxName && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r == '/' || unicode.IsControl(r) })
}

// configure sets the file names in the configuration of the built-in resolvers.
func (v *variables) configure(opts *host.Options) {
	if v.instructionsFile != "" {
		edit(opts.BuiltinConfig, "context", func(table map[string]any) {
			names, _ := table["more_file_names"].([]any)
			if !slices.Contains(names, any(v.instructionsFile)) {
				table["more_file_names"] = append(names, v.instructionsFile)
			}
		})
	}
	if v.skillMetaFile != "" {
		edit(opts.BuiltinConfig, "context", func(table map[string]any) { table["meta_file"] = v.skillMetaFile })
	}
	var skills struct {
		MetaFile string `json:"meta_file"`
	}
	if json.Unmarshal(opts.BuiltinConfig["context"], &skills) == nil && skills.MetaFile != "" {
		opts.BuiltinNames = map[string]map[string]string{"context": {"SKILL.md": skills.MetaFile}}
	}
}

// edit changes the configuration of a resolver.
func edit(config map[string][]byte, resolver string, change func(map[string]any)) {
	table := map[string]any{}
	if json.Unmarshal(config[resolver], &table) != nil || table == nil {
		table = map[string]any{}
	}
	change(table)
	if text, err := json.Marshal(table); err == nil {
		config[resolver] = text
	}
}

// specs lists the roots in order of precedence: the user's sources, the places in the
// environment, the user's own directories, what agents keep in the home, the working
// directory. While the working directory is unknown, roots that depend on it are left out.
func (w *workspace) specs() []host.RootSpec {
	w.mu.Lock()
	root, user := w.root, w.user
	w.mu.Unlock()
	var specs []host.RootSpec
	for _, s := range w.sources.Roots() {
		specs = append(specs, host.RootSpec{
			Path: s.Path, Source: true, Optional: true, Within: s.Within,
			Check: func(target string) error { return w.sources.AllowedAt(s.Source, target) },
		})
	}
	specs = append(specs, w.variableRoots(root)...)
	if w.paths.Home != "" {
		for _, dir := range []string{".waymark", ".coder", filepath.Join(".coder", "skills")} {
			specs = append(specs, host.RootSpec{Path: filepath.Join(w.paths.Home, dir), Optional: true, Within: []string{root}})
		}
	}
	// Everything there has user scope, even if the home is the working directory.
	if w.paths.Home != "" && user {
		specs = append(specs, host.RootSpec{Path: w.paths.Home, Optional: true, Within: []string{root}, Scope: snapshot.ScopeUser})
	}
	if root != "" {
		specs = append(specs, host.RootSpec{Path: root, Children: true})
	}
	return specs
}

// bound makes paths of the environment absolute. Those that need a home or a working
// directory that doesn't exist are left out.
func (w *workspace) bound(root string, paths []string) []string {
	list := []string{}
	for _, path := range paths {
		expanded, err := w.paths.Expand(path)
		if err != nil || !filepath.IsAbs(expanded) && root == "" {
			continue
		}
		if !filepath.IsAbs(expanded) {
			expanded = filepath.Join(root, expanded)
		}
		list = append(list, filepath.Clean(expanded))
	}
	return list
}

// variableRoots returns the roots that the environment names, each with its role.
func (w *workspace) variableRoots(root string) []host.RootSpec {
	var specs []host.RootSpec
	add := func(role abi.Role, paths []string) {
		for _, path := range w.bound(root, paths) {
			specs = append(specs, host.RootSpec{Path: path, Role: role, Optional: true, Within: []string{root}})
		}
	}
	add(abi.RoleInstructions, w.env.instructionsDirs)
	add(abi.RoleSkills, w.env.skillsDirs)
	add(abi.RoleMCP, w.env.mcpFiles)
	return specs
}

// contextConfig returns the places that the environment names, with the defaults of Coder's
// agent.
func (w *workspace) contextConfig(getenv func(string) string) (*agentapi.ContextConfig, error) {
	v, err := readVariables(getenv)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	root := w.root
	w.mu.Unlock()
	or := func(list []string, usual ...string) []string {
		if len(list) == 0 {
			list = usual
		}
		return w.bound(root, list)
	}
	return &agentapi.ContextConfig{
		InstructionsDirs: or(v.instructionsDirs, "~/.coder"),
		InstructionsFile: cmp.Or(v.instructionsFile, "AGENTS.md"),
		SkillsDirs:       or(v.skillsDirs, "~/.coder/skills", ".agents/skills"),
		SkillMetaFile:    cmp.Or(v.skillMetaFile, "SKILL.md"),
		MCPConfigFiles:   or(v.mcpFiles, ".mcp.json"),
	}, nil
}

// currentRoot returns the working directory; empty while it is unknown.
func (w *workspace) currentRoot() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.root
}

// resolvedRoot returns the working directory without links; empty while it is unknown or if
// it can't be resolved.
func (w *workspace) resolvedRoot() string {
	root := w.currentRoot()
	if root == "" {
		return ""
	}
	resolved, err := config.Resolved(root)
	if err != nil {
		return ""
	}
	return resolved
}

// configure applies the configuration, and reports whether that changes the roots.
func (w *workspace) configure(c *config.Conventions) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.user
	w.user = c.User != config.UserOff
	return w.user != before
}

// setRoot sets the working directory and returns the previous one.
//
// # Errors
//
// places.ErrExposed: the directory contains something that the agent trusts.
func (w *workspace) setRoot(root string) (before string, err error) {
	resolved := root
	if root != "" {
		if resolved, err = config.Resolved(root); err != nil {
			return "", err
		}
	}
	if err := w.paths.Own.Work(resolved); err != nil {
		return "", err
	}
	w.mu.Lock()
	before = w.root
	w.root = root
	w.mu.Unlock()
	w.sources.SetWorkDir(root)
	return before, nil
}

// newWorkspace combines flags and environment. An empty root means that it is unknown yet.
func newWorkspace(paths *config.Paths, root string, flags []string, getenv func(string) string) (*workspace, error) {
	env, err := readVariables(getenv)
	if err != nil {
		return nil, err
	}
	places, err := paths.Workspace(root)
	if err != nil {
		return nil, fmt.Errorf("root %s: %w", root, err)
	}
	w := &workspace{paths: paths, places: places, env: env}
	if root != "" {
		if w.root, err = filepath.Abs(root); err != nil {
			return nil, err
		}
	}
	if err := paths.Own.Work(places.Root); err != nil {
		return nil, usage("%w: move it out, or choose another root", err)
	}
	w.sources = sources.New(sources.Options{
		Home: paths.Home, WorkDir: w.root, File: places.State.In("sources.json").Path(),
	})
	for _, path := range flags {
		if path == "" {
			return nil, usage("--source: an empty path names nothing")
		}
		if !strings.HasPrefix(path, "~") {
			if path, err = filepath.Abs(path); err != nil {
				return nil, err
			}
		}
		if _, _, err := w.sources.Add(path, sources.AddOptions{Trusted: true}); err != nil {
			return nil, usage("--source %s: %w", path, err)
		}
	}
	return w, nil
}

// base returns the directory that tables leave out at the beginning of paths.
func (w *workspace) base() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return cmp.Or(w.root, "/")
}
