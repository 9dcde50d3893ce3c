// Package instructions is the built-in resolver for instruction files:
// AGENTS.md, CLAUDE.md, .cursorrules, or what the configuration names, at the
// top level of a root and in exact case.
//
// # Guarantees
//
// Only heads are read; the text itself is the host's business. What can't be
// read is reported all the same, for the host to classify. Order follows the
// configuration.
//
// # Limits
//
// The description is the first non-empty line among the first 4 KiB, at most
// 200 characters.
package instructions

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"waymark/abi"
	"waymark/plugins/internal/wellknown"
	guest "waymark/sdk-guest"
)

// Name is the resolver's name.
const Name = "instructions"

// keyFileNames is the config key with the names to look for.
const keyFileNames = "file_names"

var defaultFileNames = []string{"AGENTS.md", "CLAUDE.md", ".cursorrules"}

// Resolver returns the resolver.
func Resolver() guest.Resolver {
	return guest.Resolver{
		Name:            Name,
		Kinds:           []guest.Kind{guest.InstructionFile},
		Summary:         "AGENTS.md, CLAUDE.md and .cursorrules at the top level",
		Reads:           slices.Clone(defaultFileNames),
		ReadsFromConfig: []string{keyFileNames},
		Resolve:         resolve,
	}
}

func resolve(req *guest.Request, root fs.FS) (*guest.Response, error) {
	if req.Root.Role != abi.RoleNone && req.Root.Role != abi.RoleInstructions {
		return nil, nil
	}
	names, err := req.Config.Strings(keyFileNames, defaultFileNames...)
	if err != nil {
		return nil, err
	}
	resp := &guest.Response{}
	names = plainNames(names, resp)
	if req.Root.File != "" {
		if req.Root.Role == abi.RoleInstructions || slices.Contains(names, req.Root.File) {
			add(resp, root, req.Root.File)
		}
		return resp, nil
	}
	entries, err := fs.ReadDir(root, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return resp, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		i := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
		if i >= 0 && !entries[i].IsDir() {
			add(resp, root, name)
		}
	}
	return resp, nil
}

// plainNames keeps the names of files at the top level, each once.
func plainNames(names []string, resp *guest.Response) []string {
	var plain []string
	for _, name := range names {
		switch {
		case name == "" || name == "." || strings.Contains(name, "/") || !fs.ValidPath(name):
			resp.Warnings = append(resp.Warnings, keyFileNames+": "+strconv.Quote(guest.Truncate(name, 80))+
				" is not the name of a file at the top level; ignored")
		case !slices.Contains(plain, name):
			plain = append(plain, name)
		}
	}
	return plain
}

// headSize is where a first line is looked for.
const headSize = 4 << 10

func add(resp *guest.Response, root fs.FS, name string) {
	head, _, state := wellknown.Read(root, name, make([]byte, headSize))
	if state == wellknown.Absent {
		return
	}
	r := guest.Resource{Kind: guest.InstructionFile, Path: name, Content: guest.File(name)}
	if state == wellknown.Invalid {
		r.Status, r.Error = abi.StatusInvalid, wellknown.LinkToDirectory
	} else {
		r.Description = firstLine(head)
	}
	resp.Resources = append(resp.Resources, r)
}

// maxRunes keeps a description on a line or two of a table.
const maxRunes = 200

// firstLine returns the first line that isn't empty without its heading
// marks. Bytes that aren't UTF-8 and control characters become spaces.
func firstLine(head []byte) string {
	text := strings.TrimPrefix(string(head), "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		if line = strings.TrimSpace(clean(line)); line != "" {
			return line
		}
	}
	return ""
}

func clean(line string) string {
	var b strings.Builder
	runes := 0
	for _, r := range line {
		if runes++; runes > maxRunes {
			return strings.TrimSpace(b.String()) + "…"
		}
		if r == utf8.RuneError || r < ' ' || r >= 0x7f && r < 0xa0 {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}
