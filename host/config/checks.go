package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

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
