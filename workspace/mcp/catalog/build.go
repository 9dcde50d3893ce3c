package catalog

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"waymark/internal/defaults"
	"waymark/internal/mcpserving"
	"waymark/internal/text"
)

// Limits limit a catalogue. Zero means the default.
type Limits struct {
	// Tools limits the number of tools, Bytes their total size as JSON. The defaults are
	// those for all servers together, defaults.MCPTools and MCPBytes.
	Tools int
	Bytes int64
	// Schema limits the size of one tool's schema as compact JSON, Depth its nesting: 256
	// KiB and 64 levels by default.
	Schema int64
	Depth  int
}

// The defaults. Known servers stay far below: the largest has about 100 tools with 150 KiB
// in total.
const (
	DefaultSchema = 256 << 10
	DefaultDepth  = 64
)

// Limits of single texts, in bytes. A tool's name is part of the name that models see,
// which every provider limits to 128 characters.
const (
	maxName         = 128
	maxTitle        = 256
	maxDescription  = 16 << 10
	maxInstructions = 64 << 10
	maxAnnotations  = 4 << 10
	maxFindings     = 200
)

func (l Limits) orDefaults() Limits {
	return defaults.Or(l, Limits{Tools: defaults.MCPTools, Bytes: defaults.MCPBytes, Schema: DefaultSchema, Depth: DefaultDepth})
}

// Builder makes a catalogue from what a server sends, within limits, and records what it
// leaves out. It must be used by one goroutine.
type Builder struct {
	limits Limits
	made   Catalogue
	names  map[string]bool
	bytes  int64
	seen   int // tools listed by the server
	left   int // tools beyond the limits
	more   int // findings beyond the limit
}

// NewBuilder returns an empty Builder.
func NewBuilder(limits Limits) *Builder {
	return &Builder{limits: limits.orDefaults(), made: Catalogue{Tools: []Tool{}}, names: make(map[string]bool)}
}

// Server sets the server's description of itself.
func (b *Builder) Server(name, title, version, instructions string) {
	b.made.ServerName = b.text(name, maxName, "", "server's name")
	b.made.ServerTitle = b.text(title, maxTitle, "", "server's title")
	b.made.ServerVersion = b.text(version, maxName, "", "server's version")
	b.made.Instructions = b.text(instructions, maxInstructions, "", "server's instructions")
}

// Find adds a finding. What its text quotes must be safe to show.
func (b *Builder) Find(code, tool, format string, args ...any) {
	if len(b.made.Findings) >= maxFindings {
		b.more++
		return
	}
	b.made.Findings = append(b.made.Findings, Finding{Code: code, Tool: text.Line(tool, maxName), Text: fmt.Sprintf(format, args...)})
}

// wireTool has the relevant fields of a tool as sent by a server.
type wireTool struct {
	Name        jsontext.Value `json:"name"`
	Title       jsontext.Value `json:"title"`
	Description jsontext.Value `json:"description"`
	InputSchema jsontext.Value `json:"inputSchema"`
	Annotations jsontext.Value `json:"annotations"`
}

// lenient accepts what JSON parsers in other languages accept. Of duplicate names the last
// one counts, as there.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// Add adds a tool as sent by a server. It returns the tool as added, and whether it was
// added.
func (b *Builder) Add(raw []byte) (Tool, bool) {
	var wire wireTool
	var name string
	b.seen++
	if err := json.Unmarshal(raw, &wire, lenient); err != nil || len(wire.Name) > 0 && json.Unmarshal(wire.Name, &name, lenient) != nil {
		b.Find("bad_tool", "", "What the server lists as its tool number %d isn't one, or has no name that is a text, and is left out.", b.seen)
		return Tool{}, false
	}
	if !b.name(name) {
		return Tool{}, false
	}
	tool := Tool{
		Name:        name,
		Title:       b.text(b.said(wire.Title, name, "title"), maxTitle, name, "title"),
		Description: b.text(b.said(wire.Description, name, "description"), maxDescription, name, "description"),
		InputSchema: b.schema(name, wire.InputSchema),
		Annotations: b.annotations(name, wire.Annotations),
	}
	encoded, err := json.Marshal(&tool, lenient)
	size := int64(len(encoded))
	if err != nil || len(b.made.Tools) >= b.limits.Tools || b.bytes+size > b.limits.Bytes {
		b.left++
		return Tool{}, false
	}
	b.bytes += size
	b.names[tool.Name] = true
	b.made.Tools = append(b.made.Tools, tool)
	return tool, true
}

