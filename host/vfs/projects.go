package vfs

import (
	"io/fs"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"waymark/internal/beneath"
)

// Projects are the directories at the top of a root, as far as Root.Projects looks.
type Projects struct {
	// Names are those with a .git, be it a directory or a file, in byte order: each is
	// the top of a repository of its own.
	Names []string
	// Looked are all directories that were looked into for one, in byte order.
	Looked []string
	// More is how many more directories there are than were looked into.
	More int
}

// topNames sees what there is at the top.
var topNames = sync.OnceValues(func() (*Filter, error) { return View{Reads: []string{"*"}}.Compile() })

// Projects finds out which of at most so many directories at the top of the root are
// repositories of their own. Of .git, which is on the secret list, it asks whether it is
// there, and nothing else.
//
// What begins with a dot isn't looked into, nor node_modules, nor what is excluded or on
// the secret list, nor a link: nobody keeps projects there. Nor is a name with a backslash,
// since no resolver may say it.
//
// # Errors
//
// An *Error, where the root can't be listed; what was found until then is returned, too.
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
