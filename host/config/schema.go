package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/host/vfs"
	"waymark/internal/lazyregexp"
)

// table says what a TOML table may hold: under each key a setter, another
// table, namedTables, or an entryList.
type table map[string]any

// namedTables stands for tables under names that the operator chooses: what each
// may hold, or what is wrong with the name.
type namedTables func(name string) (table, error)

// entryList stands for the [[plugin]] and the [[convention]] entries.
type entryList struct{}

// schema returns the tables of the configuration with setters into c. The
// [[plugin]] entries have their own.
func (c *Config) schema() table {
	return table{
		entriesKey: entryList{},
		"exclude":  setPatterns(&c.Exclude, vfs.CheckExclude),
		"plugins":  table{"dirs": setList(&c.Plugins.Dirs, checkDir)},
		"builtin": table{
			"disable": setList(&c.Builtin.Disable, checkName),
			"config":  setObjects(&c.Builtin.Config),
		},
		"conventions":  c.Conventions.schema(),
		conventionsKey: entryList{},
		"limits":       c.Limits.schema(),
		"snapshot": table{
			// The most is what a hub takes by hash; what another peer doesn't take
			// isn't sent to that one.
			"max_resource_bytes": setBytes(&c.Snapshot.MaxResourceBytes, 1, 256*KiB),
			"max_bytes":          setBytes(&c.Snapshot.MaxBytes, 1, 16*MiB),
			"max_resources":      setCount(&c.Snapshot.MaxResources, 1, 4000),
		},
		"watch": table{
			"quiet":    setDuration(&c.Watch.Quiet, time.Millisecond, 10*time.Second),
			"max_wait": setDuration(&c.Watch.MaxWait, time.Millisecond, time.Minute),
			"recheck":  setDuration(&c.Watch.Recheck, time.Second, time.Hour),
		},
		"push": table{
			"url":        setText(&c.Push.URL, checkURL),
			"token_file": setText(&c.Push.TokenFile, checkFile),
			"agent":      setText(&c.Push.Agent, checkAgent),
			"clients":    setBool(&c.Push.Clients),
		},
		"services": c.Services.schema(),
		"mcp":      c.MCP.schema(),
	}
}

// schema returns the [services] table. A spool has room for a log that somebody
// looks at; the maxima keep a slip of the pen from filling a disk.
func (s *Services) schema() table {
	return table{
		"processes":    setBool(&s.Processes),
		"files":        setBool(&s.Files),
		"git":          setBool(&s.Git),
		"tcp":          setBool(&s.TCP),
		"hub":          setBool(&s.Hub),
		"hide_secrets": setBool(&s.HideSecrets),
		"files_within": setText(&s.FilesWithin, oneOf(FilesAnywhere, FilesWorkspace)),
		"spool":        setBytes(&s.Spool, 64*KiB, 16*GiB),
		"spool_total":  setBytes(&s.SpoolTotal, MiB, 1024*GiB),
		"audit":        setBytes(&s.Audit, 64*KiB, GiB),
	}
}

// schema returns the [limits] table. The hard maxima keep one resolver from
// starving the agent, whatever the operator wrote.
func (l *Limits) schema() table {
	return table{
		"time":       setDuration(&l.Time, time.Millisecond, time.Minute),
		"fuel":       setCount(&l.Fuel, 1_000_000, 100_000_000_000_000),
		"memory":     setBytes(&l.Memory, MiB, GiB),
		"response":   setBytes(&l.Response, KiB, 16*MiB),
		"logs":       setBytes(&l.Logs, KiB, MiB),
		"opens":      setCount(&l.Opens, 1, 65_536),
		"read_bytes": setBytes(&l.ReadBytes, KiB, GiB),
		"entries":    setCount(&l.Entries, 1, 1_000_000),
	}
}

// schema returns the table of one [[plugin]] entry.
func (p *Plugin) schema() table {
	return table{
		"name":          setText(&p.Name, checkName),
		"sha256":        setText(&p.SHA256, checkSHA256),
		"reads":         setPatterns(&p.Reads, checkNarrow),
		"grant_secrets": setList(&p.GrantSecrets, checkName),
		"rank":          setCount(&p.Rank, 1, 10_000),
		"config":        setObjects(&p.Config),
		"limits":        p.Limits.schema(),
	}
}

// setter checks a value as the TOML library decoded it, and stores it. Its
// error begins with what is expected or wrong, and fits after "key: ".
type setter func(value any) error

func setBytes(dst *Bytes, low, high Bytes) setter {
	return func(value any) error {
		var n Bytes
		switch v := value.(type) {
		case int64:
			n = Bytes(v)
		case string:
			var err error
			if n, err = ParseBytes(v); err != nil {
				return err
			}
		default:
			return wrongType("a size like \"64KiB\" or a number of bytes", value)
		}
		if n < low || n > high {
			return outside(n, low, high)
		}
		*dst = n
		return nil
	}
}

func setDuration(dst *time.Duration, low, high time.Duration) setter {
	const example = `a duration with its unit, like "150ms", "2s" or "1m"`
	return func(value any) error {
		s, ok := value.(string)
		if !ok {
			return wrongType(example, value)
		}
		d, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%.60q is not %s", s, example)
		}
		if d < low || d > high {
			return outside(short(d), short(low), short(high))
		}
		*dst = d
		return nil
	}
}

func setCount(dst *int, low, high int) setter {
	return func(value any) error {
		n, ok := value.(int64)
		if !ok {
			return wrongType("a whole number", value)
		}
		if n < int64(low) || n > int64(high) {
			return outside(n, low, high)
		}
		*dst = int(n)
		return nil
	}
}

func setBool(dst *bool) setter {
	return func(value any) error {
		b, ok := value.(bool)
		if !ok {
			return wrongType("true or false", value)
		}
		*dst = b
		return nil
	}
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

func setText(dst *string, check func(string) error) setter {
	return func(value any) error {
		s, ok := value.(string)
		if !ok {
			return wrongType("a string", value)
		}
		if err := check(s); err != nil {
			return err
		}
		*dst = s
		return nil
	}
}

func setList(dst *[]string, check func(string) error) setter {
	return func(value any) error {
		items, ok := value.([]any)
		if !ok {
			return wrongType("a list of strings", value)
		}
		list := make([]string, 0, len(items))
		for _, item := range items {
			s, ok := item.(string)
			if !ok {
				return wrongType("a list of strings", item)
			}
			if err := check(s); err != nil {
				return err
			}
			list = append(list, s)
		}
		*dst = list
		if len(list) == 0 {
			*dst = nil // nil and empty mean the same; only one of them exists
		}
		return nil
	}
}

// setPatterns is setList for patterns, which check bounds together.
func setPatterns(dst *[]string, check func([]string) error) setter {
	set := setList(dst, checkPattern)
	return func(value any) error {
		if err := set(value); err != nil {
			return err
		}
		if e, ok := errors.AsType[*vfs.PatternError](check(*dst)); ok {
			return fmt.Errorf("%.80q %s", e.Pattern, e.Problem)
		}
		return nil
	}
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
