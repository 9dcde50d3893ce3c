package why

import (
	"io/fs"
	"strings"

	"waymark/host/vfs"
)

// search finds out where the way to a missing path ends: at a broken link, or
// at a name that is there in another case.
func (s *sight) search(run *vfs.Run, rel string) {
	dir, name, rest := rel, "", ""
	for dir != "." {
		rest = strings.TrimSuffix(name+"/"+rest, "/")
		dir, name = parent(dir), base(dir)
		info, err := run.Lstat(dir)
		if err != nil {
			continue
		}
		if info.Type&fs.ModeSymlink != 0 {
			if _, err := run.Stat(dir); err != nil {
				*s = sight{state: broken, at: dir}
				return
			}
		}
		break
	}
	if other := sibling(run, dir, name); other != "" {
		if rest != "" {
			other += "/" + rest
		}
		if _, err := run.Lstat(other); err == nil {
			s.other = other
		}
	}
}

// sibling is the path of an entry whose name differs by case only.
func sibling(run *vfs.Run, dir, name string) string {
	f, err := run.Open(dir)
	if err != nil || !f.IsDir() {
		return ""
	}
	entries, err := f.ReadDir()
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if e.Name != name && strings.EqualFold(e.Name, name) {
			return join(dir, e.Name)
		}
	}
	return ""
}

// join appends a path to a relative directory.
func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}
