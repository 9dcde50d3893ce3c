package skills

import (
	"errors"
	"path"
	"strings"

	"waymark/abi"
	"waymark/plugins/internal/place"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
)

// headSize holds the front matter of nearly every skill.
const headSize = 4 << 10

// skill reports the skill in a directory, if it is one. dirName is the
// directory's own name, whatever path led to it.
func (f *finder) skill(dir, dirName string) {
	file := path.Join(dir, metaFile)
	head, read, state := place.Read(f.root, file, headSize)
	if state == place.Absent {
		return
	}
	r := guest.Resource{Kind: guest.Skill, Path: dir, Content: guest.File(file)}
	var err error
	switch {
	case state == place.Invalid:
		err = errors.New(metaFile + " is " + place.LinkToDirectory)
	case read:
		var m meta
		m, err = f.readMeta(file, head)
		r.Name = m.name.text
		if m.description.kind == isString {
			r.Description = guest.Truncate(strings.TrimSpace(m.description.text), abi.MaxDescription)
		}
		if err == nil {
			err = m.check(dirName)
		}
		if len(r.Name) > abi.MaxName {
			r.Name = ""
		}
	}
	if err != nil {
		r.Status = abi.StatusInvalid
		r.Error = guest.Truncate(err.Error(), abi.MaxError)
	}
	f.add(r)
}

// readMeta reads the front matter of a file whose head is given, and more of
// the file where the head doesn't hold all of it.
func (f *finder) readMeta(file string, head []byte) (meta, error) {
	limit, complete := f.req.MaxBytes(), len(head) < headSize
	block, _, err := frontmatter.Find(head, complete)
	if errors.Is(err, frontmatter.ErrOpen) && !complete && limit > headSize {
		if head, err = guest.ReadHead(f.root, file, limit+1); err != nil {
			return meta{}, nil //nolint:nilerr // gone or changed since: the host will see
		}
		block, _, err = frontmatter.Find(head, len(head) <= limit)
	}
	if err != nil {
		return meta{}, err
	}
	return f.yaml.parseMeta(block)
}

const (
	// describedMax is where rows go on without descriptions, listedMax where
	// they end. A host takes 1 MiB; the rest is for warnings.
	describedMax = 512 << 10
	listedMax    = 960 << 10
	// rowSize is what a row has besides its texts.
	rowSize = 128
)

// add appends a row while there is room, so that too many or too long ones
// cost themselves and not the whole answer.
func (f *finder) add(r guest.Resource) {
	size := rowSize + encodedSize(r.Path) + encodedSize(r.Content.File) + encodedSize(r.Name) + encodedSize(r.Error)
	if f.size+size > listedMax {
		f.unlisted++
		return
	}
	if description := encodedSize(r.Description); f.size+size+description <= describedMax {
		size += description
	} else {
		r.Description = ""
		f.undescribed++
	}
	f.size += size
	f.resp.Resources = append(f.resp.Resources, r)
}

// encodedSize is at least the length of s in JSON.
func encodedSize(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			n += 5 // \u0000
		case c == '"' || c == '\\':
			n++
		}
	}
	return n
}
