package snapshot

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"waymark/abi"
)

// Hash is a content hash or an aggregate hash: SHA-256, in JSON as
// lower-case hexadecimal. Nil means that there is none.
type Hash []byte

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil {
		return fmt.Errorf("hash %.80q: %w", text, err)
	}
	if len(b) == 0 {
		b = nil
	}
	*h = b
	return nil
}

// Attributes are the attributes a resolver gave a resource.
type Attributes map[string]Attribute

// Attribute is the value of one attribute: a string, or a list of strings
// when List isn't nil. In JSON it is exactly that.
type Attribute abi.Value

// Equal reports whether both are the same string, or the same list.
func (a Attribute) Equal(other Attribute) bool {
	return a.Text == other.Text &&
		(a.List == nil) == (other.List == nil) &&
		slices.Equal(a.List, other.List)
}

// MarshalJSON implements json.Marshaler.
func (a Attribute) MarshalJSON() ([]byte, error) {
	if a.List != nil {
		return json.Marshal(a.List)
	}
	return json.Marshal(a.Text)
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *Attribute) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '[' {
		*a = Attribute{List: []string{}}
		return json.Unmarshal(data, &a.List)
	}
	*a = Attribute{}
	return json.Unmarshal(data, &a.Text)
}
