package trust

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"waymark/internal/errtext"
	"waymark/internal/text"
	"waymark/internal/udiff"
	"waymark/workspace/mcp/catalog"
	"waymark/workspace/mcp/entry"
)

const (
	// maxPinFile limits a file of pins, in bytes. maxPins limits the pinned tools of a
	// server, which may list different tools each time; further ones are held back.
	maxPinFile = 64 << 20
	maxPins    = 4096
	// maxDiff limits a diff, and maxCompared each of the compared texts, in bytes. Nobody
	// reads longer ones.
	maxDiff     = 64 << 10
	maxCompared = 128 << 10
)

// pins are the tools of a server as approved, including those that it doesn't have any
// more: if one returns in a changed form, it is held back.
type pins struct {
	Version      int            `json:"version"`
	Name         string         `json:"name"` // name of the server
	Instructions string         `json:"instructions"`
	Tools        []catalog.Tool `json:"tools"`
	// Earlier are previously approved tools and instructions, newest last, so that
	// switching branches back needs no new approval.
	Earlier             []catalog.Tool `json:"earlier,omitempty"`
	EarlierInstructions []string       `json:"earlier_instructions,omitempty"`
}

// knows reports whether exactly this tool was ever approved.
func (p *pins) knows(tool catalog.Tool) bool {
	return slices.ContainsFunc(slices.Concat(p.Tools, p.Earlier), func(t catalog.Tool) bool { return same(t, tool) })
}

func (p *pins) find(name string) *catalog.Tool {
	for i := range p.Tools {
		if p.Tools[i].Name == name {
			return &p.Tools[i]
		}
	}
	return nil
}

// Tools compares what a server offers with what is pinned. The tools of the first catalogue
// after an approval are pinned, and so are later ones, unless the policy holds new ones
// back. A tool that disappears stays pinned. If the server may run only because the
// configuration trusts the workspace, everything is accepted and nothing is pinned, because
// nobody has reviewed it.
//
// If the stored pins are invalid, everything is held back until ApproveTools.
//
// # Errors
//
// New pins can't be stored; the verdict is valid anyway.
func (s *Store) Tools(e *entry.Entry, d *Digests, c *catalog.Catalogue) (ToolVerdict, error) {
	by := s.Judge(e, d)
	if by.By == ByWorkspace || by.Developing {
		return ToolVerdict{Taken: c.Tools, Instructions: c.Instructions}, nil
	}
	ctx, leave, err := s.turn.Take(context.Background())
	if err != nil {
		return ToolVerdict{}, err
	}
	defer leave()
	known, err := s.readPins(e.Name)
	if err != nil {
		s.opts.Logger.Warn("what the tools of an MCP server were is lost: all are held back until 'agent mcp approve'",
			slog.String("server", text.Line(e.Name, maxPartText)), slog.String("why", errtext.Of(err)))
		return held(c), nil
	}
	first := known == nil
	if first {
		known = &pins{Version: fileVersion, Name: e.Name, Instructions: strings.ToValidUTF8(c.Instructions, "\uFFFD")}
	}
	policy, _ := s.current()
	v, added := known.compare(c, policy.HoldNewTools && !first)
	if !by.Allowed || !first && len(added) == 0 {
		return v, nil
	}
	known.Tools = append(known.Tools, added...)
	return v, s.writePins(ctx, known)
}

// held holds back everything.
func held(c *catalog.Catalogue) ToolVerdict {
	v, _ := (&pins{}).compare(c, true)
	return v
}

// compare returns the verdict on a catalogue, and which tools to pin.
func (p *pins) compare(c *catalog.Catalogue, hold bool) (v ToolVerdict, added []catalog.Tool) {
	now := strings.ToValidUTF8(c.Instructions, "\uFFFD")
	switch v.Instructions = p.Instructions; {
	case slices.Contains(p.EarlierInstructions, now):
		v.Instructions = now
	case now != p.Instructions:
		v.InstructionsHeld, v.InstructionsDiff = true, difference(p.Instructions, now, fmt.Sprintf("%+q\n", p.Instructions), fmt.Sprintf("%+q\n", now))
	}
	for _, tool := range c.Tools {
		now := canonical(tool)
		switch was := p.find(now.Name); {
		case p.knows(now):
			v.Taken = append(v.Taken, tool)
		case was != nil:
			v.Held = append(v.Held, HeldTool{Tool: tool, Diff: difference(document(*was), document(now), exact(*was), exact(now))})
		case hold || len(p.Tools)+len(added) >= maxPins:
			v.Held = append(v.Held, HeldTool{Tool: tool, New: true, Diff: difference("", document(now), "", exact(now))})
		default:
			v.Taken = append(v.Taken, tool)
			added = append(added, now)
		}
	}
	v.HeldDigest = v.digest(now)
	return v, added
}

// digest returns the digest of what is held back. instructions are the server's current
// ones. The order of tools is irrelevant.
func (v *ToolVerdict) digest(instructions string) string {
	if len(v.Held) == 0 && !v.InstructionsHeld {
		return ""
	}
	list := make([]string, 0, len(v.Held))
	for i := range v.Held {
		h := &v.Held[i]
		list = append(list, fmt.Sprintf("%t\n%s\n%s", h.New, exact(canonical(h.Tool)), h.Diff))
	}
	slices.Sort(list)
	sum := sha256.New()
	field(sum, "waymark mcp held 1", fmt.Sprint(v.InstructionsHeld))
	if v.InstructionsHeld {
		field(sum, instructions, v.InstructionsDiff)
	}
	field(sum, list...)
	return "tools:" + hex.EncodeToString(sum.Sum(nil))
}

