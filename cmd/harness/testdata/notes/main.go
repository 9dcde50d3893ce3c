// Command notes is a module for the harness's tests: it finds NOTES.md and
// notes/*.md, and does what it shouldn't when a note says so.
package main

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"

	guest "waymark/sdk-guest"
)

func main() {}

func init() {
	guest.Serve(guest.Module{
		Name: "notes", Version: version,
		Resolvers: []guest.Resolver{{
			Name: "notes", Kinds: []guest.Kind{guest.InstructionFile}, Summary: "NOTES.md and notes/*.md",
			Reads: []string{"NOTES.md", "notes/*.md"}, ReadsFromConfig: []string{"extra"}, Resolve: notes,
		}, {
			Name: "titles", Kinds: []guest.Kind{guest.Command}, Summary: "the first line of NOTES.md, as a text of its own",
			Reads: []string{"NOTES.md"}, Resolve: titles,
		}},
	})
}

const version = "1.0.0"

func notes(req *guest.Request, root fs.FS) (*guest.Response, error) {
	files := []string{"NOTES.md"}
	extra, err := req.Config.Strings("extra")
	if err != nil {
		return nil, err
	}
	files = append(files, extra...)
	entries, err := fs.ReadDir(root, "notes")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		files = append(files, path.Join("notes", e.Name()))
	}
	resp := &guest.Response{}
	for _, file := range files {
		text, err := head(root, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		r := guest.Resource{Kind: guest.InstructionFile, Path: file, Content: guest.File(file)}
		obey(root, string(text), &r, resp)
		resp.Resources = append(resp.Resources, r)
	}
	return resp, nil
}

// head reads the beginning of a file: the rest may be any size.
func head(root fs.FS, file string) ([]byte, error) {
	f, err := root.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return io.ReadAll(io.LimitReader(f, 4096))
}

// obey does what the lines of a note say.
func obey(root fs.FS, text string, r *guest.Resource, resp *guest.Response) {
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "log":
			guest.Log(guest.LevelInfo, rest)
		case "warn":
			resp.Warnings = append(resp.Warnings, rest)
		case "peek":
			_, _ = fs.Stat(root, rest)
		case "mode":
			r.Attributes = map[string]guest.Value{"mode": {Text: rest}, "globs": {List: []string{"**/*.go"}}}
		case "invalid":
			r.Status, r.Error = "invalid", rest
		case "print":
			println(rest)
		case "flood":
			n, _ := strconv.Atoi(rest)
			for ; n > 0; n -= 10 {
				println("a flood ..")
			}
		case "panic":
			panic(rest)
		}
	}
}

func titles(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	text, err := head(root, "NOTES.md")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return &guest.Response{Resources: []guest.Resource{
		{Kind: guest.Command, Path: "NOTES.md", Name: "title", Content: guest.Inline(line + "\n")},
	}}, nil
}
