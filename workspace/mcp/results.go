package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/internal/text"
	"waymark/workspace/mcp/serverlog"
	"waymark/workspace/mcp/session"
	"waymark/workspace/output"
)

// results keeps the newest long results in private files until the agent ends.
type results struct {
	dir string

	mu    sync.Mutex // guards the fields below
	max   int64      // limit of the total size
	total int64
	kept  []keptResult // oldest first
}

type keptResult struct {
	id   string
	size int64
}

// limit sets the maximum size of all results together.
func (r *results) limit(bytes int64) {
	r.mu.Lock()
	r.max = bytes
	gone := r.fit(0)
	r.mu.Unlock()
	r.remove(gone)
}

// fit drops the oldest results until size more bytes fit. The caller holds mu.
func (r *results) fit(size int64) (gone []keptResult) {
	for len(r.kept) > 0 && r.total+size > r.max {
		gone = append(gone, r.kept[0])
		r.total -= r.kept[0].size
		r.kept = r.kept[1:]
	}
	return gone
}

func (r *results) remove(list []keptResult) {
	for _, k := range list {
		_ = os.Remove(filepath.Join(r.dir, k.id))
	}
}

// put stores a result and returns its id. It returns "" if the result is too long.
func (r *results) put(data []byte) (string, error) {
	size := int64(len(data))
	id := uuid.NewString()
	r.mu.Lock()
	if size > r.max {
		r.mu.Unlock()
		return "", nil
	}
	r.mu.Unlock()
	if err := os.WriteFile(filepath.Join(r.dir, id), data, 0o600); err != nil {
		return "", err
	}
	r.mu.Lock()
	gone := r.fit(size)
	r.kept = append(r.kept, keptResult{id, size})
	r.total += size
	r.mu.Unlock()
	r.remove(gone)
	return id, nil
}

// clear removes all results, including those of an earlier agent.
func (r *results) clear() error {
	r.mu.Lock()
	r.kept, r.total = nil, 0
	r.mu.Unlock()
	entries, err := os.ReadDir(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = errors.Join(err, os.Remove(filepath.Join(r.dir, e.Name())))
	}
	return err
}

// page returns at most limit bytes of a result from an offset on, without splitting runes.
// The error is fs.ErrNotExist if the result isn't kept.
func (r *results) page(id string, offset, limit int64) (*agentapi.MCPResultPage, error) {
	r.mu.Lock()
	i := slices.IndexFunc(r.kept, func(k keptResult) bool { return k.id == id })
	if i < 0 {
		r.mu.Unlock()
		return nil, fs.ErrNotExist
	}
	size := r.kept[i].size
	r.mu.Unlock()
	f, err := os.Open(filepath.Join(r.dir, id))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	offset = min(offset, size)
	data := make([]byte, min(limit+4, size-offset)) // one rune more at most
	if _, err := f.ReadAt(data, offset); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	whole := output.SkipHalfRune(data)
	offset += int64(len(data) - len(whole))
	n := output.RuneEnd(whole, int(min(limit, int64(len(whole)))), offset+int64(len(whole)) == size)
	return &agentapi.MCPResultPage{Text: output.ToText(whole[:n]), NextOffset: offset + int64(n), Length: size}, nil
}

// answer returns the answer of a call, redacted and within limit.
func (s *Service) answer(r *serverlog.Redactor, result *session.Result, limit int64) (*agentapi.MCPToolResult, error) {
	a := &agentapi.MCPToolResult{Content: []agentapi.MCPContent{}, IsError: result.IsError}
	structured := r.JSON(result.Structured)
	if len(structured) > 0 && structured[0] == '{' { // clients refuse any other
		a.Structured = structured
	}
	for _, c := range result.Content {
		part := agentapi.MCPContent{Type: c.Type, Text: strings.ToValidUTF8(r.String(c.Text), "\ufffd"), MediaType: r.String(c.MediaType), URI: r.String(c.URI), Name: r.String(c.Name)}
		if c.Data != nil {
			part.Data = base64.StdEncoding.EncodeToString(r.Bytes(c.Data))
		}
		a.Content = append(a.Content, part)
	}
	if !says(a.Content) && len(structured) > 0 {
		// Models are shown the content, and many clients know nothing else.
		a.Content = append(a.Content, jsonText(structured))
	}
	whole, err := encode(a)
	if err != nil {
		return nil, err
	}
	text := int64(len(whole))
	var notes []agentapi.MCPContent
	for i := range a.Content {
		c := &a.Content[i]
		if !isMedia(c) {
			continue
		}
		text -= int64(len(c.Data))
		if what := scaleDown(c); what != "" {
			notes = append(notes, agentapi.MCPContent{Type: "text", Text: fmt.Sprintf("... [piece %d, %s] ...", i+1, what)})
		}
	}
	left := tooLarge(a.Content)
	if len(left)+len(notes) == 0 && text <= limit {
		return a, nil
	}
	id, err := s.results.put(whole)
	if err != nil {
		return nil, fmt.Errorf("the whole of a long result can't be kept: %w", err)
	}
	for _, i := range left {
		c := &a.Content[i]
		*c = agentapi.MCPContent{Type: "text", Text: fmt.Sprintf("... [piece %d, %s %s of %d bytes, is left out: a piece may have %d, and all of a result %d] ...",
			i+1, c.MediaType, c.Type, decodedLen(c.Data), base64.StdEncoding.DecodedLen(maxMedia), base64.StdEncoding.DecodedLen(maxAllMedia))}
	}
	a.Content = append(a.Content, notes...)
	if text > limit {
		if a.Structured != nil && textOf(a.Content) < len(a.Structured)/2 { // the content doesn't say the same
			a.Content = append(a.Content, jsonText(structured))
		}
		shorten(a, limit)
	}
	kept, err := encode(a)
	a.Truncated = &agentapi.MCPTruncated{ResultID: id, OriginalBytes: int64(len(whole)), RetainedBytes: int64(len(kept))}
	return a, err
}

