package approval

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"waymark/internal/credential"
	"waymark/internal/text"
)

// The bounds of an approval.
const (
	// MaxSigned bounds a signed approval, in bytes.
	MaxSigned = 16 << 10
	// MaxLife bounds the time from Issued to Expires, so that the approvals of a person who
	// has left, or lost a key, end within a year.
	MaxLife = 366 * 24 * time.Hour
	// Skew is how far an agent's clock may be behind the signer's.
	Skew = 5 * time.Minute

	maxText  = 256  // of a name and an agent's id, in bytes
	maxPath  = 4096 // PATH_MAX
	maxItems = 256  // of each list
)

// Approval lets a server start on the agents that it names.
type Approval struct {
	// ID identifies this approval, for revoking it: 1 to 64 letters, digits, "-" and "_".
	ID string `json:"id"`
	// Name is the server's, for people; it decides nothing.
	Name string `json:"name,omitempty"`
	// Definition is the digest of the definition: "sha256:" and 64 hexadecimal digits.
	Definition string `json:"definition"`
	// Agents are the ids of the agents that it is for; empty means all.
	Agents []string `json:"agents,omitempty"`
	// Issued and Expires are whole seconds. The approval is valid from Issued until just
	// before Expires.
	Issued  time.Time `json:"issued"`
	Expires time.Time `json:"expires"`
	// Widening is what the server may do beyond its profile. A server without a profile can't
	// be approved with one.
	Widening Widening `json:"widening,omitzero"`
}

// Widening is what a server may do beyond its profile; see workspace/launch, which defines
// these fields.
type Widening struct {
	// Read and Write are paths, absolute or relative to the workspace.
	Read  []string `json:"read,omitempty"`
	Write []string `json:"write,omitempty"`
	// Ports restricts TCP to these; nil leaves it open, and an empty list closes it.
	Ports []uint16 `json:"ports,omitzero"`
	// Unix allows Unix sockets by path.
	Unix bool `json:"unix,omitempty"`
	// Env are names of the agent's variables that the server gets, too.
	Env []string `json:"env,omitempty"`
}

// Reasons why an approval isn't valid; see At.
var (
	ErrExpired = errors.New("the approval has expired")
	ErrNotYet  = errors.New("the approval isn't valid yet; check the clocks of this machine and of the one that signed it")
)

// At returns nil if the approval is valid at that time, and else ErrExpired or ErrNotYet.
func (a *Approval) At(now time.Time) error {
	switch {
	case credential.Expired(now, a.Expires):
		return ErrExpired
	case now.Add(Skew).Before(a.Issued):
		return ErrNotYet
	}
	return nil
}

// For reports whether the approval is for an agent with one of these ids. Without an id, only
// approvals for all agents are.
func (a *Approval) For(ids ...string) bool {
	return len(a.Agents) == 0 || slices.ContainsFunc(ids, func(id string) bool {
		return id != "" && slices.Contains(a.Agents, id)
	})
}

// NewID returns a unique id.
func NewID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

var (
	idPattern         = text.Lazy(`^[A-Za-z0-9_-]{1,64}$`)
	definitionPattern = text.Lazy(`^sha256:[0-9a-f]{64}$`)
	variablePattern   = text.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// maxVariable bounds a name, in bytes. A count in the regular expression would make it large,
// and it is compiled at every start.
const maxVariable = 256

func isVariable(name string) bool {
	return len(name) <= maxVariable && variablePattern().MatchString(name)
}

// Check returns what is wrong with the approval.
func (a *Approval) Check() error {
	switch {
	case !idPattern().MatchString(a.ID):
		return errors.New("the id of an approval has 1 to 64 letters, digits, \"-\" and \"_\"")
	case !readable(a.Name) || len(a.Name) > maxText:
		return fmt.Errorf("the name isn't a text of at most %d bytes", maxText)
	case !definitionPattern().MatchString(a.Definition):
		return errors.New("the definition isn't \"sha256:\" and 64 hexadecimal digits; 'agent mcp show' prints it")
	}
	if err := a.checkTimes(); err != nil {
		return err
	}
	if err := checkList("agents", a.Agents, func(id string) bool { return readable(id) && len(id) <= maxText }); err != nil {
		return err
	}
	return a.Widening.check()
}

func (a *Approval) checkTimes() error {
	for _, t := range []time.Time{a.Issued, a.Expires} {
		if t.Location() != time.UTC || t.Nanosecond() != 0 || t.Year() < 2000 || t.Year() > 9999 {
			return errors.New("the times of an approval are whole seconds of UTC")
		}
	}
	switch life := a.Expires.Sub(a.Issued); {
	case life <= 0:
		return errors.New("the approval expires before it is issued")
	case life > MaxLife:
		return fmt.Errorf("the approval lasts %d days, and may last %d", life/(24*time.Hour), MaxLife/(24*time.Hour))
	}
	return nil
}

func (w *Widening) check() error {
	for name, list := range map[string][]string{"paths to read": w.Read, "paths to write": w.Write} {
		if err := checkList(name, list, cleanPath); err != nil {
			return err
		}
	}
	if err := checkList("ports", w.Ports, func(p uint16) bool { return p != 0 }); err != nil {
		return err
	}
	return checkList("variables", w.Env, isVariable)
}

// checkList checks each element of a list, and that there are no duplicates.
func checkList[T comparable](name string, list []T, good func(T) bool) error {
	if len(list) > maxItems {
		return fmt.Errorf("an approval has at most %d %s", maxItems, name)
	}
	for i, item := range list {
		if !good(item) {
			return fmt.Errorf("among the %s, number %d isn't one", name, i+1)
		}
		if slices.Contains(list[:i], item) {
			return fmt.Errorf("among the %s, number %d is there twice", name, i+1)
		}
	}
	return nil
}

// cleanPath reports whether p is a clean path that doesn't lead out of its start.
func cleanPath(p string) bool {
	return readable(p) && p != "" && len(p) <= maxPath && path.Clean(p) == p && p != ".." && !strings.HasPrefix(p, "../")
}

// readable reports whether a signer can see all of a text.
func readable(s string) bool { return utf8.ValidString(s) && text.Printable(s) == s }
