package tools

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"waymark/workspace"
	"waymark/workspace/client"
)

// maxChanged bounds the list of files that have changed in a repository.
const maxChanged = 200

// repository is what git_diff says of one.
type repository struct {
	Root   string    `json:"repo_root"`
	Branch string    `json:"branch"`
	Remote string    `json:"remote_origin,omitempty"`
	Files  []changed `json:"files"`
	// Omitted is how many more files have changed than Files names.
	Omitted int    `json:"omitted_files,omitempty"`
	Diff    string `json:"diff"`
	Note    string `json:"note,omitempty"`
}

// changed is a file that has changed.
type changed struct {
	Path    string `json:"path"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// gitDiff answers with what isn't committed: the names of all files that have changed, and
// as many of the diffs as fit.
func (c *call) gitDiff() (any, error) {
	in, err := decode[struct {
		Paths []string `json:"paths"`
	}](c)
	if err != nil {
		return nil, err
	}
	known := make(map[string]workspace.GitRepository)
	var said []string
	for m, err := range c.client.WatchGit(c, client.GitOptions{}) {
		if err != nil {
			return nil, err
		}
		if m.Type != workspace.GitChanges {
			continue
		}
		for _, r := range m.Repositories {
			known[r.RepoRoot] = r
		}
		if m.Message != "" {
			said = append(said, m.Message)
		}
		if len(m.Pending) == 0 {
			break
		}
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	answer := struct {
		Repositories []repository `json:"repositories"`
		Message      string       `json:"message,omitempty"`
	}{Repositories: []repository{}, Message: strings.Join(said, "\n")}
	left := maxDiffs
	for _, root := range slices.Sorted(maps.Keys(known)) {
		if r := known[root]; !r.Removed {
			answer.Repositories = append(answer.Repositories, diffOf(&r, in.Paths, &left))
		}
	}
	if len(answer.Repositories) == 0 && answer.Message == "" {
		return nil, wrong("there is no git repository: not around the workspace's directory or, for a chat, where it has worked")
	}
	return answer, nil
}

// diffOf is what is said of a repository, with diffs of at most left bytes, which it
// reduces.
func diffOf(r *workspace.GitRepository, paths []string, left *int) repository {
	out := repository{Root: r.RepoRoot, Branch: r.Branch, Remote: r.RemoteOrigin, Files: []changed{}}
	sections, err := split(r.UnifiedDiff)
	if err != nil { // a text in place of a diff that is too long
		out.Note = cut(r.UnifiedDiff, 500)
		return out
	}
	var b strings.Builder
	var without []string
	for _, s := range sections {
		if !wanted(r.RepoRoot, s.Path, paths) {
			continue
		}
		if len(out.Files) == maxChanged {
			out.Omitted++
			continue
		}
		out.Files = append(out.Files, s.changed)
		switch {
		case len(s.text) <= *left:
			b.WriteString(s.text)
			*left -= len(s.text)
		case len(paths) > 0 && *left == maxDiffs: // it alone is too long
			b.WriteString(cutLines(s.text, *left))
			*left = 0
			fallthrough
		default:
			without = append(without, s.Path)
		}
	}
	out.Diff = b.String()
	if len(without) > 0 {
		out.Note = "not all of " + strconv.Itoa(len(without)) + " files' diffs is shown, " + cut(strings.Join(without, ", "), 500) + ": ask for them by paths, or read the files"
	}
	return out
}

// wanted reports whether a file is one of those that were asked for, or below one.
func wanted(root, file string, paths []string) bool {
	return len(paths) == 0 || slices.ContainsFunc(paths, func(p string) bool {
		if path.IsAbs(p) {
			rel, ok := strings.CutPrefix(path.Clean(p)+"/", strings.TrimSuffix(root, "/")+"/")
			if !ok {
				return false
			}
			p = rel
		}
		p = path.Clean(p)
		return p == "." || p == file || strings.HasPrefix(file, p+"/")
	})
}

// section is the part of a diff that is about one file.
type section struct {
	changed
	text string
}

var errNoDiff = errors.New("not a diff")

// split divides a diff as git writes it.
func split(diff string) ([]section, error) {
	const begin = "diff --git "
	var list []section
	var body bool // in a hunk
	for line := range strings.Lines(diff) {
		if strings.HasPrefix(line, begin) {
			list = append(list, section{changed: changed{Path: nameIn(line[len(begin):])}})
			body = false
		}
		if len(list) == 0 {
			return nil, errNoDiff
		}
		s := &list[len(list)-1]
		s.text += line
		switch name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); {
		case strings.HasPrefix(line, "@@ "):
			body = true
		case body && line[0] == '+':
			s.Added++
		case body && line[0] == '-':
			s.Removed++
		case !body && name == "+++" && value != "/dev/null":
			s.Path = unprefixed(value)
		case !body && name == "---" && value != "/dev/null":
			s.Path = unprefixed(value)
		}
	}
	return list, nil
}

// nameIn is the name of the file in a line "a/NAME b/NAME".
func nameIn(names string) string {
	names = strings.TrimSuffix(names, "\n")
	if half := len(names) / 2; len(names)%2 == 1 && names[half] == ' ' {
		return unprefixed(names[half+1:])
	}
	_, after, _ := strings.Cut(names, " b/")
	return after
}

// unprefixed is a name without git's a/ or b/, and without its quotes.
func unprefixed(name string) string {
	name = strings.TrimSuffix(name, "\t") // after a name with blanks
	if plain, err := strconv.Unquote(name); err == nil && strings.HasPrefix(name, `"`) {
		name = plain
	}
	if len(name) > 2 && (name[:2] == "a/" || name[:2] == "b/") {
		return name[2:]
	}
	return name
}
