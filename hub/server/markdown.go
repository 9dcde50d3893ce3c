package server

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"waymark/abi"
	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/internal/httpapi"
	"waymark/internal/text"
	"waymark/snapshot"
)

// renderMarkdown renders a snapshot for a prompt: the texts of instructions in order, a
// catalog of skills and everything else, and what is missing. Texts are in fences that
// their content can't end; everything else from the workspace is escaped.
func renderMarkdown(agentID string, stored *store.StoredSnapshot, away bool, want *prompt) *markdown {
	m := &markdown{budget: want.budget}
	m.line("# Workspace context")
	m.line("")
	m.line("Agent %s, revision %d, version %d.", code(agentID), stored.Revision, stored.Snapshot.Version)
	m.discovery(stored.Snapshot.Discovery, away)
	byKind := map[abi.Kind][]*snapshot.Resource{}
	var broken []*snapshot.Resource
	for i := range stored.Snapshot.Resources {
		r := &stored.Snapshot.Resources[i]
		switch {
		case want.client != "" && slices.Contains(r.Readers, want.client):
			m.read++
			continue
		case r.Status != snapshot.StatusOK:
			broken = append(broken, r)
			continue
		}
		byKind[r.Kind] = append(byKind[r.Kind], r)
	}
	m.instructions(byKind[abi.KindInstructionFile])
	m.catalog("Skills", "Read a skill's file before using it.", byKind[abi.KindSkill])
	m.catalog("MCP servers", "", byKind[abi.KindMCPServer])
	m.catalog("MCP configurations", "Their contents stay in the workspace.", byKind[abi.KindMCPConfig])
	m.catalog("Subagents", "", byKind[abi.KindSubagent])
	m.catalog("Commands", "", byKind[abi.KindCommand])
	m.catalog("Hooks", "", byKind[abi.KindHook])
	m.catalog("Plugins", "", byKind[abi.KindPlugin])
	m.leftOut(want)
	m.issues(&stored.Snapshot, broken)
	return m
}

// prompt has the parameters of a rendering.
type prompt struct {
	// client is an agent in the table of conventions. What it reads itself is left out.
	// Empty leaves out nothing.
	client string
	// budget is the approximate maximum length, in bytes; 0 means no limit.
	budget int
	// pieces requests the parts of the text as JSON.
	pieces bool
}

const (
	// bytesPerToken is the estimate that all of Waymark uses.
	bytesPerToken = 4
	// minBudget is what the text around the pieces takes, in tokens. maxBudget is the
	// maximum.
	minBudget, maxBudget = 256, 1 << 24
	// reserve is the part of a budget for the list of what was left out, in bytes.
	reserve = 768
	// maxLeftOut limits the names in that list.
	maxLeftOut = 10
)

type markdown struct {
	buf bytes.Buffer
	// budget is the prompt's. pieces are the rendered parts, omitted are resources that
	// didn't fit, and read is the number of those that the client reads itself.
	budget  int
	pieces  []api.Piece
	omitted []*snapshot.Resource
	read    int
	// oddities are issues with rendered texts.
	oddities []string
}

// piece adds the text of a resource if it fits. Instructions leave a quarter of the budget
// to the catalogs, because an unknown skill is useless.
func (m *markdown) piece(r *snapshot.Resource, text string) {
	limit := m.budget - reserve
	if r.Kind == abi.KindInstructionFile {
		limit -= m.budget / 4
	}
	if m.budget > 0 && m.buf.Len()+len(text) > limit {
		m.omitted = append(m.omitted, r)
		return
	}
	m.buf.WriteString(text)
	m.pieces = append(m.pieces, api.Piece{
		ID: r.ID(), Kind: string(r.Kind), Source: r.Source, Digest: r.ContentHash, Text: text,
	})
}

// leftOut says what is missing, and why.
func (m *markdown) leftOut(want *prompt) {
	if len(m.omitted) == 0 && m.read == 0 {
		return
	}
	m.line("\n## Left out\n")
	if m.read > 0 {
		m.line("- %d that %s reads by itself", m.read, code(text.Truncate(want.client, maxClient)))
	}
	for i, r := range m.omitted {
		if line := fmt.Sprintf("- %s, for want of room: %d bytes", code(text.Truncate(r.Source, maxNamed)), r.SizeBytes); i < maxLeftOut && (i == 0 || m.buf.Len()+len(line) < m.budget-reserve/4) {
			m.line("%s", line)
			continue
		}
		m.line("- and %d more", len(m.omitted)-i)
		break
	}
}

