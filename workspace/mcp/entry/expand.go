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
	r := &resolver{opts: opts, syntax: e.Syntax, secrets: map[string]bool{}}
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
	x.Secrets = r.found(x)
	x.Unset, x.Withheld = unique(r.unset), unique(r.withheld)
	return x, nil
}

// Secrets returns what of an entry must not be shown although it isn't started or
// dialed: what Expanded.Secrets are, as far as it can be said without a variable of the
// environment.
func (e *Entry) Secrets(opts ExpandOptions) []string {
	opts.Getenv = nil
	r := &resolver{opts: opts, syntax: e.Syntax, secrets: map[string]bool{}}
	x := &Expanded{}
	_, _ = r.program(e, x), r.address(e, x) // whatever is wrong with it
	return r.found(x)
}

// found returns the secrets.
func (r *resolver) found(x *Expanded) []string {
	for _, known := range []string{"", r.opts.Root, r.opts.Home, x.Cwd} { // paths that everybody is shown
		delete(r.secrets, known)
	}
	return slices.Sorted(maps.Keys(r.secrets))
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
	unset, withheld []string
}

func (r *resolver) program(e *Entry, x *Expanded) error {
	x.Command = r.home(r.shown(e.Command))
	for _, arg := range e.Args {
		x.Args = append(x.Args, r.shown(arg))
	}
	for _, secret := range credentials(x.Args) {
		r.secrets[secret] = true
	}
	x.Env = map[string]string{}
	for name, value := range e.Env {
		x.Env[name] = r.hidden(value)
	}
	for _, name := range e.Inherit {
		value, set := r.variable(name)
		if _, given := e.Env[name]; set && !given {
			x.Env[name] = value
			r.secrets[value] = true
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
	dir := r.home(r.shown(given))
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
	x.URL = r.shown(e.URL)
	x.Headers = map[string]string{}
	for name, value := range e.Headers {
		x.Headers[name] = r.hidden(value)
	}
	for name, variable := range e.HeaderVariables {
		scheme, variable, ok := strings.Cut(variable, " ")
		if !ok {
			scheme, variable = "", scheme
		}
		if value, set := r.variable(variable); set {
			x.Headers[name] = strings.TrimPrefix(scheme+" "+value, " ")
			r.secrets[value], r.secrets[x.Headers[name]] = true, true
		}
	}
	// The text of a URL's error repeats the URL.
	u, err := url.Parse(x.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("its url isn't an address that begins with http:// or https://")
	}
	for _, secret := range urlSecrets(u) {
		r.secrets[secret] = true
	}
	for name, value := range x.Headers {
		if strings.ContainsAny(value, "\r\n\x00") {
			return fmt.Errorf("its header %s holds a line break", name)
		}
	}
	return nil
}

// shown expands a text that isn't a secret itself; what its references stand for is.
func (r *resolver) shown(text string) string {
	return r.expand(text, func(value string) { r.secrets[value] = true })
}

// hidden expands the value of a variable or a header, which is a secret, and so is
// what it is made of.
func (r *resolver) hidden(text string) string {
	value := r.shown(text)
	r.secrets[value] = true
	for _, part := range secretParts(value) {
		r.secrets[part] = true
	}
	return value
}

// expand replaces references, and tells used what they stand for.
func (r *resolver) expand(text string, used func(value string)) string {
	var b strings.Builder
	for {
		before, ref, after, ok := r.syntax.Next(text)
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		value := r.lookup(ref)
		if ref.Kind == servers.Variable {
			used(value)
		}
		b.WriteString(value)
		text = after
	}
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
