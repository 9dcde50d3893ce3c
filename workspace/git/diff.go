package git

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"

	"waymark/host/vfs"
	"waymark/internal/beneath"
	"waymark/internal/text"
)

const (
	// maxDiff limits the diffs of a message, in bytes, as in Coder's agent.
	maxDiff = 3 << 20
	// maxCounted limits how much of a diff is read to determine its size, in bytes.
	maxCounted = 64 << 20
)

// patch is a diff that may be shown.
type patch struct {
	text     bytes.Buffer
	size     int64 // total size; if it exceeds maxDiff, the text is incomplete
	more     bool  // the size exceeds maxCounted
	withheld int   // number of files on the secret list
	notes    []string
}

// String returns the diff, or the sentence that replaces it.
func (p *patch) String() string {
	var head strings.Builder
	if p.withheld > 0 {
		fmt.Fprintf(&head, "# %s not shown: the secret list names them\n", text.Count(p.withheld, "file is", "files are"))
	}
	for _, note := range p.notes {
		head.WriteString("# " + note + "\n")
	}
	if p.size+int64(head.Len()) > maxDiff {
		return tooLarge(p.size, p.more)
	}
	return head.String() + p.text.String()
}

// tooLarge returns the sentence that replaces a diff. Coder's clients recognize its
// beginning.
func tooLarge(size int64, more bool) string {
	least := ""
	if more {
		least = "more than "
	}
	return fmt.Sprintf("Total diff too large to show. Size: %s%.1f MiB. Showing branch and remote only.", least, float64(size)/(1<<20))
}

// visible reports whether a file of a repository may be shown. The name is git's, with "/"
// as separator.
type visible func(name string) bool

// errEnough stops reading a diff.
var errEnough = errors.New("that is enough")

// readPatch reads the output of git diff, file by file.
func readPatch(r io.Reader, may visible) (*patch, error) {
	p := &patch{}
	err := sections(r, func(s *section) { p.add(s, may) })
	p.more = errors.Is(err, errEnough)
	return p, err
}

// sections reads the output of git diff and calls do with the section of each file. It
// returns errEnough if there is more than maxCounted.
func sections(r io.Reader, do func(*section)) error {
	s, size := &section{}, int64(0)
	lines := bufio.NewReaderSize(r, 64<<10)
	begins := true // at the beginning of a line
	for {
		part, err := lines.ReadSlice('\n')
		if begins && bytes.HasPrefix(part, []byte("diff --git ")) {
			do(s)
			s = &section{}
		}
		s.write(part, begins)
		size += int64(len(part))
		begins = err == nil
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			do(s)
			return nil
		case err != nil:
			return err
		case size > maxCounted:
			do(s)
			return errEnough
		}
	}
}

// section is the part of a diff about one file.
type section struct {
	head   []byte // everything before the first hunk
	body   []byte // everything from the first line that begins with @@, cut at maxDiff
	inBody bool
	nul    bool
	size   int64 // size of head and body
}

// maxHead limits what precedes the first hunk, in bytes: about ten lines, most with one or
// two names.
const maxHead = 128 << 10

func (s *section) write(part []byte, begins bool) {
	if begins && bytes.HasPrefix(part, []byte("@@ ")) {
		s.inBody = true
	}
	s.size += int64(len(part))
	s.nul = s.nul || bytes.IndexByte(part, 0) >= 0
	switch {
	case !s.inBody && len(s.head) < maxHead:
		s.head = append(s.head, part...)
	case s.inBody && len(s.body) <= maxDiff:
		s.body = append(s.body, part...)
	}
}

// add appends a section to the diff, unless it is about a secret file.
func (p *patch) add(s *section, may visible) {
	if !bytes.HasPrefix(s.head, []byte("diff --git ")) {
		return // output of git before the first file
	}
	from, to, err := names(string(s.head))
	if err != nil || !may(from) || !may(to) {
		p.withheld++
		return
	}
	shown := s.text(from, to)
	if s.nul {
		p.size += int64(len(shown))
	} else {
		p.size += max(s.size, int64(len(shown)))
	}
	if p.text.Len() <= maxDiff {
		p.text.WriteString(shown)
	}
}

// text returns what a section may show about the file with these names before and after.
func (s *section) text(from, to string) string {
	head, body := string(s.head), string(s.body)
	if s.nul {
		// git treats files as text if their first NUL is late or an attribute says so.
		head, body = binary(head, from, to), ""
	}
	return valid(head) + valid(body)
}

