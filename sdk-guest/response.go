package guest

import (
	"slices"
	"unicode/utf8"

	"waymark/abi"
	"waymark/sdk-guest/jsonlite"
)

func writeDescription(w *jsonlite.Writer, m Module) {
	w.BeginObject()
	w.Key("abi")
	w.Int(abi.Version)
	w.Key("name")
	w.String(m.Name)
	w.Key("version")
	w.String(m.Version)
	w.Key("resolvers")
	w.BeginArray()
	for _, r := range m.Resolvers {
		w.BeginObject()
		w.Key("name")
		w.String(r.Name)
		writeStrings(w, "kinds", r.Kinds)
		writeText(w, `"summary"`, r.Summary)
		writeStrings(w, "reads", r.Reads)
		if len(r.ReadsFromConfig) > 0 {
			writeStrings(w, "reads_from_config", r.ReadsFromConfig)
		}
		if len(r.Ignores) > 0 {
			writeStrings(w, "ignores", r.Ignores)
		}
		w.EndObject()
	}
	w.EndArray()
	w.EndObject()
}

// answer is the text of an answer, without the parts in kernel blocks.
type answer struct {
	text   []byte
	blocks []blockAt
}

// blockAt is kernel data that precedes the byte at of a text.
type blockAt struct {
	at, size int
	block    uint64
}

func (a *answer) len() int {
	n := len(a.text)
	for _, b := range a.blocks {
		n += b.size
	}
	return n
}

func encodeResponse(resp *Response) *answer {
	var w jsonlite.Writer
	blocks := writeResponse(&w, resp)
	return &answer{w.Bytes(), blocks}
}

func writeResponse(w *jsonlite.Writer, resp *Response) (blocks []blockAt) {
	w.BeginObject()
	w.Key("resources")
	w.BeginArray()
	first := true
	for _, r := range resp.Rows {
		if r.size == 0 {
			continue
		}
		if r.block == 0 {
			w.RawString(r.text)
		} else {
			b := blockAt{at: len(w.Bytes()), size: r.size, block: r.block}
			if !first { // with the comma before it
				b.block, b.size = b.block-1, b.size+1
			}
			blocks = append(blocks, b)
			w.Follow()
		}
		first = false
	}
	for i := range resp.Resources {
		writeResource(w, &resp.Resources[i])
	}
	w.EndArray()
	if len(resp.Warnings) > 0 {
		writeStrings(w, "warnings", resp.Warnings)
	}
	w.EndObject()
	return blocks
}

func writeResource(w *jsonlite.Writer, r *Resource) {
	w.BeginObject()
	w.RawKey(`"kind"`)
	w.String(string(r.Kind))
	w.RawKey(`"path"`)
	w.String(r.Path)
	writeText(w, `"key"`, r.Key)
	if r.Content != nil {
		w.RawKey(`"content"`)
		w.BeginObject()
		if r.Content.Inline != nil {
			w.RawKey(`"inline"`)
			w.String(*r.Content.Inline)
		} else {
			w.RawKey(`"file"`)
			w.String(r.Content.File)
		}
		if r.Content.Withheld {
			w.RawKey(`"withheld"`)
			w.Bool(true)
		}
		w.EndObject()
	}
	for _, f := range [...]struct{ key, text string }{
		{`"name"`, r.Name}, {`"description"`, r.Description}, {`"status"`, r.Status}, {`"error"`, r.Error},
	} {
		writeText(w, f.key, f.text)
	}
	if len(r.Attributes) > 0 {
		writeAttributes(w, r.Attributes)
	}
	writeText(w, `"convention"`, r.Convention)
	if len(r.Readers) > 0 {
		writeStrings(w, "readers", r.Readers)
	}
	if len(r.Findings) > 0 {
		writeFindings(w, r.Findings)
	}
	w.EndObject()
}

func writeFindings(w *jsonlite.Writer, findings []Finding) {
	w.RawKey(`"findings"`)
	w.BeginArray()
	for _, f := range findings {
		w.BeginObject()
		w.RawKey(`"code"`)
		w.String(f.Code)
		w.RawKey(`"severity"`)
		w.String(string(f.Severity))
		w.RawKey(`"message"`)
		w.String(f.Message)
		w.EndObject()
	}
	w.EndArray()
}

func writeAttributes(w *jsonlite.Writer, attributes map[string]Value) {
	keys := make([]string, 0, len(attributes))
	for k := range attributes {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	w.RawKey(`"attributes"`)
	w.BeginObject()
	for _, k := range keys {
		if v := attributes[k]; v.IsList() {
			writeStrings(w, k, v.List)
		} else {
			w.Key(k)
			w.String(v.Text)
		}
	}
	w.EndObject()
}

// writeText writes an optional field: absent when empty. The key is quoted.
func writeText(w *jsonlite.Writer, key, s string) {
	if s != "" {
		w.RawKey(key)
		w.String(s)
	}
}

func writeStrings[S ~string](w *jsonlite.Writer, key string, list []S) {
	w.Key(key)
	w.BeginArray()
	for _, s := range list {
		w.String(string(s))
	}
	w.EndArray()
}

// Truncate cuts s to at most n bytes between two characters, and ends a shortened text with
// an ellipsis. Use it with abi.MaxDescription and the like, because the host drops a row that
// exceeds them.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const ellipsis = "…"
	if n < len(ellipsis) {
		return ""
	}
	cut := n - len(ellipsis)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + ellipsis
}
