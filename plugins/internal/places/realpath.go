package places

import (
	"io/fs"
	"path"
	"strings"
)

// maxLinks is where the kernel gives up, too.
const maxLinks = 40

// RealPath returns the path that a path with links leads to. Links are resolved name by
// name. What the resolver can't see can't be a link to it: then the text of the last
// link it saw decides, whose last name is right unless it is a link again.
func RealPath(root fs.FS, p string) string {
	links, ok := root.(fs.ReadLinkFS)
	if !ok {
		return p
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
			return p
		}
		if strings.HasPrefix(target, "/") {
			done = "."
		}
		todo = target + "/" + todo
	}
	return done
}
