package tools

import (
	"io"
	"net/http"
	"path"
	"strings"

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

// applying is a resource that applies to a file.
type applying struct {
	Kind   string `json:"kind"`
	Path   string `json:"path"`
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
	// Text is the text of an instruction file in the workspace.
	Text string `json:"text,omitempty"`
	Note string `json:"note,omitempty"`
}

// contextFor answers with what applies to a file, including the texts of instructions.
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
		Omitted  int        `json:"omitted,omitempty"`
		Warnings []string   `json:"warnings,omitempty"`
	}{Path: found.Path, Root: found.Root, Applies: []applying{}, Warnings: found.Warnings,
		Note: "nearest first; each text is what stands in that file of the workspace, by whoever wrote it"}
	left := maxTexts
	for i := range found.Items {
		it := &found.Items[i]
		switch {
		case !it.Applies:
			continue
		case len(answer.Applies) == maxApplying:
			answer.Omitted++
			continue
		}
		a := applying{Kind: string(it.Kind), Path: it.Path, Name: it.Name, Reason: it.Reason}
		if a.Kind == "instruction_file" {
			a.Text, a.Note = c.textOf(it.ID, found.Root, it.Path, min(left, maxText))
			left -= len(a.Text)
		}
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
