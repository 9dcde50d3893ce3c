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

// ExpandOptions are what references stand for.
type ExpandOptions struct {
	// Root is the workspace's directory, absolute; empty where there is none. Home
	// is the user's.
	Root, Home string
	// Getenv looks a variable up.
	Getenv func(name string) (value string, set bool)
}

// Expand puts in what references stand for, in the command, arguments, values of
// variables and headers, working directory and URL, in the syntax of the entry: in a
// .mcp.json ${VAR} and ${VAR:-default}. What an entry has from variables by their
// names alone is put in, too. A variable that isn't set has its default, or is empty, as in Coder's agent, and
// Expanded.Unset says so. Of a variable that is set to nothing the default isn't
// taken. Whatever else looks like a reference stands for itself.
//
// The agent's own variables count as unset; see launch.AgentVariable.
//
// The working directory is relative to the workspace, and that itself where none is
// given; the home directory where there is no workspace. It and the command may begin
// with "~/".
//
// # Errors
//
// Say why the entry can't be used. They hold names of variables, and no values.
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

// Secrets returns what Expanded.Secrets and Expanded.Redacted are of an entry that isn't
// started or dialed, as far as it can be said without a variable of the environment.
func (e *Entry) Secrets(opts ExpandOptions) (values, names []string) {
	opts.Getenv = nil
	r := newResolver(e, opts)
	x := &Expanded{}
	_, _ = r.program(e, x), r.address(e, x) // whatever is wrong with it
	return r.found(x)
}

// found returns the secrets, and of what they are.
func (r *resolver) found(x *Expanded) (values, names []string) {
	for _, known := range []string{"", r.opts.Root, r.opts.Home, x.Cwd} { // paths that everybody is shown
		delete(r.secrets, known)
	}
	return slices.Sorted(maps.Keys(r.secrets)), slices.Sorted(maps.Keys(r.redacted))
}

func unique(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// resolver collects what an expansion brings up.
type resolver struct {
	opts            ExpandOptions
	syntax          servers.Syntax
	secrets         map[string]bool
	redacted        map[string]bool
	unset, withheld []string
}

func newResolver(e *Entry, opts ExpandOptions) *resolver {
	return &resolver{opts: opts, syntax: e.Syntax, secrets: map[string]bool{}, redacted: map[string]bool{}}
}

func (r *resolver) program(e *Entry, x *Expanded) error {
	x.Command = r.home(r.expand("command", "", e.Command))
	for _, arg := range e.Args {
		x.Args = append(x.Args, r.expand("arguments", "", arg))
	}
	for i, c := range Credentials(x.Args) {
		if c.Value != "" && !strings.Contains(x.Args[i], "://") && !r.refersToOrdinary(e.Args[i]) {
			r.hide("arguments", "credential", c.Value)
		}
	}
	x.Env = map[string]string{}
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
	case x.Command == "":
		return fmt.Errorf("its command is empty: %s", r.because())
	case runsAgent(x.Command, x.Args):
		return errors.New(listedOwn)
	case x.Cwd == "":
		return errors.New("there is no directory to run it in: neither a workspace nor a home")
	}
	return nil
}

func (r *resolver) because() string {
	if missing := unique(append(r.unset, r.withheld...)); len(missing) > 0 {
		return "not set here are " + strings.Join(missing, ", ")
	}
	return "what it refers to is"
}

// directory returns the working directory, absolute.
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

// home replaces a tilde at the start. Other users' homes aren't looked up.
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
	// The text of a URL's error repeats the URL.
	u, err := url.Parse(x.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("its url isn't an address that begins with http:// or https://")
	}
	for name, value := range x.Headers {
		if strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("its header %s holds a line break", name)
		}
	}
	return nil
}

// hide takes down what of a value is secret, when it is given to a name; of is where it
// is in the entry.
func (r *resolver) hide(of, name, value string) {
	for _, secret := range Secrets(name, value) {
		r.secrets[secret], r.redacted[of] = true, true
	}
}

// expand replaces the references of a text that is given to a name, which is empty where
// it has none, and takes down its secrets. Of a text that refers to what everybody is
// shown these are in what stands between references.
func (r *resolver) expand(of, name, text string) string {
	shown := r.refersToOrdinary(text)
	var b strings.Builder
	for rest := text; ; {
		before, ref, after, ok := r.syntax.Next(rest)
		b.WriteString(before)
		if shown {
			r.hide(of, "", before)
		}
		if !ok {
			break
		}
		value := r.lookup(ref)
		if ref.Kind == servers.Variable && !slices.Contains(ordinary, ref.Name) {
			r.hide(of, ref.Name, value)
			r.hide(of, name, value)
		}
		b.WriteString(value)
		rest = after
	}
	if !shown {
		r.hide(of, name, b.String())
	}
	return b.String()
}

// refersToOrdinary reports whether a text refers to what everybody is shown.
func (r *resolver) refersToOrdinary(text string) bool {
	return slices.ContainsFunc(r.syntax.References(text), func(ref servers.Reference) bool {
		return ref.Kind != servers.Variable || slices.Contains(ordinary, ref.Name)
	})
}

func (r *resolver) lookup(ref servers.Reference) string {
	switch ref.Kind {
	case servers.Folder:
		return cmp.Or(r.opts.Root, r.opts.Home)
	case servers.FolderName:
		return filepath.Base(cmp.Or(r.opts.Root, r.opts.Home))
	case servers.Home:
		return r.opts.Home
	case servers.Separator:
		return "/"
	case servers.Foreign: // the entry is listed
		return ""
	}
	if ref.HasDefault {
		if value, set := r.get(ref.Name); set {
			return value
		}
		return ref.Default
	}
	value, _ := r.variable(ref.Name)
	return value
}

// variable looks a variable up, and takes down that it isn't there.
func (r *resolver) variable(name string) (value string, set bool) {
	if value, set = r.get(name); !set && !launch.AgentVariable(name) {
		r.unset = append(r.unset, name)
	}
	return value, set
}

// get looks a variable up, of which the agent's own are withheld.
func (r *resolver) get(name string) (value string, set bool) {
	if launch.AgentVariable(name) {
		r.withheld = append(r.withheld, name)
		return "", false
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

// References returns the references of a text, in order, as they are written in a
// .mcp.json.
func References(text string) []servers.Reference { return servers.ShellSyntax.References(text) }
