package mcpserving

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// Mend returns an input schema that clients and models accept, and what is wrong with the
// server's, for people. It returns nil for a tool that has to be held back, because the
// intended arguments are unknown. The protocol requires every tool to take an object.
func Mend(raw json.RawMessage) (mended json.RawMessage, wrong []string) {
	if len(raw) == 0 {
		return json.RawMessage(`{"type":"object"}`), []string{"it has none"}
	}
	var root map[string]any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&root) != nil || root == nil || !readable(raw) {
		return nil, []string{"it isn't an object, or holds a number that can't be read"}
	}
	m := mender{root: root}
	for range maxPasses { // what is left out may be what a reference means
		before := m.changes
		if m.top(); m.changes == before {
			break
		}
	}
	switch {
	case m.unknown != "":
		return nil, []string{m.unknown}
	case len(m.wrong) == 0:
		return raw, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(root); err != nil {
		return nil, []string{"it can't be written"}
	}
	return bytes.TrimSpace(b.Bytes()), m.wrong
}

// maxPasses is enough for all but references to references that are left out.
const maxPasses = 5

// readable reports whether readers with floating-point numbers can read it.
func readable(raw []byte) bool {
	var v any
	return json.Unmarshal(raw, &v) == nil
}

// nothing reports whether a value is what some languages encode for an empty object.
func nothing(v any) bool {
	list, ok := v.([]any)
	return v == nil || ok && len(list) == 0
}

// maxName is what clients leave of the 64 characters that models' APIs take of a name, after
// their own prefix, such as mcp__waymark__.
const maxName = 50

// Name returns a name for a tool that clients and models accept: letters, digits, "_" and "-".
// It is the tool's own if that is such a name; otherwise it ends with a digest of it, so that
// two tools never share one.
func Name(name string) string {
	other := func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}
	made := strings.Map(other, name)
	if made == name && len(name) <= maxName && name != "" {
		return name
	}
	const digits = 8
	sum := sha256.Sum256([]byte(name))
	return made[:min(len(made), maxName-1-digits)] + "_" + hex.EncodeToString(sum[:digits/2])
}

// Annotations reports whether clients accept the annotations of a tool.
func Annotations(raw json.RawMessage) bool {
	var is map[string]any
	if json.Unmarshal(raw, &is) != nil {
		return false
	}
	for name, v := range is {
		ok := true
		switch strings.ToLower(name) { // some readers ignore case
		case "title":
			_, ok = v.(string)
		case "readonlyhint", "destructivehint", "idempotenthint", "openworldhint":
			_, ok = v.(bool)
		}
		if !ok {
			return false
		}
	}
	return true
}
