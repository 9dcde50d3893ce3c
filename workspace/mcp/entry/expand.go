package entry

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"waymark/plugins/mcpconfig/servers"
	"waymark/workspace/launch"
)

// ExpandOptions are the values that references stand for.
type ExpandOptions struct {
	// Root is the absolute path of the workspace's directory; empty if there is none. Home
	// is the user's home directory.
	Root, Home string
	// Getenv looks up a variable.
	Getenv func(name string) (value string, set bool)
}

// Expand expands the references in the command, the arguments, the values of variables and
// headers, the working directory and the URL, in the syntax of the entry. In a .mcp.json
// these are ${VAR} and ${VAR:-default}. It also adds variables that an entry inherits by
// name. An empty variable doesn't use the default. A reference to a variable that isn't set
// and has no default becomes what the file's client makes of it: it stays, or it is removed
// (see servers.Syntax.Keeps and Expanded.Unset). Anything else that looks like a reference
// stays as it is.
//
// The agent's own variables count as unset; see launch.AgentVariable. As Claude Code does, an
// entry of its files gets CLAUDE_PROJECT_DIR, which is the workspace's directory; the entry
// may also refer to it.
//
// The working directory is relative to the workspace and defaults to it, or to the home
// directory if there is no workspace. The working directory and the command may begin with
// "~/".
//
// # Errors
//
// An error says why the entry can't be used. It contains names of variables, but no values.
func (e *Entry) Expand(opts ExpandOptions) (*Expanded, error) {
	if e.Problem != "" {
		return nil, errors.New(e.Problem)
	}
	r := newResolver(e, opts)
	x := &Expanded{}
	switch e.Transport {
	case servers.Stdio:
		if err := r.program(e, x); err != nil {
			return nil, err
		}
	default:
		if err := r.address(e, x); err != nil {
			return nil, err
		}
	}
	x.Secrets, x.Redacted = r.found(x)
	x.Unset, x.Withheld = unique(r.unset), unique(r.withheld)
	return x, nil
}

// Secrets returns what Expanded.Secrets and Expanded.Redacted are, as far as they can be
// determined without the environment, for an entry that isn't started or dialed.
func (e *Entry) Secrets(opts ExpandOptions) (values, names []string) {
	opts.Getenv = nil
	r := newResolver(e, opts)
	x := &Expanded{}
	_, _ = r.program(e, x), r.address(e, x) // errors don't matter here
	return r.found(x)
}

// found returns the secrets, and where they are.
func (r *resolver) found(x *Expanded) (values, names []string) {
	for _, known := range []string{"", r.opts.Root, r.opts.Home, x.Cwd} { // paths that aren't secret
		delete(r.secrets, known)
	}
	return slices.Sorted(maps.Keys(r.secrets)), slices.Sorted(maps.Keys(r.redacted))
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// projectDir is the variable with the project's directory in the servers of Claude Code.
const projectDir = "CLAUDE_PROJECT_DIR"

// resolver collects the results of an expansion.
type resolver struct {
	opts            ExpandOptions
	syntax          servers.Syntax
	project         string // the value of projectDir; empty if there is none
	secrets         map[string]bool
	redacted        map[string]bool
	unset, withheld []string
}

func newResolver(e *Entry, opts ExpandOptions) *resolver {
	r := &resolver{opts: opts, syntax: e.Syntax, secrets: map[string]bool{}, redacted: map[string]bool{}}
	if e.Shape == servers.Claude || e.Shape == servers.ClaudeUser {
		r.project = opts.Root
	}
	return r
}

func (r *resolver) program(e *Entry, x *Expanded) error {
	x.Command = r.home(r.expand("command", "", e.Command))
	missing := unique(append(slices.Clone(r.unset), r.withheld...))
	for _, arg := range e.Args {
		x.Args = append(x.Args, r.expand("arguments", "", arg))
	}
	for i, c := range Credentials(x.Args) {
		if c.Value != "" && !strings.Contains(x.Args[i], "://") && !r.refersToOrdinary(e.Args[i]) {
			r.hide("arguments", "credential", c.Value)
		}
	}
	x.Env = map[string]string{}
	if r.project != "" {
		x.Env[projectDir] = r.project
	}
	for name, value := range e.Env {
		x.Env[name] = r.expand(name, name, value)
	}
	for _, name := range e.Inherit {
		value, set := r.variable(name)
		if _, given := e.Env[name]; set && !given {
			x.Env[name] = value
			r.hide(name, name, value)
		}
	}
	x.Cwd = r.directory(e.Cwd)
	switch {
	case len(missing) > 0:
		return fmt.Errorf("its command refers to what isn't set here: %s", strings.Join(missing, ", "))
	case x.Command == "":
		return errors.New("its command is empty: what it refers to is")
	case runsAgent(x.Command, x.Args):
		return errors.New(listedOwn)
	case x.Cwd == "":
		return errors.New("there is no directory to run it in: neither a workspace nor a home")
	}
	return nil
}

// directory returns the absolute working directory.
func (r *resolver) directory(given string) string {
	base := cmp.Or(r.opts.Root, r.opts.Home)
	dir := r.home(r.expand("directory", "", given))
	switch {
	case dir == "":
		return base
	case filepath.IsAbs(dir):
		return filepath.Clean(dir)
	case base == "":
		return ""
	}
	return filepath.Join(base, dir)
}

// home expands a leading tilde. "~user" isn't supported.
func (r *resolver) home(path string) string {
	if r.opts.Home == "" {
		return path
	}
	if rest, below := strings.CutPrefix(path, "~/"); below || path == "~" {
		return filepath.Join(r.opts.Home, strings.TrimPrefix(rest, "~"))
	}
	return path
}

func (r *resolver) address(e *Entry, x *Expanded) error {
	x.URL = r.expand("url", "", e.URL)
	missing := unique(append(slices.Clone(r.unset), r.withheld...))
	x.Headers = map[string]string{}
	for name, value := range e.Headers {
		x.Headers[name] = r.expand(name, name, value)
	}
	for name, variable := range e.HeaderVariables {
		scheme, variable, ok := strings.Cut(variable, " ")
		if !ok {
			scheme, variable = "", scheme
		}
		if value, set := r.variable(variable); set {
			x.Headers[name] = strings.TrimPrefix(scheme+" "+value, " ")
			r.hide(name, variable, value)
			r.hide(name, name, x.Headers[name])
		}
	}
	// The URL's error would repeat the URL.
	u, err := url.Parse(x.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		if len(missing) > 0 {
			return fmt.Errorf("its url refers to what isn't set here: %s", strings.Join(missing, ", "))
		}
		return errors.New("its url isn't an address that begins with http:// or https://")
	}
	for name, value := range x.Headers {
		if strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("its header %s holds a line break", name)
		}
	}
	return nil
}