// answer returns the parts of the text, and what was left out.
func (m *markdown) answer(agentID string, revision int64) *api.Pieces {
	p := &api.Pieces{AgentID: agentID, Revision: revision, Pieces: m.pieces, LeftOut: []api.LeftOut{}, ReadByClient: m.read, Tokens: (m.buf.Len() + bytesPerToken - 1) / bytesPerToken}
	if p.Pieces == nil {
		p.Pieces = []api.Piece{}
	}
	for _, r := range m.omitted {
		p.LeftOut = append(p.LeftOut, api.LeftOut{ID: r.ID(), Source: r.Source, SizeBytes: r.SizeBytes})
	}
	return p
}

// maxNamed limits the text about a source, in bytes.
const maxNamed = 200

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.buf, format+"\n", args...) }

// maxAwaited limits the names of pending sources.
const maxAwaited = 20

// discovery says that more is to be expected, so that nobody takes something for absent.
// away says that the agent isn't connected.
func (m *markdown) discovery(d snapshot.Discovery, away bool) {
	if !d.Pending() {
		return
	}
	var names []string
	for i := range d.Sources {
		if s := &d.Sources[i]; s.Outcome == snapshot.OutcomePending {
			names = append(names, code(s.Name))
		}
	}
	line := "Not complete yet: more is still to come"
	if more := len(names) - maxAwaited; more > 0 {
		names = append(names[:maxAwaited], fmt.Sprintf("%d others", more))
	}
	if len(names) > 0 {
		line += ", from " + strings.Join(names, ", ")
	}
	if away {
		line += "; the agent isn't connected, and it comes when that is back"
	}
	m.line("\n%s.", line)
}

// instructions renders texts: first those that always apply, then those for some files or
// on request.
func (m *markdown) instructions(list []*snapshot.Resource) {
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b *snapshot.Resource) int { return modeOrder(a) - modeOrder(b) })
	m.line("\n## Instructions")
	for _, r := range list {
		var b strings.Builder
		fmt.Fprintf(&b, "\n### %s\n\n", code(r.Source))
		if r.Description != "" && !repeats(r) {
			fmt.Fprintf(&b, "%s\n\n", prose(r.Description))
		}
		if holds := whenItHolds(r); holds != "" {
			fmt.Fprintf(&b, "%s\n\n", holds)
		}
		m.checkHidden(r)
		switch {
		case r.Payload == nil:
			b.WriteString("(no content)\n")
		case !httpapi.IsText(r.Payload):
			b.WriteString("(not text)\n")
		default:
			b.WriteString(fenced(string(r.Payload)))
		}
		m.piece(r, b.String())
	}
}

// repeats reports whether a description only repeats the first line of the text that
// follows it.
func repeats(r *snapshot.Resource) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(string(r.Payload[:min(len(r.Payload), maxFirst)]), "# \t\r\n"), "\n")
	said := strings.Join(strings.Fields(strings.TrimSuffix(r.Description, "…")), " ")
	return said != "" && strings.HasPrefix(strings.Join(strings.Fields(first), " "), said)
}

// maxFirst is longer than any description.
const maxFirst = 8 << 10

func modeOrder(r *snapshot.Resource) int {
	switch r.Attributes["mode"].Text {
	case "", "always":
		return 0
	case "scoped":
		return 1
	}
	return 2
}

// whenItHolds says when a rule applies.
func whenItHolds(r *snapshot.Resource) string {
	mode, globs := r.Attributes["mode"].Text, r.Attributes["globs"]
	list := globs.List
	if globs.Text != "" {
		list = []string{globs.Text}
	}
	var spans []string
	for _, glob := range list {
		spans = append(spans, code(glob))
	}
	switch {
	case len(spans) > 0:
		return "For files that match " + strings.Join(spans, ", ") + "."
	case mode == "" || mode == "always":
		return ""
	}
	return "When: " + prose(strings.ReplaceAll(mode, "_", " ")) + "."
}

