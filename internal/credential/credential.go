// Package credential defines the form of Waymark's secrets, how they are made, stored and
// compared, and how long they are valid.
//
// Each kind is a [Kind], declared below: its prefix, its random bits, who keeps it and who
// checks it. What concerns one kind only, such as the scope of a token, is left to the code
// that checks it.
//
// # Guarantees
//
//   - A text of one kind never has the form of another. If a text of another kind is given,
//     [Kind.Parse] says which.
//   - No error of this package repeats a secret.
//   - Valid means the same everywhere: not revoked, and before the end. A secret isn't valid
//     at its end; the zero time means no end. See [Valid].
//   - A secret that is stored as a hash is checked by looking up its hash. That needs no
//     constant time: the duration of a comparison reveals something of a hash, and nothing of
//     the random text behind it. Texts are compared with [Same].
//
// # Limits
//
// Some secrets have other forms and are made elsewhere: the key of the supervisor's
// handshake, which never leaves the machine and is proved by HMAC; that of sealed caches; and
// the signed approvals of package approval, whose signature isn't secret. The same rule of
// validity applies to them, with one exception: an approval for the development of an MCP
// server must have an end.
package credential

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// Kind is a kind of secret text. The zero value has none.
type Kind struct {
	// Name is for people, with its article.
	Name string
	// Prefix begins each text, so that people and secret scanners recognize it.
	Prefix string
	// letters are 64 or 32, so that each is 6 or 5 random bits; length is how many follow the
	// prefix, or at least how many if longest is set.
	letters         string
	length, longest int
	// typed texts are read from paper: they have groups of letters, and similar-looking
	// letters count as the same.
	typed bool
	// Life is how long one is valid unless its maker says otherwise; 0 means no end.
	Life time.Duration
}

const (
	base64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	base64Std = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	// crockford is base32 without letters that look like others.
	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

	full = 43 // letters, which are 32 bytes in base64url
	// maxGaps is how many blanks and hyphens a typed text may have: with more it could be the
	// code of a link.
	maxGaps = 8
	// longest keeps absurd texts out of the hash function.
	longest = 252
)

// letterNames are for errors.
var letterNames = map[string]string{base64URL: "base64url (letters, digits, - and _)", base64Std: "base64", crockford: "Crockford's base32"}

// Tokens of a hub, one kind for each role. The hub's database has their hashes, and the hub
// looks them up at each call. They may be longer than those made here, because an
// administrator can provide them in a file.
var (
	AgentToken    = Kind{Name: "a token of role agent", Prefix: "wma_", letters: base64URL, length: full, longest: longest}
	ReaderToken   = Kind{Name: "a token of role reader", Prefix: "wmr_", letters: base64URL, length: full, longest: longest}
	OperatorToken = Kind{Name: "a token of role operator", Prefix: "wmo_", letters: base64URL, length: full, longest: longest}
)

// Other secrets that a hub makes and checks.
var (
	// Session is a browser's cookie; its hash is in the database. It lasts a working day,
	// whatever the browser does, and ends with the token that it was made with.
	Session = Kind{Name: "a browser's session", Prefix: "wms_", letters: base64URL, length: full, Life: 12 * time.Hour}
	// LoginCode is in a link that signs a browser in, once. The hub's memory has the hash. It
	// has no prefix, because the link identifies it, and is short, so that the link fits into
	// a line; 132 bits are enough. Life is long enough to change from a terminal to a
	// browser.
	LoginCode = Kind{Name: "a code of a login link", letters: base64URL, length: 22, Life: 10 * time.Minute}
	// EnrollmentKey and EnrollmentCode make agents, as often as they say; the database has
	// their hashes. People type a code: 65 bits are enough for the time it takes to walk to
	// another machine.
	EnrollmentKey  = Kind{Name: "an enrollment key", Prefix: "wme_", letters: base64URL, length: full, Life: 30 * 24 * time.Hour}
	EnrollmentCode = Kind{Name: "an enrollment code", letters: crockford, length: 13, typed: true, Life: 10 * time.Minute}
	// HubSecret authenticates hubs over one database to each other. The database has the
	// text: anybody who can read it there can read all that it protects. It is new with each
	// start of a hub.
	HubSecret = Kind{Name: "a hub's secret", Prefix: "wmh_", letters: base64URL, length: full}
	// WebhookSecret signs what a webhook is sent, in the form of Standard Webhooks. The
	// database has the text, because signing needs it. The length avoids padding in base64.
	WebhookSecret = Kind{Name: "a webhook's secret", Prefix: "whsec_", letters: base64Std, length: 44}
)