// ApproveTools pins what a server currently offers. Earlier tools stay approved.
//
// # Errors
//
// The context's, or that the pins can't be stored: then nothing has changed.
func (s *Store) ApproveTools(ctx context.Context, e *entry.Entry, _ *Digests, c *catalog.Catalogue) error {
	ctx, leave, err := s.turn.Take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	known, err := s.readPins(e.Name)
	if err != nil || known == nil {
		known = &pins{}
	}
	next := &pins{Version: fileVersion, Name: e.Name, Instructions: strings.ToValidUTF8(c.Instructions, "\uFFFD"), Earlier: known.Earlier, EarlierInstructions: known.EarlierInstructions}
	if known.Name != "" && known.Instructions != next.Instructions && !slices.Contains(known.EarlierInstructions, known.Instructions) {
		next.EarlierInstructions = append(next.EarlierInstructions, known.Instructions)
		next.EarlierInstructions = next.EarlierInstructions[max(0, len(next.EarlierInstructions)-maxEarlier):]
	}
	offered := map[string]bool{}
	for _, tool := range c.Tools {
		tool = canonical(tool)
		offered[tool.Name] = true
		next.Tools = append(next.Tools, tool)
	}
	for _, tool := range known.Tools {
		switch {
		case !offered[tool.Name] && len(next.Tools) < maxPins:
			next.Tools = append(next.Tools, tool)
		case offered[tool.Name] && !next.knows(tool):
			next.Earlier = append(next.Earlier, tool)
		}
	}
	next.Earlier = next.Earlier[max(0, len(next.Earlier)-maxPins):]
	return s.writePins(ctx, next)
}

func (s *Store) forgetTools(ctx context.Context, name string) error {
	_, leave, err := s.turn.Take(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := os.Remove(s.pinFile(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// pinFile returns the file with a server's pins. Each server has its own, because
// catalogues are large.
func (s *Store) pinFile(name string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(s.opts.Dir, "mcp-tools", hex.EncodeToString(sum[:16])+".json")
}

// readPins returns the pins of a server; nil if there are none.
func (s *Store) readPins(name string) (*pins, error) {
	p := &pins{}
	if err := readJSON(s.pinFile(name), maxPinFile, p); err != nil {
		return nil, err
	}
	switch {
	case p.Version == 0 && p.Name == "":
		return nil, nil
	case p.Version != fileVersion || p.Name != name:
		return nil, errors.New("it is of another version, or server")
	}
	for _, list := range [][]catalog.Tool{p.Tools, p.Earlier} {
		for i := range list {
			list[i] = canonical(list[i])
		}
	}
	return p, nil
}

func (s *Store) writePins(ctx context.Context, p *pins) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return writeJSON(s.pinFile(p.Name), maxPinFile, p)
}

// canonical normalizes the JSON of a tool, because some servers write the members of an
// object in random order. JSON with duplicate names stays the same, because parsers
// disagree about its meaning.
func canonical(t catalog.Tool) catalog.Tool {
	for _, s := range []*string{&t.Name, &t.Title, &t.Description} {
		*s = strings.ToValidUTF8(*s, "\uFFFD") // as it is stored
	}
	for _, raw := range []*[]byte{(*[]byte)(&t.InputSchema), (*[]byte)(&t.Annotations)} {
		if len(*raw) == 0 {
			*raw = nil
			continue
		}
		value := jsontext.Value(bytes.Clone(*raw))
		if err := value.Format(jsontext.ReorderRawObjects(true), jsontext.PreserveRawStrings(false)); err == nil {
			*raw = value
		}
	}
	return t
}

func same(a, b catalog.Tool) bool {
	return a.Name == b.Name && a.Title == b.Title && a.Description == b.Description && bytes.Equal(a.InputSchema, b.InputSchema) && bytes.Equal(a.Annotations, b.Annotations)
}

// document returns a text of a tool for comparison by people.
func document(t catalog.Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\n", t.Name)
	if t.Title != "" {
		fmt.Fprintf(&b, "title: %s\n", t.Title)
	}
	if t.Description != "" {
		fmt.Fprintf(&b, "description:\n%s\n", t.Description)
	}
	for _, part := range []struct {
		name string
		raw  jsontext.Value
	}{{"input schema", jsontext.Value(t.InputSchema)}, {"annotations", jsontext.Value(t.Annotations)}} {
		if len(part.raw) == 0 {
			continue
		}
		indented := bytes.Clone(part.raw)
		if value := jsontext.Value(indented); value.Indent(jsontext.WithIndent("  ")) == nil {
			indented = value
		}
		fmt.Fprintf(&b, "%s:\n%s\n", part.name, indented)
	}
	return b.String()
}

// exact returns a text that two tools have in common only if they are equal.
func exact(t catalog.Tool) string {
	return fmt.Sprintf("name: %+q\ntitle: %+q\ndescription: %+q\ninput schema: %+q\nannotations: %+q\n", t.Name, t.Title, t.Description, t.InputSchema, t.Annotations)
}

// difference returns a diff of two texts with invisible characters made visible. If these
// texts are the same, it compares the exact ones.
func difference(before, after, exactBefore, exactAfter string) string {
	before, after = text.Reveal(before), text.Reveal(after)
	if before == after {
		before, after = exactBefore, exactAfter
	}
	diff := udiff.Diff("approved", "now", bound(before), bound(after))
	if len(diff) > maxDiff {
		diff = text.Truncate(diff, maxDiff) + "\n… the rest is left out\n"
	}
	return diff
}

// bound ends a text with a newline, and cuts a long one, because comparing takes time. A
// hash stands for what is cut.
func bound(s string) string {
	if len(s) > maxCompared {
		sum := sha256.Sum256([]byte(s))
		return text.Truncate(s, maxCompared) + fmt.Sprintf("\n… the rest of %d bytes is left out, of SHA-256 %x\n", len(s), sum)
	}
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