// Full reports whether no more tools fit.
func (b *Builder) Full() bool { return b.left > 0 }

// Drop removes a tool.
func (b *Builder) Drop(name string) {
	for i := range b.made.Tools {
		if b.made.Tools[i].Name == name {
			b.made.Tools = append(b.made.Tools[:i], b.made.Tools[i+1:]...)
			return
		}
	}
}

// Catalogue finishes the catalogue. The Builder must not be used afterwards.
func (b *Builder) Catalogue() *Catalogue {
	if b.left > 0 {
		b.made.Findings = append(b.made.Findings, Finding{Code: "tools_trimmed", Text: fmt.Sprintf(
			"The server has more tools than are taken: the first %s are kept, and %d or more are left out.",
			text.Count(len(b.made.Tools), "tool", "tools"), b.left)})
	}
	if b.more > 0 {
		b.made.Findings = append(b.made.Findings, Finding{Code: "more_findings", Text: fmt.Sprintf(
			"There is more to find than is listed: %d are left out.", b.more)})
	}
	made := b.made
	return &made
}

// name checks a tool's name. It refuses names that can't be told apart or that a terminal
// would interpret, because such a tool can't be called safely.
func (b *Builder) name(name string) bool {
	clean, marks := Clean(name)
	switch {
	case name == "":
		b.Find("bad_name", "", "A tool without a name is left out.")
	case len(name) > maxName:
		b.Find("bad_name", name, "A tool whose name is longer than %d bytes is left out.", maxName)
	case marks&Escapes != 0 || strings.ContainsAny(name, "\n\t"):
		b.Find("terminal_escapes", name, "A tool whose name holds control characters is left out.")
	case marks != 0:
		b.Find("invisible_characters", name, "A tool whose name holds invisible characters is left out.")
	case clean != name:
		b.Find("bad_name", name, "A tool whose name isn't UTF-8 is left out.")
	case b.names[name]:
		b.Find("duplicate_tool", name, "Two tools have this name: the first one counts.")
	default:
		if !usual(name) {
			b.Find("unusual_name", name, "The tool's name has other characters than letters, digits, '_', '-', '.' and '/', which some clients refuse.")
		}
		return true
	}
	return false
}

// usual reports whether a name follows the protocol's rules.
func usual(name string) bool {
	return strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-./", r)
	}) < 0
}

// said returns a text of a tool; "" if it isn't a string.
func (b *Builder) said(raw jsontext.Value, tool, what string) (s string) {
	if len(raw) > 0 && json.Unmarshal(raw, &s, lenient) != nil {
		b.Find("bad_text", tool, "The %s isn't a text, and is left out.", what)
	}
	return s
}

// text cleans and cuts one of the server's texts.
func (b *Builder) text(s string, limit int, tool, what string) string {
	if len(s) > limit {
		b.Find("text_too_long", tool, "The %s is cut: it has %d bytes, and %d are taken.", what, len(s), limit)
		s = text.Cut(strings.ToValidUTF8(s, string(utf8.RuneError)), limit)
	}
	clean, marks := Clean(s)
	b.marks(marks, tool, what)
	return clean
}

func (b *Builder) marks(marks Marks, tool, what string) {
	if marks&Invisible != 0 {
		b.Find("invisible_characters", tool, "The %s holds characters that can't be seen, and that models read: they are taken out.", what)
	}
	if marks&Escapes != 0 {
		b.Find("terminal_escapes", tool, "The %s holds control characters: they are taken out.", what)
	}
}