// Limits of images and audio, as base64, of which a part is worth nothing: of one piece, which
// is what large models take of an image, and of a result.
const (
	maxMedia    = 5 << 20
	maxAllMedia = 16 << 20
)

func isMedia(c *agentapi.MCPContent) bool {
	return c.Data != "" && (c.Type == "image" || c.Type == "audio" || strings.HasPrefix(c.MediaType, "image/") || strings.HasPrefix(c.MediaType, "audio/"))
}

// tooLarge returns the indexes of images and audio that are too large.
func tooLarge(content []agentapi.MCPContent) (left []int) {
	shown := 0
	for i := range content {
		switch size := len(content[i].Data); {
		case !isMedia(&content[i]):
		case size > maxMedia || shown+size > maxAllMedia:
			left = append(left, i)
		default:
			shown += size
		}
	}
	return left
}

func decodedLen(data string) int {
	return base64.RawStdEncoding.DecodedLen(len(strings.TrimRight(data, "=")))
}

// textOf returns the length of all texts.
func textOf(content []agentapi.MCPContent) (n int) {
	for i := range content {
		n += len(content[i].Text)
	}
	return n
}

// says reports whether any part of a content has something.
func says(content []agentapi.MCPContent) bool {
	return slices.ContainsFunc(content, func(c agentapi.MCPContent) bool { return c.Text != "" || c.Data != "" || c.URI != "" })
}

func jsonText(data []byte) agentapi.MCPContent {
	return agentapi.MCPContent{Type: "text", Text: strings.ToValidUTF8(string(data), "\ufffd"), MediaType: "application/json"}
}

// encode encodes JSON without escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// shorten keeps the beginning and the end of an answer, half of limit each, measured by the
// length of texts and data. Images and audio stay, and don't count. Other parts that aren't
// text can't be cut, so it replaces them by a note.
func shorten(a *agentapi.MCPToolResult, limit int64) {
	a.Structured = nil // the content says the same, and part of an object is none
	half := int(limit / 2)
	total := 0
	for i := range a.Content {
		total += length(&a.Content[i])
	}
	var kept []agentapi.MCPContent
	at := 0 // offset of the part in all parts together
	for _, c := range a.Content {
		n := length(&c)
		head, tail := min(max(half-at, 0), n), min(max(at+n-(total-half), 0), n)
		at += n
		switch {
		case head+tail >= n:
			kept = append(kept, c)
		case c.Text != "" && c.Data == "" && head+tail > 0:
			c.Text = cut(c.Text, head, tail)
			kept = append(kept, c)
		default:
			kept = leave(kept, &c)
		}
	}
	a.Content = kept
}

// length returns what a part counts toward the limit.
func length(c *agentapi.MCPContent) int {
	if isMedia(c) {
		return 0
	}
	return len(c.Text) + len(c.Data) + len(c.URI) + len(c.Name) + 64
}

// cut keeps the beginning and the end of a text, and notes how much is omitted.
func cut(s string, head, tail int) string {
	begin := text.Truncate(s, head)
	end := string(output.SkipHalfRune([]byte(s[len(s)-min(tail, len(s)-len(begin)):])))
	return fmt.Sprintf("%s\n\n... [omitted %d bytes] ...\n\n%s", begin, len(s)-len(begin)-len(end), end)
}

// leave notes an omitted part. Consecutive ones share a note.
func leave(kept []agentapi.MCPContent, c *agentapi.MCPContent) []agentapi.MCPContent {
	const mark = "... [parts are omitted here] ..."
	if n := len(kept); n > 0 && kept[n-1].Text == mark {
		return kept
	}
	if c.Data != "" {
		return append(kept, agentapi.MCPContent{Type: "text", Text: fmt.Sprintf("... [%s %s of %d bytes is omitted] ...", c.MediaType, c.Type, decodedLen(c.Data))})
	}
	return append(kept, agentapi.MCPContent{Type: "text", Text: mark})
}
