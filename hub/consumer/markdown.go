package consumer

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/snapshot"
)

// renderMarkdown renders a snapshot for a prompt: the texts of instructions in
// order, a catalog of skills and of whatever else there is, and what a
// reader should know is missing. Texts stand in fences that nothing within
// them can end, as they are; everything else of the workspace is escaped.
func renderMarkdown(agentID string, stored *store.StoredSnapshot) []byte {
	m := &markdown{}
	m.line("# Workspace context")
	m.line("")
	m.line("Agent %s, revision %d, version %d.", code(agentID), stored.Revision, stored.Snapshot.Version)
	byKind := map[abi.Kind][]*snapshot.Resource{}
	var broken []*snapshot.Resource
	for i := range stored.Snapshot.Resources {
		r := &stored.Snapshot.Resources[i]
		if r.Status != snapshot.StatusOK {
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
	m.issues(&stored.Snapshot, broken)
	return m.buf.Bytes()
}

type markdown struct {
	buf bytes.Buffer
	// notes are what is odd about texts that are shown.
	notes []string
}

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.buf, format+"\n", args...) }

// instructions shows texts: first those that always hold, then those that hold
// for some files or on request.
func (m *markdown) instructions(list []*snapshot.Resource) {
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b *snapshot.Resource) int { return modeOrder(a) - modeOrder(b) })
	m.line("\n## Instructions")
	for _, r := range list {
		m.line("\n### %s", code(r.Source))
		m.line("")
		if r.Description != "" {
			m.line("%s\n", prose(r.Description))
		}
		if holds := whenItHolds(r); holds != "" {
			m.line("%s\n", holds)
		}
		m.note(r)
		switch {
		case r.Payload == nil:
			m.line("(no content)")
		case !isPlain(r.Payload):
			m.line("(not text)")
		default:
			m.buf.WriteString(fenced(string(r.Payload)))
		}
	}
}

func modeOrder(r *snapshot.Resource) int {
	switch r.Attributes["mode"].Text {
	case "", "always":
		return 0
	case "scoped":
		return 1
	}
	return 2
}

// whenItHolds says for what a rule is meant.
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

// catalog lists what there is, without its text.
func (m *markdown) catalog(title, hint string, list []*snapshot.Resource) {
	if len(list) == 0 {
		return
	}
	m.line("\n## %s\n", title)
	if hint != "" {
		m.line("%s\n", hint)
	}
	for _, r := range list {
		m.note(r)
		name := r.Name
		if name == "" {
			name = r.Key
		}
		line := "-"
		if name != "" {
			line += " " + code(name)
		}
		if r.Description != "" {
			line += ": " + prose(r.Description)
		}
		m.line("%s (%s)", line, code(r.Source))
	}
}

// note remembers hidden characters in what is shown of a resource.
func (m *markdown) note(r *snapshot.Resource) {
	text := r.Name + r.Description
	if r.Kind == abi.KindInstructionFile && isPlain(r.Payload) {
		text += string(r.Payload)
	}
	if found := countHidden(text); found != "" {
		m.notes = append(m.notes, fmt.Sprintf("%s holds %s; read it with care.", code(r.ID()), found))
	}
}

// issues lists what is not as it should be, with the reasons.
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
	list = append(list, m.notes...)
	if len(list) == 0 {
		return
	}
	m.line("\n## Issues\n")
	for _, text := range list {
		m.line("- %s", text)
	}
}
