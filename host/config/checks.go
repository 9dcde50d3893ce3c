package config

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/internal/text"
	"waymark/wire/approval"
)

// check is what a text must be, or each item of a list, by the name that a tag has for it.
type check struct {
	each func(string) error
	all  func([]string) error // of the list; may be nil
	// covers says whether an item of the machine's allows one of the user's; nil is that
	// they are equal.
	covers func(machine, own string) bool
}

var checks = map[string]check{
	"agent":      {each: checkAgent},
	"definition": {each: checkDefinition},
	"dir":        {each: checkDir},
	"exclude":    {each: checkPattern, all: patterns(vfs.CheckExclude)},
	"file":       {each: checkFile},
	"key":        {each: checkKey},
	"name":       {each: checkName},
	"narrow":     {each: checkPattern, all: patterns(func(list []string) error { return compiles(vfs.View{Narrow: list}) }), covers: coversPaths},
	"places":     {each: checkPlace, all: checkPlaces},
	"reach":      {each: checkReach},
	"readers":    {each: checkWord, all: atMost(abi.MaxReaders)},
	"sha256":     {each: checkSHA256},
	"tools":      {each: checkTools, covers: coversTools},
	"url":        {each: checkURL},
	"variable":   {each: checkVariable},
	"word":       {each: checkWord},
}

// patterns words what is wrong with patterns that are bounded together.
func patterns(check func([]string) error) func([]string) error {
	return func(list []string) error {
		if e, ok := errors.AsType[*vfs.PatternError](check(list)); ok {
			return fmt.Errorf("%.80q %s", e.Pattern, e.Problem)
		}
		return nil
	}
}

func compiles(v vfs.View) error {
	_, err := v.Compile()
	return err
}

// maxPlaces bounds the places of one convention: all are looked at in every root.
const maxPlaces = 32

// checkPlaces is about places as the resolvers read them, which compare name by name.
func checkPlaces(list []string) error {
	if err := atMost(maxPlaces)(list); err != nil {
		return err
	}
	return patterns(func(list []string) error { return compiles(vfs.View{Reads: list}) })(list)
}

func atMost(n int) func([]string) error {
	return func(list []string) error {
		if len(list) > n {
			return fmt.Errorf("there are %d, at most %d are taken", len(list), n)
		}
		return nil
	}
}

func checkWord(s string) error {
	if !abi.IsWord(s) {
		return fmt.Errorf("%.80q is not lower-case words joined by hyphens, of at most %d bytes", s, abi.MaxWord)
	}
	return nil
}

// oneOf accepts these texts.
func oneOf(known []string) func(string) error {
	return func(s string) error {
		if slices.Contains(known, s) {
			return nil
		}
		if best := text.Nearest(s, known); best != "" {
			return fmt.Errorf("%.80q is not known: did you mean %q?", s, best)
		}
		return fmt.Errorf("%.80q is not known: write one of %s", s, strings.Join(known, ", "))
	}
}

func checkPlace(s string) error {
	if err := checkPattern(s); err != nil {
		return err
	}
	first, _, _ := strings.Cut(s, "/")
	switch {
	case strings.ContainsAny(s, `{}[]\`):
		return fmt.Errorf("%.80q has braces, brackets or a backslash: write a place for each, with * and ** alone", s)
	case first == "**":
		return fmt.Errorf("%.80q would search all of a root: begin with a directory", s)
	case path.Base(s) == "**":
		return fmt.Errorf("%.80q names no file: write %q for all below", s, s+"/*")
	}
	return nil
}

// checkTools accepts a pattern of a server or of SERVER__TOOL.
func checkTools(s string) error {
	switch {
	case s == "":
		return errEmpty
	case !doublestar.ValidatePattern(s):
		return fmt.Errorf("%.80q is not a pattern: check its brackets and braces", s)
	case len(s) > nameMax:
		return fmt.Errorf("a pattern has at most %d bytes", nameMax)
	}
	return checkPrintable(s)
}

// checkServer accepts the name of a server as configuration files may have it.
func checkServer(s string) error {
	if err := checkName(s); err != nil {
		return err
	}
	if strings.Contains(s, "__") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") {
		return errors.New("the name of a server has no \"__\" and no \"_\" at an end: its tools are called SERVER__TOOL")
	}
	return nil
}

var definition = text.Lazy(`^sha256:[0-9a-f]{64}$`)

func checkDefinition(s string) error {
	if !definition().MatchString(s) {
		return fmt.Errorf("%.80q is not \"sha256:\" and 64 lower-case hexadecimal digits: 'agent mcp show NAME' prints the definition", s)
	}
	return nil
}

func checkKey(s string) error {
	// PEM is understood, too, and would be another way to write the same.
	if raw, err := base64.StdEncoding.Strict().DecodeString(s); err != nil || len(raw) != 32 {
		return errors.New("it is not the 32 bytes of an Ed25519 public key as base64: 'hub approvals keygen' prints one")
	}
	_, err := approval.ParsePublicKey(s)
	return err
}

// checkReach accepts a path that a server may be let to.
func checkReach(s string) error {
	switch {
	case s == "":
		return errEmpty
	case strings.HasPrefix(s, "~/"), s == "~":
	case filepath.IsAbs(s):
	case path.Clean(s) == ".." || strings.HasPrefix(path.Clean(s), "../"):
		return fmt.Errorf("%.80q leads out of the workspace: write an absolute path", s)
	}
	return checkPrintable(s)
}

var variable = text.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)

func checkVariable(s string) error {
	if !variable().MatchString(s) {
		// Not echoed: it may be NAME=VALUE.
		return errors.New("it is not the name of a variable: values have no place here")
	}
	return nil
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
var agentID = text.Lazy(`^[A-Za-z0-9][A-Za-z0-9._@:-]{0,127}$`)

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
