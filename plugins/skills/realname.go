package skills

import (
	"io/fs"
	"path"
	"strings"
)

// maxLinks is where the kernel gives up, too.
const maxLinks = 40

// realName returns the name of the directory that a path with links leads to.
// Links are resolved name by name. What the resolver can't see can't be a link
// to it: then the text of the last link it saw decides, whose last name is
// right unless it is a link again.
func realName(root fs.FS, p, rootName string) string {
	links, ok := root.(fs.ReadLinkFS)
	if !ok {
		return path.Base(p)
	}
	done, todo := ".", p
	for hops := 0; todo != ""; {
		var first string
		first, todo, _ = strings.Cut(todo, "/")
		switch first {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done) // of "." it is "."
			continue
		}
		next := path.Join(done, first)
		target, err := links.ReadLink(next)
		if err != nil {
			done = next
			continue
		}
		if hops++; hops > maxLinks {
			return path.Base(p)
		}
		if strings.HasPrefix(target, "/") {
			done = "."
		}
		todo = target + "/" + todo
	}
	if done == "." {
		return rootName
	}
	return path.Base(done)
}
