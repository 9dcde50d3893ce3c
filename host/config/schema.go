package config

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/host/vfs"
	"waymark/internal/defaults"
	"waymark/internal/lazyregexp"
)

// table says what a TOML table may hold, in the order of plugin.toml.
type table []row

// row is a name in a table with what it stands for: a key, another table, or
// entries.
type row struct {
	name string
	is   any
}

// of returns what a name stands for; nil when the table hasn't got it.
func (t table) of(name string) any {
	for _, r := range t {
		if r.name == name {
			return r.is
		}
	}
	return nil
}

func (t table) names() []string {
	list := make([]string, len(t))
	for i := range t {
		list[i] = t[i].name
	}
	return list
}

// entries stands for tables that have names: those below mcp.servers, and the [[plugin]]
// and [[convention]] entries.
type entries struct {
	// names are of those that there are, and of returns the keys of one, and those of
	// one that changes nothing.
	names []string
	of    func(name string) (have, fresh table)
	// open returns what the table of a name is read into, or what is wrong with the name.
	// It is nil for [[entries]], which applyEntries and applyConventions read.
	open func(name string) (table, error)
}

// schema returns the tables of the configuration with keys of c.
func (c *Config) schema() table {
	return table{
		{"exclude", setPatterns(&c.Exclude, union, vfs.CheckExclude)},
		{"plugins", table{{"dirs", setList(&c.Plugins.Dirs, intersection, checkDir)}}},
		{"builtin", table{
			{"disable", setList(&c.Builtin.Disable, union, checkName)},
			{"config", setObjects(&c.Builtin.Config, later)},
		}},
		{"conventions", c.Conventions.schema()},
		{conventionsKey, c.conventionList()},
		{"limits", c.Limits.schema()},
		{"snapshot", table{
			// The most is what a hub takes; what another peer doesn't take
			// isn't sent to that one.
			{"max_resource_bytes", setBytes(&c.Snapshot.MaxResourceBytes, least, 1, 256*KiB)},
			{"max_bytes", setBytes(&c.Snapshot.MaxBytes, least, 1, 16*MiB)},
			{"max_resources", setCount(&c.Snapshot.MaxResources, least, 1, 4000)},
		}},
		{"watch", table{
			{"quiet", setDuration(&c.Watch.Quiet, later, time.Millisecond, 10*time.Second)},
			{"max_wait", setDuration(&c.Watch.MaxWait, later, time.Millisecond, time.Minute)},
			{"recheck", setDuration(&c.Watch.Recheck, later, time.Second, time.Hour)},
		}},
		{"push", table{
			{"url", setText(&c.Push.URL, later, checkURL)},
			{"token_file", setText(&c.Push.TokenFile, later, checkFile)},
			{"agent", setText(&c.Push.Agent, later, checkAgent)},
			{"clients", setBool(&c.Push.Clients, least)},
		}},
		{"services", c.Services.schema()},
		{"mcp", c.MCP.schema()},
		{entriesKey, c.pluginList()},
	}
}

// schema returns the [services] table. A spool has room for a log that somebody
// looks at; the maxima keep a slip of the pen from filling a disk. Of the audit log a
// user can keep more, and not less.
func (s *Services) schema() table {
	return table{
		{"processes", setBool(&s.Processes, least)},
		{"files", setBool(&s.Files, least)},
		{"git", setBool(&s.Git, least)},
		{"tcp", setBool(&s.TCP, least)},
		{"hub", setBool(&s.Hub, least)},
		{"hide_secrets", setBool(&s.HideSecrets, most)},
		{"files_within", setWord(&s.FilesWithin, least, FilesWorkspace, FilesAnywhere)},
		{"spool", setBytes(&s.Spool, least, 64*KiB, 16*GiB)},
		{"spool_total", setBytes(&s.SpoolTotal, least, MiB, 1024*GiB)},
		{"audit", setBytes(&s.Audit, most, 64*KiB, GiB)},
	}
}

// schema returns the [limits] table. The hard maxima keep one resolver from
// starving the agent, whatever the operator wrote.
func (l *Limits) schema() table {
	return table{
		{"time", setDuration(&l.Time, least, time.Millisecond, time.Minute)},
		{"fuel", setCount(&l.Fuel, least, 1_000_000, 100_000_000_000_000)},
		{"memory", setBytes(&l.Memory, least, MiB, GiB)},
		{"response", setBytes(&l.Response, least, KiB, 16*MiB)},
		{"logs", setBytes(&l.Logs, least, KiB, MiB)},
		{"opens", setCount(&l.Opens, least, 1, 65_536)},
		{"read_bytes", setBytes(&l.ReadBytes, least, KiB, GiB)},
		{"entries", setCount(&l.Entries, least, 1, 1_000_000)},
	}
}

