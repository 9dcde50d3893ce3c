package tools

import (
	"cmp"
	"path"
	"strings"

	"waymark/agentapi"
	"waymark/internal/text"
)

const (
	// maxEntries limits a listing.
	maxEntries = 1000
	// maxDiffs limits all diffs in an answer, in bytes.
	maxDiffs = 32 << 10
)

// cut cuts a text and marks the cut.
func cut(s string, limit int) string { return text.Cut(s, limit) }

func (c *call) readFile() (any, error) {
	in, err := decode[struct {
		Path   string `json:"path"`
		Offset int64  `json:"offset"`
		Limit  int64  `json:"limit"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.Offset < 0 || in.Limit < 0 {
		return nil, wrong("offset and limit are numbers of lines, from 1")
	}
	path, err := c.absolute(in.Path, "path")
	if err != nil {
		return nil, err
	}
	lines, err := c.client.ReadFileLines(c, path, agentapi.LineRange{Offset: in.Offset, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	if !lines.Success {
		return nil, wrong("%s", lines.Error)
	}
	return struct {
		*agentapi.FileLines
		// Instructions are what stands in files of the workspace, for the files of a directory.
		Instructions []applying `json:"instructions,omitempty"`
	}{lines, c.comesWith(path)}, nil
}

func (c *call) writeFile() (any, error) {
	in, err := decode[struct {
		Path    string  `json:"path"`
		Content *string `json:"content"`
	}](c)
	if err != nil {
		return nil, err
	}
	if in.Content == nil {
		return nil, wrong("write_file needs content; an empty text makes an empty file")
	}
	path, err := c.absolute(in.Path, "path")
	if err != nil {
		return nil, err
	}
	if err := c.client.WriteFile(c, path, strings.NewReader(*in.Content)); err != nil {
		return nil, err
	}
	return done{true}, nil
}

func (c *call) editFiles() (any, error) {
	in, err := decode[struct {
		Files []agentapi.FileEdits `json:"files"`
	}](c)
	switch {
	case err != nil:
		return nil, err
	case len(in.Files) == 0:
		return nil, wrong("edit_files needs files, each with its path and edits")
	}
	for i := range in.Files {
		if in.Files[i].Path, err = c.absolute(in.Files[i].Path, "the path of each file"); err != nil {
			return nil, err
		}
	}
	edited, err := c.client.EditFiles(c, agentapi.EditFiles{Files: in.Files, IncludeDiff: true})
	if err != nil {
		return nil, err
	}
	left := maxDiffs
	for i := range edited.Files {
		f := &edited.Files[i]
		if len(f.Diff) > left {
			f.Diff = cutLines(f.Diff, left)
		}
		left -= len(f.Diff)
	}
	return edited, nil
}

// cutLines cuts a text to complete lines, and marks the cut.
func cutLines(s string, limit int) string {
	const mark = "... [cut here]\n"
	s = text.Truncate(s, max(limit-len(mark), 0))
	return s[:strings.LastIndexByte(s, '\n')+1] + mark
}

func (c *call) findFiles() (any, error) {
	in, err := decode[agentapi.FindFiles](c)
	if err != nil {
		return nil, err
	}
	if in.Query == "" {
		return nil, wrong("find_files needs query")
	}
	if in.Path, err = c.below(in.Path); err != nil {
		return nil, err
	}
	found, err := c.client.FindFiles(c, in)
	if err != nil {
		return nil, err
	}
	for i, name := range found.Files {
		found.Files[i] = path.Join(found.Path, name)
	}
	return found, c.shorten(&found.Path, found.Files)
}

func (c *call) searchFiles() (any, error) {
	in, err := decode[agentapi.SearchFiles](c)
	if err != nil {
		return nil, err
	}
	if in.Pattern == "" {
		return nil, wrong("search_files needs pattern")
	}
	if in.Path, err = c.below(in.Path); err != nil {
		return nil, err
	}
	found, err := c.client.SearchFiles(c, in)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(found.Files))
	for i := range found.Files {
		names[i] = path.Join(found.Path, found.Files[i].Path)
	}
	err = c.shorten(&found.Path, names)
	for i := range names {
		found.Files[i].Path = names[i]
	}
	return found, err
}

// below makes a model's path absolute. An empty one is the workspace's directory.
func (c *call) below(p string) (string, error) {
	if p == "" {
		return "", nil // the agent knows it
	}
	return c.absolute(p, "path")
}

// shorten makes paths that were found in a directory relative to the workspace's, as other
// tools take them, if that contains them.
func (c *call) shorten(dir *string, found []string) error {
	root, err := c.root()
	if err != nil {
		return err
	}
	if *dir != root && !strings.HasPrefix(*dir, strings.TrimSuffix(root, "/")+"/") {
		return nil
	}
	for i, name := range found {
		found[i] = strings.TrimPrefix(strings.TrimPrefix(name, root), "/")
	}
	*dir = cmp.Or(strings.TrimPrefix(strings.TrimPrefix(*dir, root), "/"), ".")
	return nil
}

// listed is the answer of list_directory.
type listed struct {
	Path string `json:"path"`
	// Entries are names; those of directories end with a slash.
	Entries []string `json:"entries"`
	// Next is the offset of the next page; nil on the last.
	Next *int `json:"next_offset,omitempty"`
}

func (c *call) listDirectory() (any, error) {
	in, err := decode[struct {
		Path   string `json:"path"`
		Offset int    `json:"offset"`
	}](c)
	if err != nil {
		return nil, err
	}
	in.Path = cmp.Or(in.Path, ".")
	path, err := c.absolute(in.Path, "path")
	if err != nil {
		return nil, err
	}
	dir, err := c.client.ListDirectory(c, agentapi.ListDirectory{Path: []string{path}, Relativity: "root"})
	switch {
	case err != nil:
		return nil, err
	case in.Offset < 0 || in.Offset > 0 && in.Offset >= len(dir.Contents):
		return nil, wrong("offset is from 0, and below %d, the number of entries", len(dir.Contents))
	}
	l := listed{Path: dir.AbsolutePathString, Entries: []string{}}
	page := dir.Contents[in.Offset:]
	if len(page) > maxEntries {
		page = page[:maxEntries]
		next := in.Offset + maxEntries
		l.Next = &next
	}
	for i := range page {
		name := page[i].Name
		if page[i].IsDir {
			name += "/"
		}
		l.Entries = append(l.Entries, name)
	}
	return l, nil
}
