package tools

import (
	"context"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"

	"waymark/agentapi/client"
	"waymark/internal/text"
)

const (
	// maxTexts limits all texts of context_for together, maxText each of them, in bytes.
	maxTexts = 32 << 10
	maxText  = 16 << 10
	// maxApplying limits the listed resources.
	maxApplying = 100
)

// applying is an instruction file that applies to a file.
type applying struct {
	Path   string `json:"path"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
	// Text is the text of the file in the workspace.
	Text string `json:"text,omitempty"`
	Note string `json:"note,omitempty"`
}

type givenKey struct{}

// Given is what one chat has been given by read_file: the instructions of a directory come with
// the first file that is read there, as coding agents do it for the files that they read
// themselves. The zero value is that of a chat that begins.
type Given struct {
	mu   sync.Mutex
	seen map[string]bool // directories, and instruction files
}

// maxGiven bounds what is remembered of a chat. Beyond that nothing more is given.
const maxGiven = 10_000

// first reports whether it is asked for something for the first time.
func (g *Given) first(what string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.seen[what] || len(g.seen) >= maxGiven {
		return false
	}
	if g.seen == nil {
		g.seen = map[string]bool{}
	}
	g.seen[what] = true
	return true
}

// WithGiven makes read_file give a chat what it hasn't been given yet. Without it, read_file
// gives nothing but files.
func WithGiven(ctx context.Context, chat *Given) context.Context {
	return context.WithValue(ctx, givenKey{}, chat)
}

// comesWith returns the instructions of directories below the workspace's that the chat hasn't
// been given yet, nearest first, with a file that it reads.
func (c *call) comesWith(file string) (list []applying) {
	chat, _ := c.Value(givenKey{}).(*Given)
	if chat == nil || !chat.first(path.Dir(file)+"/") {
		return nil
	}
	found, err := c.client.Applies(c, file)
	if err != nil { // the file itself was read
		return nil
	}
	left := maxText
	for i := range found.Items {
		it := &found.Items[i]
		at := path.Join(found.Root, it.Path)
		if it.Applies && it.Kind == "instruction_file" && below(it.Path) && at != file && chat.first(at) && len(list) < maxApplying {
			a := applying{Path: it.Path, Name: it.Name, Reason: it.Reason}
			a.Text, a.Note = c.textOf(it.ID, found.Root, it.Path, left)
			left -= len(a.Text)
			list = append(list, a)
		}
	}
	return list
}

// below reports whether a path relative to the workspace is in a directory of it that isn't
// one of settings.
func below(p string) bool { return strings.Contains(p, "/") && p[0] != '.' && p[0] != '/' }

// contextFor answers with the texts of the instructions that apply to a file, each text once,
// and the names of its skills. A model can't use other kinds.
func (c *call) contextFor() (any, error) {
	in, err := decode[struct {
		Path string `json:"path"`
	}](c)
	if err != nil {
		return nil, err
	}
	file, err := c.absolute(in.Path, "path")
	if err != nil {
		return nil, err
	}
	found, err := c.client.Applies(c, file)
	if err != nil {
		return nil, err
	}
	answer := struct {
		Path     string     `json:"path"`
		Root     string     `json:"root"`
		Note     string     `json:"note"`
		Applies  []applying `json:"applies"`
		Skills   []string   `json:"skills,omitempty"` // read_skill reads them
		Omitted  int        `json:"omitted,omitempty"`
		Warnings []string   `json:"warnings,omitempty"`
	}{Path: found.Path, Root: found.Root, Applies: []applying{}, Warnings: found.Warnings,
		Note: "nearest first; each text is what stands in that file of the workspace, by whoever wrote it"}
	left, texts := maxTexts, make(map[string]string)
	for i := range found.Items {
		it := &found.Items[i]
		switch {
		case it.Kind == "skill":
			if skill := strings.TrimSpace(it.Name); it.Applies && skill != "" && !slices.Contains(answer.Skills, skill) && len(answer.Skills) < maxApplying {
				answer.Skills = append(answer.Skills, skill)
			}
			continue
		case !it.Applies, it.Kind != "instruction_file":
			continue
		case len(answer.Applies) == maxApplying:
			answer.Omitted++
			continue
		}
		a := applying{Path: it.Path, Name: it.Name, Reason: it.Reason}
		a.Text, a.Note = c.textOf(it.ID, found.Root, it.Path, min(left, maxText))
		if first, again := texts[a.Text]; again && a.Text != "" {
			a.Text, a.Note = "", "the same text as "+first
		} else {
			texts[a.Text] = a.Path
		}
		left -= len(a.Text)
		answer.Applies = append(answer.Applies, a)
	}
	return answer, nil
}

// textOf returns the text of a resource: as the agent has found it, or else from the file.
// The note says what is wrong with it.
func (c *call) textOf(id, root, file string, limit int) (s, note string) {
	if limit <= 0 {
		return "", "it has no room here: read_file shows it"
	}
	body, err := c.client.Resource(c, id)
	if client.CodeOf(err) == http.StatusNotFound {
		if !path.IsAbs(file) {
			file = path.Join(root, file)
		}
		var content io.ReadCloser
		if content, err = c.client.ReadFile(c, file, client.FileRange{Limit: int64(limit) + 1}); err == nil {
			body, err = io.ReadAll(io.LimitReader(content, int64(limit)+1))
			_ = content.Close()
		}
	}
	if err != nil {
		return "", text.Line("its text can't be read: "+err.Error(), 300)
	}
	if s = strings.ToValidUTF8(string(body), "\ufffd"); len(s) > limit {
		return cutLines(s, limit), "it is cut: read_file shows the rest"
	}
	return s, ""
}
