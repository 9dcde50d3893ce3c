package resolve

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/internal/text"
	"waymark/snapshot"
)

// attributeImports is where a built-in resolver puts the imports of a file, as written there.
const attributeImports = "imports"

// imports adds findings for imports of a file that lead nowhere. Only built-in resolvers get
// them, because a dropped-in one could learn what exists beyond its reads.
//
// Files that are hidden or outside the root aren't looked at, so that the finding doesn't
// reveal whether they exist.
func (r *rowReader) imports(row *abi.Resource, res *snapshot.Resource) {
	if r.resolver.DropIn || row.Kind != abi.KindInstructionFile || row.Content == nil || row.Content.File == "" {
		return
	}
	for _, written := range row.Attributes[attributeImports].List {
		if len(res.Findings) == abi.MaxFindings || !surelyAPath(written) {
			continue
		}
		if f, found := r.imported(row.Content.File, res.Source, written); found {
			f.Code, f.Message = abi.FindingImportMissing, text.Line(f.Message, abi.MaxMessage)
			res.Findings = addFinding(res.Findings, f)
		}
	}
}

// imported checks one import of a file: relative to the file and, if a link led to the file,
// relative to the link's target, because agents differ in that.
func (r *rowReader) imported(file, source, written string) (f snapshot.Finding, found bool) {
	root := r.root.FS.Path()
	from := filepath.Dir(filepath.Join(root, file))
	err := r.exists(from, written)
	if dir := filepath.Dir(source); err != nil && dir != from {
		if r.exists(dir, written) == nil {
			err = nil
		}
	}
	shown := fmt.Sprintf("%q", printable(written, maxShown))
	switch {
	case errors.Is(err, errOutside), errors.Is(err, vfs.ErrEscape):
		return snapshot.Finding{Severity: abi.SeverityInfo, Message: "it imports " + shown + ", which is outside of this root and not looked at"}, true
	case errors.Is(err, vfs.ErrHidden):
		return snapshot.Finding{Severity: abi.SeverityInfo, Message: "it imports " + shown + ", which is hidden here and not looked at"}, true
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return snapshot.Finding{Severity: abi.SeverityWarning, Message: "it imports " + shown + ", which isn't there"}, true
	}
	return f, false // it exists, or nothing is known
}

var errOutside = errors.New("outside of the root")

// exists looks for an import relative to a directory.
func (r *rowReader) exists(dir, written string) error {
	to := written
	switch {
	case strings.HasPrefix(to, "~/"):
		if r.home == "" {
			return errOutside
		}
		to = filepath.Join(r.home, to[2:])
	case !path.IsAbs(to):
		to = filepath.Join(dir, to)
	}
	rel, err := filepath.Rel(r.root.FS.Path(), to)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return errOutside
	}
	return r.run.Exists(filepath.ToSlash(rel))
}

// textFiles are suffixes that make a word after an @ certainly a path. Others are as often a
// package (@hotwired/turbo.js), a decorator (@app.route) or a host.
var textFiles = []string{
	".md", ".mdc", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".json", ".jsonc", ".yaml", ".yml", ".toml",
}

// surelyAPath reports whether a word after an @ can only be a path: it has a path's
// beginning, or the name of a text file. Agents try everything and silently skip what doesn't
// exist; warning of somebody's name would be worse than silence.
func surelyAPath(word string) bool {
	if strings.ContainsAny(word, "*?<>{}[]$|\\\"") { // a pattern, or a placeholder
		return false
	}
	if name := path.Base(word); name == "..." || strings.Contains(word, "…") {
		return false
	}
	if strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") {
		return true
	}
	return hasTextName(word)
}

func hasTextName(word string) bool {
	ext := path.Ext(word)
	return slices.ContainsFunc(textFiles, func(e string) bool { return strings.EqualFold(ext, e) })
}