// catalog lists resources without their text.
func (m *markdown) catalog(title, hint string, list []*snapshot.Resource) {
	if len(list) == 0 {
		return
	}
	m.line("\n## %s\n", title)
	if hint != "" {
		m.line("%s\n", hint)
	}
	for _, r := range list {
		m.checkHidden(r)
		name := cmp.Or(r.Name, r.Key)
		line := "-"
		if name != "" {
			line += " " + code(name)
		}
		if r.Description != "" {
			line += ": " + prose(r.Description)
		}
		m.piece(r, fmt.Sprintf("%s (%s)\n", line, code(r.Source)))
	}
}

// checkHidden adds an issue for hidden characters in a rendered resource.
func (m *markdown) checkHidden(r *snapshot.Resource) {
	text := r.Name + r.Description
	if r.Kind == abi.KindInstructionFile && httpapi.IsText(r.Payload) {
		text += string(r.Payload)
	}
	if found := countHidden(text); found != "" {
		m.oddities = append(m.oddities, fmt.Sprintf("%s holds %s; read it with care.", code(r.ID()), found))
	}
}

// issues lists problems with their reasons.
func (m *markdown) issues(s *snapshot.Snapshot, broken []*snapshot.Resource) {
	var list []string
	if s.SnapshotError != "" {
		list = append(list, "The agent says: "+prose(s.SnapshotError))
	}
	for _, r := range broken {
		list = append(list, fmt.Sprintf("%s is left out (%s): %s", code(r.ID()), prose(string(r.Status)), prose(r.Error)))
	}
	for i := range s.Plugins {
		if p := &s.Plugins[i]; p.State != snapshot.PluginReady {
			list = append(list, fmt.Sprintf("Plugin %s is %s: %s", code(p.Name), prose(string(p.State)), prose(p.Error)))
		}
	}
	list = append(list, m.oddities...)
	if len(list) == 0 {
		return
	}
	m.line("\n## Issues\n")
	for _, text := range list {
		m.line("- %s", text)
	}
}

// hidden reports whether a character is invisible or changes the appearance of others:
// controls, direction marks, tags, zero-width characters.
func hidden(r rune) bool {
	switch r {
	case '\n', '\r', '\t', ' ', '\u00a0', '\ufeff' + 0:
		return r == '\ufeff'
	}
	return unicode.Is(unicode.C, r) || r == '\u2028' || r == '\u2029' || r == '\u034f' || r == '\u115f' || r == '\u1160' ||
		r == '\u3164' || r == '\uffa0' || unicode.Is(unicode.Variation_Selector, r) && r != '\ufe0e' && r != '\ufe0f'
}

// countHidden describes the hidden characters in a text; "" if there are none. Emoji
// contain some of them (U+200D), so this is only a hint.
func countHidden(text string) string {
	counts := map[rune]int{}
	total := 0
	for _, r := range text {
		if hidden(r) && r != utf8.RuneError {
			counts[r]++
			total++
		}
	}
	if total == 0 {
		return ""
	}
	var list []string
	for r, n := range counts {
		list = append(list, fmt.Sprintf("%U ×%d", r, n))
	}
	slices.Sort(list)
	if more := len(list) - 8; more > 0 {
		list = append(list[:8], fmt.Sprintf("%d others", more))
	}
	return fmt.Sprintf("%d invisible or directional characters (%s)", total, strings.Join(list, ", "))
}

// oneLine converts a text to a single line: hidden characters become visible, and white
// space becomes single spaces.
func oneLine(text string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(text), " ") {
		if hidden(r) {
			fmt.Fprintf(&b, "<%U>", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// prose returns oneLine as plain text in Markdown.
func prose(text string) string {
	var b strings.Builder
	for _, r := range oneLine(text) {
		if strings.ContainsRune("\\`*_[]<>&~|#!", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// code returns oneLine as a code span, with more backticks around it than in it.
func code(text string) string {
	text = oneLine(text)
	ticks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || text == "" {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// fenced returns a text unchanged, in a fence that it can't end.
func fenced(text string) string {
	fence := strings.Repeat("`", max(longestRun(text)+1, 3))
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + "text\n" + text + fence + "\n"
}

// longestRun returns the length of the longest run of backticks.
func longestRun(text string) (longest int) {
	run := 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