// schema returns the table of one [[plugin]] entry.
func (p *Plugin) schema() table {
	return table{
		{"name", setText(&p.Name, later, checkName)},
		{"sha256", setText(&p.SHA256, machine, checkSHA256)},
		{"reads", setNarrow(&p.Reads)},
		{"grant_secrets", setList(&p.GrantSecrets, intersection, checkName)},
		{"rank", setCount(&p.Rank, later, 1, 10_000)},
		{"config", setObjects(&p.Config, later)},
		{"limits", p.Limits.schema()},
	}
}

// pluginList is the [[plugin]] entries that there are.
func (c *Config) pluginList() entries {
	var l entries
	for i := range c.Entries {
		l.names = append(l.names, c.Entries[i].Name)
	}
	l.of = func(name string) (have, fresh table) {
		e := c.Entry(name)
		return e.schema(), (&Plugin{Name: name, Rank: defaults.Rank}).schema()
	}
	return l
}

func setBytes(dst *Bytes, j join, low, high Bytes) key {
	return ordered(dst, j, func(value any) (n Bytes, err error) {
		switch v := value.(type) {
		case int64:
			n = Bytes(v)
		case string:
			if n, err = ParseBytes(v); err != nil {
				return 0, err
			}
		default:
			return 0, wrongType("a size like \"64KiB\" or a number of bytes", value)
		}
		if n < low || n > high {
			return 0, outside(n, low, high)
		}
		return n, nil
	}, cmp.Compare)
}

func setDuration(dst *time.Duration, j join, low, high time.Duration) key {
	const example = `a duration with its unit, like "150ms", "2s" or "1m"`
	return ordered(dst, j, func(value any) (time.Duration, error) {
		s, ok := value.(string)
		if !ok {
			return 0, wrongType(example, value)
		}
		d, err := time.ParseDuration(s)
		if err != nil {
			return 0, fmt.Errorf("%.60q is not %s", s, example)
		}
		if d < low || d > high {
			return 0, outside(short(d), short(low), short(high))
		}
		return d, nil
	}, cmp.Compare)
}

func setCount(dst *int, j join, low, high int) key {
	return ordered(dst, j, func(value any) (int, error) {
		n, ok := value.(int64)
		if !ok {
			return 0, wrongType("a whole number", value)
		}
		if n < int64(low) || n > int64(high) {
			return 0, outside(n, low, high)
		}
		return int(n), nil
	}, cmp.Compare)
}

// setBool's least is false.
func setBool(dst *bool, j join) key {
	return ordered(dst, j, func(value any) (bool, error) {
		b, ok := value.(bool)
		if !ok {
			return false, wrongType("true or false", value)
		}
		return b, nil
	}, func(a, b bool) int {
		switch {
		case a == b:
			return 0
		case b:
			return -1
		}
		return 1
	})
}

// setWord is for one of a few words, of which the first is the least.
func setWord[T ~string](dst *T, j join, known ...T) key {
	return ordered(dst, j, func(value any) (T, error) {
		s, ok := value.(string)
		if !ok {
			return "", wrongType("a string", value)
		}
		return T(s), oneOf(texts(known)...)(s)
	}, func(a, b T) int { return cmp.Compare(slices.Index(known, a), slices.Index(known, b)) })
}

func outside(value, low, high any) error {
	return fmt.Errorf("%v is outside the range from %v to %v", value, low, high)
}

// short writes a duration as a person would: 1m, not 1m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func setText(dst *string, j join, check func(string) error) key {
	return ordered(dst, j, func(value any) (string, error) {
		s, ok := value.(string)
		if !ok {
			return "", wrongType("a string", value)
		}
		return s, check(s)
	}, strings.Compare)
}

// setList is for a list of strings, of which each must be right.
func setList(dst *[]string, j join, check func(string) error) typed[[]string] {
	return list(dst, j, func(value any) ([]string, error) {
		items, ok := value.([]any)
		if !ok {
			return nil, wrongType("a list of strings", value)
		}
		var list []string // nil and empty mean the same; only one of them exists
		for _, item := range items {
			s, ok := item.(string)
			if !ok {
				return nil, wrongType("a list of strings", item)
			}
			if err := check(s); err != nil {
				return nil, err
			}
			list = append(list, s)
		}
		return list, nil
	}, func(a, b string) bool { return a == b })
}

