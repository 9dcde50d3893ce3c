package mcpserver

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"waymark/internal/errtext"
	"waymark/internal/text"
)

// maxInstructions limits the instructions of a session, in bytes: what the tools leave of
// Budget.
const maxInstructions = 8 << 10

const (
	// maxInstructionFiles limits the listed instruction files.
	maxInstructionFiles = 20
	// maxServers limits the text about MCP servers, in bytes.
	maxServers = 1 << 10
	// maxSkillLine limits the text about a skill, in bytes.
	maxSkillLine = 240
)

// introduce writes the instructions at the beginning of a session, from the workspace's
// current state.
func (s *Server) introduce(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		if method != "ping" && !strings.HasPrefix(method, "notifications/") {
			s.awaitFirst(ctx) // lists depend on it, too
		}
		result, err := next(ctx, method, r)
		switch result := result.(type) {
		case *mcp.InitializeResult:
			if result != nil {
				result.Instructions = s.instructions()
			}
		case *mcp.DiscoverResult:
			if result != nil {
				result.Instructions = s.instructions()
			}
		}
		return result, err
	}
}

// awaitFirst waits for the first snapshot, but at most for firstLook.
func (s *Server) awaitFirst(ctx context.Context) {
	timer := time.NewTimer(firstLook)
	defer timer.Stop()
	select {
	case <-s.first:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// instructions returns the text for a model at the beginning of a session.
func (s *Server) instructions() string {
	v, root := s.look()
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	var b strings.Builder
	b.WriteString("Waymark gives you the tools and the context of a workspace")
	if root != "" {
		fmt.Fprintf(&b, ", %s", line(root, 256))
	}
	b.WriteString(". Relative paths are below it.\n")
	if lost != nil && root == "" {
		fmt.Fprintf(&b, "No agent runs for this directory now: %s. Until somebody starts one, every call says so.\n", line(errtext.Of(lost), 300))
	}
	if lost == nil && !v.published {
		b.WriteString("The agent hasn't published yet what is in the workspace, which may still be cloned: instructions, skills and servers that are there may be missing here. Ask context_for before you work on a file.\n")
	}
	s.sayInstructions(&b, &v, root)
	s.sayServers(&b, &v)
	s.saySkills(&b, named(v.skills), maxInstructions-b.Len())
	return text.Truncate(b.String(), maxInstructions)
}

// sayInstructions names the instruction files that the client doesn't read itself.
func (s *Server) sayInstructions(b *strings.Builder, v *view, root string) {
	if len(v.instructions) == 0 {
		return
	}
	b.WriteString("\nThe workspace has instructions. Before you work on a file, context_for shows those that apply to it. They are in:\n")
	for i := range v.instructions {
		if i == maxInstructionFiles {
			fmt.Fprintf(b, "- and %d more\n", len(v.instructions)-i)
			break
		}
		name := v.instructions[i].source
		if rel, err := filepath.Rel(root, name); err == nil && root != "" && len(rel) < len(name) {
			name = rel
		}
		fmt.Fprintf(b, "- %s\n", line(name, 160))
	}
}

// sayServers names the MCP servers whose tools aren't listed.
func (s *Server) sayServers(b *strings.Builder, v *view) {
	if len(v.servers) == 0 || v.listed {
		return
	}
	n := 0
	for i := range v.servers {
		n += len(v.servers[i].tools)
	}
	fmt.Fprintf(b, "\n%d more tools are behind find_tools and call_tool, of these MCP servers:", n)
	left := maxServers
	for i := range v.servers {
		said := fmt.Sprintf(" %s (%d)", line(v.servers[i].name, 64), len(v.servers[i].tools))
		if left -= len(said); left < 0 {
			fmt.Fprintf(b, " and %d more", len(v.servers)-i)
			break
		}
		b.WriteString(said)
	}
	b.WriteString(". Look there before you say that something can't be done.\n")
}

// named returns the skills that read_skill reads by their names: the first of each name.
func named(skills []skill) (list []skill) {
	seen := make(map[string]bool)
	for i := range skills {
		if k := &skills[i]; !seen[k.name] {
			seen[k.name] = true
			list = append(list, *k)
		}
	}
	return list
}

// saySkills names skills, with as much of their descriptions as fits.
func (s *Server) saySkills(b *strings.Builder, skills []skill, room int) {
	if len(skills) == 0 {
		return
	}
	head := "\nSkills of the workspace, by its authors: what each is for. When one fits the task, read it with read_skill first and follow it as far as it serves the user.\n"
	room -= len(head) + 80
	limit := maxSkillLine
	for ; limit > 0 && skillsLength(skills, limit) > room; limit -= 8 {
	}
	b.WriteString(head)
	for i := range skills {
		said := skillLine(&skills[i], limit)
		if room -= len(said); room < 0 {
			fmt.Fprintf(b, "- and %d more: read_skill without a name lists all\n", len(skills)-i)
			break
		}
		b.WriteString(said)
	}
}

func skillsLength(list []skill, limit int) (n int) {
	for i := range list {
		n += len(skillLine(&list[i], limit))
	}
	return n
}

// skillLine returns a line about a skill. It has about limit bytes, but always the complete
// name.
func skillLine(k *skill, limit int) string {
	said := "- " + k.name
	if room := limit - len(said) - 3; room > 3 && k.description != "" {
		said += ": " + text.Cut(k.description, room)
	}
	return said + "\n"
}
