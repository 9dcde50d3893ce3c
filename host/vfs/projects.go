package vfs

import (
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// Projects are the directories at the top of a root, as found by Root.Projects.
type Projects struct {
	// Names lists those with a .git file or directory, in byte order. Each is the top of a
	// repository of its own.
	Names []string
	// Looked lists all directories that were checked for a .git, in byte order.
	Looked []string
	// More is how many directories were not checked.
	More int
}

// topNames sees the names at the top.
var topNames = sync.OnceValues(func() (*Filter, error) { return View{Reads: []string{"*"}}.Compile() })

// Projects finds which of the directories at the top of the root, at most the given number,
// are repositories of their own. Since .git is on the secret list, only its existence is
// checked.
//
// It skips names that begin with a dot, node_modules, excluded and secret directories, and
// links, because nobody keeps projects there. It also skips names with a backslash, which
// resolvers may not report.
//
// # Errors
//
// An *Error if the root can't be listed; what was found until then is returned, too.
func (r *Root) Projects(most int) (found Projects, err error) {
	filter, err := topNames()
	if err != nil {
		return found, err
	}
	run := r.Begin(filter, Limits{})
	defer func() { _ = run.Close() }()
	dir, err := run.Open(".")
	if err != nil {
		return found, err
	}
	entries, err := dir.ReadDir()
	if err != nil {
		return found, err
	}
	for _, e := range entries {
		if e.Type != fs.ModeDir || strings.HasPrefix(e.Name, ".") || e.Name == "node_modules" || strings.Contains(e.Name, `\`) {
			continue
		}
		if len(found.Looked) == most {
			found.More++
			continue
		}
		found.Looked = append(found.Looked, e.Name)
		var st unix.Stat_t
		if _, errno := run.walker.Stat(e.Name+"/.git", &st); errno == 0 {
			if typ := beneath.TypeOf(&st); typ.IsDir() || typ == 0 {
				found.Names = append(found.Names, e.Name)
			}
		}
	}
	return found, run.Err()
}