// setPatterns is setList for patterns, which check bounds together.
func setPatterns(dst *[]string, j join, check func([]string) error) typed[[]string] {
	k := setList(dst, j, checkPattern)
	k.check = func(list []string) error {
		if e, ok := errors.AsType[*vfs.PatternError](check(list)); ok {
			return fmt.Errorf("%.80q %s", e.Pattern, e.Problem)
		}
		return nil
	}
	return k
}

// setNarrow is setPatterns for those that narrow a plugin's reads; without any all is
// read.
func setNarrow(dst *[]string) key {
	return choice(setPatterns(dst, intersection, checkNarrow), coversPaths)
}

// checkNarrow says what is wrong with patterns that narrow a plugin's reads.
func checkNarrow(list []string) error {
	_, err := vfs.View{Narrow: list}.Compile()
	return err
}

func wrongType(want string, got any) error {
	return fmt.Errorf("%s is expected, not %s", want, typeName(got))
}

// typeName names a TOML type for a person.
func typeName(value any) string {
	switch value.(type) {
	case string:
		return "a string"
	case int64:
		return "a number"
	case float64:
		return "a number with a fraction"
	case bool:
		return "true or false"
	case time.Time:
		return "a date or time"
	case []any, []map[string]any:
		return "a list"
	case map[string]any:
		return "a table"
	}
	return "that"
}

var errEmpty = errors.New("it must not be empty")

// nameMax bounds names of modules, resolvers and secret-list entries, in
// bytes: longer ones can't exist.
const nameMax = 256

func checkName(s string) error {
	if s == "" {
		return errEmpty
	}
	if len(s) > nameMax {
		return fmt.Errorf("a name has at most %d bytes", nameMax)
	}
	return checkPrintable(s)
}

// checkPattern accepts what can match a path below a root. Patterns are
// compared with clean relative paths, so another form would silently match
// nothing.
func checkPattern(s string) error {
	switch {
	case s == "":
		return errEmpty
	case !doublestar.ValidatePattern(s):
		return fmt.Errorf("%.80q is not a pattern: check its brackets and braces", s)
	case strings.HasPrefix(s, "/"):
		return fmt.Errorf("%.80q begins with \"/\": patterns are relative to each root", s)
	case strings.HasSuffix(s, "/"):
		return fmt.Errorf("%.80q ends with \"/\" and matches nothing: write %q for everything below", s, s+"**")
	case path.Clean(s) != s || s == "." || s == ".." || strings.HasPrefix(s, "../"):
		return fmt.Errorf("%.80q matches nothing: leave out \".\", \"..\" and doubled slashes", s)
	}
	return checkPrintable(s)
}

// checkDir accepts a directory that means the same wherever the agent was
// started: nothing in a workspace may name a plugin.
func checkDir(s string) error {
	if err := checkFile(s); err != nil {
		return err
	}
	if s == "" {
		return errEmpty
	}
	return nil
}

// checkFile is checkDir for a path that may be left empty.
func checkFile(s string) error {
	if s != "" && !filepath.IsAbs(s) && !strings.HasPrefix(s, "~/") {
		return fmt.Errorf("%.80q is relative: write a path that begins with \"/\" or \"~/\"", s)
	}
	return checkPrintable(s)
}

// checkURL accepts what can be a URL at all. Which schemes there are is for
// the dialer to say.
func checkURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme == "":
		return errors.New("it is not a URL: write one like \"https://hub.example.com\" or \"unix:/run/waymark/hub.sock\"")
	case u.User != nil:
		// Not echoed: what stands there may be a password.
		return errors.New("a URL with a user or password is refused: put the token into a file and name it in push.token_file")
	case u.Host == "" && u.Path == "" && u.Opaque == "":
		return fmt.Errorf("%.80q names no host and no path", s)
	}
	return nil
}

// agentID is what a hub takes for the id of an agent.
var agentID = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._@:-]{0,127}$`)

func checkAgent(s string) error {
	if s != "" && !agentID().MatchString(s) {
		return fmt.Errorf("%.80q isn't the id of an agent: letters, digits and . _ @ : -, at most 128 of them; 'hub token list' shows it", s)
	}
	return nil
}

func checkSHA256(s string) error {
	if b, err := hex.DecodeString(s); s != "" && (err != nil || len(b) != 32 || strings.ToLower(s) != s) {
		return errors.New("64 lower-case hexadecimal digits are expected, as `sha256sum` prints them, or \"\"")
	}
	return nil
}

func checkPrintable(s string) error {
	if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		return fmt.Errorf("%.80q holds a control character", s)
	}
	return nil
}