// schema returns a tool's input schema as compact JSON. It returns nil if the schema is
// unusable; the tool can be called without.
func (b *Builder) schema(tool string, raw jsontext.Value) []byte {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return nil
	}
	if raw.Kind() != '{' {
		b.Find("bad_schema", tool, "The tool's schema isn't an object, and is left out.")
		return nil
	}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	if err := raw.Compact(lenient); err != nil {
		b.Find("bad_schema", tool, "The tool's schema can't be read, and is left out.")
		return nil
	}
	if int64(len(raw)) > b.limits.Schema {
		b.Find("schema_too_large", tool, "The tool's schema has %d bytes, %d are taken: it is left out.", len(raw), b.limits.Schema)
		return nil
	}
	var readable map[string]any
	if err := json.Unmarshal(raw, &readable, lenient); err != nil { // 1e400, for example: the SDK would drop the whole list
		b.Find("bad_schema", tool, "The tool's schema holds a number that clients can't read, and is left out.")
		return nil
	}
	clean, found, err := cleanJSON(raw, b.limits.Depth)
	if err != nil {
		b.Find("schema_too_deep", tool, "The tool's schema is nested deeper than %d levels: it is left out.", b.limits.Depth)
		return nil
	}
	b.marks(found.values, tool, "schema")
	if found.names != 0 {
		b.Find("invisible_characters", tool, "Names of parameters hold characters that can't be seen; they are left as they are, since the server knows them so.")
	}
	return clean
}

func (b *Builder) annotations(tool string, raw jsontext.Value) []byte {
	if len(raw) == 0 || raw.Kind() == 'n' {
		return nil
	}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD"))
	if raw.Kind() != '{' || raw.Compact(lenient) != nil || len(raw) > maxAnnotations {
		b.Find("bad_annotations", tool, "The tool's annotations are no object of at most %d bytes, and are left out.", maxAnnotations)
		return nil
	}
	clean, found, err := cleanJSON(raw, b.limits.Depth)
	if err != nil {
		b.Find("bad_annotations", tool, "The tool's annotations are nested too deep, and are left out.")
		return nil
	}
	if !mcpserving.Annotations(clean) {
		b.Find("bad_annotations", tool, "The tool's annotations have what clients refuse all tools for, and are left out.")
		return nil
	}
	b.marks(found.values|found.names, tool, "annotations")
	return clean
}

type marksOfJSON struct{ names, values Marks }

type tooDeepError struct{}

func (tooDeepError) Error() string { return "nested too deep" }

// cleanJSON cleans all strings in a JSON value except names of members. Everything else
// stays the same, byte for byte.
func cleanJSON(raw []byte, depth int) ([]byte, marksOfJSON, error) {
	var (
		found marksOfJSON
		out   bytes.Buffer
	)
	// Replace strings in place, so that numbers, order and other escapes stay as the server
	// wrote them.
	dec := jsontext.NewDecoder(bytes.NewReader(raw), lenient)
	done := int64(0)
	for {
		kind := dec.PeekKind()
		if kind == 0 {
			break
		}
		container, length := dec.StackIndex(dec.StackDepth())
		before := dec.InputOffset()
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, found, err
		}
		if dec.StackDepth() > depth {
			return nil, found, tooDeepError{}
		}
		if kind != '"' {
			continue
		}
		s := tok.String()
		clean, marks := Clean(s)
		if container == '{' && length%2 == 0 {
			found.names |= marks
			continue
		}
		found.values |= marks
		if clean == s {
			continue
		}
		end := dec.InputOffset()
		quoted, err := jsontext.AppendQuote(nil, clean)
		if err != nil {
			return nil, found, err
		}
		start := before + int64(bytes.IndexByte(raw[before:end], '"')) // after a comma or colon
		out.Write(raw[done:start])
		out.Write(quoted)
		done = end
	}
	if done == 0 {
		return raw, found, nil
	}
	out.Write(raw[done:])
	return out.Bytes(), found, nil
}