// hide records the secrets in a value. of says where it is in the entry, name is what it is
// assigned to.
func (r *resolver) hide(of, name, value string) {
	for _, secret := range Secrets(name, value) {
		r.secrets[secret], r.redacted[of] = true, true
	}
}

// expand expands the references in a text and records its secrets. name is what the text is
// assigned to; it may be empty. If the text refers to an ordinary variable, only the parts
// between references count as secrets.
func (r *resolver) expand(of, name, text string) string {
	shown := r.refersToOrdinary(text)
	var b, known strings.Builder // known is without references that stay
	for rest := text; ; {
		before, ref, after, ok := r.syntax.Next(rest)
		b.WriteString(before)
		known.WriteString(before)
		if shown {
			r.hide(of, "", before)
		}
		if !ok {
			break
		}
		value, set := r.lookup(ref)
		known.WriteString(value)
		if ref.Kind == servers.Variable && !slices.Contains(ordinary, ref.Name) {
			r.hide(of, ref.Name, value)
			r.hide(of, name, value)
		}
		if !set && r.syntax.Keeps() {
			value = rest[len(before) : len(rest)-len(after)]
		}
		b.WriteString(value)
		rest = after
	}
	if !shown {
		r.hide(of, name, known.String())
	}
	return b.String()
}

// refersToOrdinary reports whether a text refers to something that isn't secret.
func (r *resolver) refersToOrdinary(text string) bool {
	return slices.ContainsFunc(r.syntax.References(text), func(ref servers.Reference) bool {
		return ref.Kind != servers.Variable || slices.Contains(ordinary, ref.Name)
	})
}

// lookup returns what a reference stands for; known is false for a variable that isn't set
// and has no default.
func (r *resolver) lookup(ref servers.Reference) (value string, known bool) {
	switch ref.Kind {
	case servers.Folder:
		return cmp.Or(r.opts.Root, r.opts.Home), true
	case servers.FolderName:
		return filepath.Base(cmp.Or(r.opts.Root, r.opts.Home)), true
	case servers.Home:
		return r.opts.Home, true
	case servers.Separator:
		return "/", true
	case servers.Foreign: // such an entry is only listed
		return "", true
	}
	if ref.HasDefault {
		if value, set := r.get(ref.Name); set {
			return value, true
		}
		return ref.Default, true
	}
	return r.variable(ref.Name)
}

// variable looks up a variable, and records it if it isn't set.
func (r *resolver) variable(name string) (value string, set bool) {
	if value, set = r.get(name); !set && !launch.AgentVariable(name) {
		r.unset = append(r.unset, name)
	}
	return value, set
}

// get looks up a variable. The agent's own ones are withheld.
func (r *resolver) get(name string) (value string, set bool) {
	if launch.AgentVariable(name) {
		r.withheld = append(r.withheld, name)
		return "", false
	}
	if name == projectDir && r.project != "" {
		return r.project, true
	}
	if r.opts.Getenv == nil {
		return "", false
	}
	value, set = r.opts.Getenv(name)
	if !set || strings.IndexByte(value, 0) >= 0 {
		return "", false
	}
	return value, true
}

// References returns the references in a text, in order, in the syntax of a .mcp.json.
func References(text string) []servers.Reference { return servers.ShellSyntax.References(text) }