// Secrets that the agent of a workspace makes and checks.
var (
	// LocalToken is in a file that only the user can read: the control token, and those that
	// --listen-token-file and --http-token-file create if there is no file. An existing file
	// may have a text of the user's own. The agent has the text in memory.
	LocalToken = Kind{Name: "a token of an agent's file", Prefix: "wmk_", letters: base64URL, length: full}
	// MintedToken grants a part of what the control token does, Capability the same for a
	// chat through a hub. A file of the workspace's state has their hashes. Life is a working
	// day, so that a forgotten one doesn't last until tomorrow.
	MintedToken = Kind{Name: "a token of 'agent token create'", Prefix: "wm_", letters: base64URL, length: full, Life: 8 * time.Hour}
	Capability  = Kind{Name: "a chat's capability", Prefix: "wmc_", letters: base64URL, length: full, Life: 8 * time.Hour}
	// LentToken authenticates one part of the agent to another, for the time of one call. The
	// agent's memory has the hash.
	LentToken = Kind{Name: "a token for one call", Prefix: "wml_", letters: base64URL, length: full}
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		AgentToken, ReaderToken, OperatorToken, Session, LoginCode, EnrollmentKey, EnrollmentCode, HubSecret, WebhookSecret,
		LocalToken, MintedToken, Capability, LentToken,
	}
}

// Bits is how many random bits a text has.
func (k Kind) Bits() int { return k.length * (bits.Len(uint(len(k.letters))) - 1) }

// New returns a new random text.
func (k Kind) New() string {
	random := make([]byte, k.length)
	_, _ = rand.Read(random) // never fails
	for i, b := range random {
		random[i] = k.letters[int(b)%len(k.letters)]
	}
	if k.typed {
		return fmt.Sprintf("%s-%s-%s", random[:4], random[4:8], random[8:])
	}
	return k.Prefix + string(random)
}

// asTyped removes the separators from a typed text, and replaces letters that aren't in
// crockford.
var asTyped = strings.NewReplacer("-", "", " ", "", "O", "0", "I", "1", "L", "1")

// Parse returns a text of this kind in the form that is hashed, which for all but typed ones
// is the text itself.
//
// # Errors
//
// What is wrong with its form, and which other kind it is, if any.
func (k Kind) Parse(text string) (string, error) {
	if k.typed && len(text) <= k.length+maxGaps {
		text = asTyped.Replace(strings.ToUpper(text))
	}
	secret, ok := strings.CutPrefix(text, k.Prefix)
	switch other := Of(text); {
	case !ok && other.Prefix != "":
		return "", fmt.Errorf("%s begins with %s, and this is %s", k.Name, k.Prefix, other.Name)
	case !ok:
		return "", fmt.Errorf("%s begins with %s", k.Name, k.Prefix)
	case len(secret) < k.length:
		return "", fmt.Errorf("%s has at least %d characters after %q, and this has %d", k.Name, k.length, k.Prefix, len(secret))
	case len(secret) > max(k.length, k.longest):
		return "", fmt.Errorf("%s has at most %d characters after %q", k.Name, max(k.length, k.longest), k.Prefix)
	case strings.Trim(secret, k.letters) != "":
		return "", fmt.Errorf("%s has a character that isn't one of %s", k.Name, letterNames[k.letters])
	}
	return text, nil
}

// Is reports whether text has the form of this kind.
func (k Kind) Is(text string) bool {
	_, err := k.Parse(text)
	return err == nil
}

// Of returns the kind whose prefix a text begins with; the zero Kind for none.
func Of(text string) Kind {
	for _, k := range Kinds() {
		if k.Prefix != "" && strings.HasPrefix(text, k.Prefix) {
			return k
		}
	}
	return Kind{}
}

// Hash is what is stored of a secret that is only looked up: the SHA-256 of its text. All of
// them have too many random bits for a slow hash to help.
type Hash [sha256.Size]byte

// HashOf returns the hash of a text.
func HashOf(text string) Hash { return sha256.Sum256([]byte(text)) }

// MarshalText implements encoding.TextMarshaler, in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	sum, err := hex.DecodeString(string(text))
	if err != nil || copy(h[:], sum) != len(h) || len(sum) != len(h) {
		return fmt.Errorf("this is not SHA-256 in hexadecimal")
	}
	return nil
}

// Same reports whether shown is the secret, in a time that reveals nothing of it. It is false
// if there is no secret.
func Same(shown, secret string) bool {
	a, b := HashOf(shown), HashOf(secret) // hashing hides even the length
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && secret != ""
}

// Expired reports whether end has been reached. The zero time never is.
func Expired(now, end time.Time) bool { return !end.IsZero() && !now.Before(end) }

// Valid reports whether something is valid now that ends at end, and was revoked at revoked
// unless that is zero.
func Valid(now, end, revoked time.Time) bool { return revoked.IsZero() && !Expired(now, end) }

// Sooner returns the earlier end.
func Sooner(a, b time.Time) time.Time {
	if a.IsZero() || Expired(a, b) {
		return b
	}
	return a
}