// binary reports whether the section says only that a binary file has changed.
func (s *section) binary() bool { return s.nul || bytes.Contains(s.head, []byte("\nBinary files ")) }

// valid replaces invalid UTF-8.
func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// binary returns the head of a section that only says that a binary file has changed.
func binary(head, from, to string) string {
	var b strings.Builder
	from, to = "a/"+from, "b/"+to
	for line := range strings.Lines(head) {
		switch {
		case strings.HasPrefix(line, "--- /dev/null"):
			from = "/dev/null"
		case strings.HasPrefix(line, "+++ /dev/null"):
			to = "/dev/null"
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		default:
			b.WriteString(strings.ReplaceAll(line, "\x00", "\uFFFD"))
		}
	}
	fmt.Fprintf(&b, "Binary files %s and %s differ\n", text.Printable(from), text.Printable(to))
	return b.String()
}

var errName = errors.New("it names no file")

// names returns the names of a section's file, before and after.
func names(head string) (from, to string, err error) {
	header, rest, _ := strings.Cut(head, "\n")
	header = strings.TrimPrefix(header, "diff --git ")
	for line := range strings.Lines(rest) {
		for prefix, name := range map[string]*string{"rename from ": &from, "copy from ": &from, "rename to ": &to, "copy to ": &to} {
			if quoted, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), prefix); ok {
				if *name, err = plainName(quoted); err != nil {
					return "", "", err
				}
			}
		}
	}
	if from == "" && to == "" {
		if from, err = sameName(header); err != nil {
			return "", "", err
		}
		to = from
	}
	if from == "" || to == "" || !isHeader(header, from, to) {
		return "", "", errName
	}
	return from, to, nil
}

// sameName returns the name that occurs twice in a header, apart from the prefixes.
func sameName(header string) (string, error) {
	if strings.HasPrefix(header, `"`) {
		name, _, err := unquote(header)
		return strings.TrimPrefix(name, "a/"), err
	}
	if len(header) < len("a/x b/x") {
		return "", errName
	}
	return header[len("a/") : len(header)/2], nil
}

// isHeader reports whether a header has these names, which may be quoted there.
func isHeader(header, from, to string) bool {
	rest, ok := strings.CutPrefix(header, "a/"+from)
	if strings.HasPrefix(header, `"`) {
		var name string
		var err error
		name, rest, err = unquote(header)
		ok = err == nil && name == "a/"+from
	}
	rest, space := strings.CutPrefix(rest, " ")
	name, err := plainName(rest)
	return ok && space && err == nil && name == "b/"+to
}

// plainName returns a name that may be quoted.
func plainName(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		return s, nil
	}
	name, rest, err := unquote(s)
	if err == nil && rest != "" {
		err = errName
	}
	return name, err
}

// unquote decodes a name in C-style quotes, and returns what follows it.
func unquote(s string) (name, rest string, err error) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return b.String(), s[i+1:], nil
		case c != '\\':
			b.WriteByte(c)
		case i+3 < len(s) && s[i+1] >= '0' && s[i+1] <= '3':
			n, err := strconv.ParseUint(s[i+1:i+4], 8, 8)
			if err != nil {
				return "", "", errName
			}
			b.WriteByte(byte(n))
			i += 3
		case i+1 < len(s):
			i++
			at := strings.IndexByte(`abtnvfr"\`, s[i])
			if at < 0 {
				return "", "", errName
			}
			b.WriteByte("\a\b\t\n\v\f\r\"\\"[at])
		}
	}
	return "", "", errName
}

// judge returns which files of a repository may be shown. The secret list applies to their
// whole path from the workspace's root: if somebody makes ~/.aws a repository, its files
// stay secret, unless it is the workspace itself.
func judge(top, root string) (visible, error) {
	if root == "" || !within(top, root) {
		root = "/"
	}
	guard, err := vfs.NewSecretGuard(nil)
	if err != nil {
		return nil, err
	}
	base := beneath.NewBase(cmp.Or(strings.TrimPrefix(root, "/"), "."), root)
	prefix := strings.Trim(strings.TrimPrefix(top, root), "/")
	return func(name string) bool {
		for part := range strings.SplitSeq(name, "/") {
			if part == "" || part == "." || part == ".." {
				return false // git doesn't allow such names, but an index may be forged
			}
		}
		_, secret := guard.Entry(base, valid(path.Join(prefix, name)))
		return !secret
	}, nil
}
