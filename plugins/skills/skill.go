package skills

import (
	"errors"
	"strconv"
	"strings"

	"waymark/abi"
	"waymark/plugins/internal/wellknown"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/frontmatter"
	"waymark/sdk-guest/jsonlite"
)

// headSize holds the front matter of nearly every skill, and little of what follows:
// what changes there is no reason to look at a skill again.
const headSize = 1 << 10

// readSkill reads the skill in a directory, if it is one. file is the path of its
// SKILL.md, dirName the directory's own name, whatever path led to it.
func (f *finder) readSkill(dir, file, dirName string) (part guest.Part) {
	head, read, state := wellknown.Read(f.root, file, f.buf[:])
	if state == wellknown.Absent {
		return part
	}
	r := guest.Resource{Kind: guest.Skill, Path: dir, Content: guest.File(file)}
	var n needs
	var err error
	switch {
	case state == wellknown.Invalid:
		err = errors.New(f.file + " is " + wellknown.LinkToDirectory)
	case read:
		var m meta
		var block []byte
		if block, err = f.readBlock(file, head); err == nil {
			m, n.yaml, err = f.yaml.parseMeta(block)
			part.Forget = errors.Is(err, errYAMLBudget) // the next run may have more
		}
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
		fail(&r, err)
	}
	if r.Description != "" {
		n.description = len(`,"description":`) + jsonlite.StringLen(r.Description)
	}
	part.Rows, part.Note = guest.Encode(r), n.String()
	return part
}

func fail(r *guest.Resource, err error) {
	r.Status, r.Error = abi.StatusInvalid, guest.Truncate(err.Error(), abi.MaxError)
}

// needs is what a part takes of what all of them share.
type needs struct {
	yaml        int // bytes that went through the YAML library, or would have
	description int // bytes of the row that would go with it
}

func (n needs) String() string { return strconv.Itoa(n.yaml) + " " + strconv.Itoa(n.description) }

func parseNeeds(note string) (n needs) {
	yaml, description, _ := strings.Cut(note, " ")
	n.yaml, _ = strconv.Atoi(yaml)
	n.description, _ = strconv.Atoi(description)
	return n
}

// addSkill adds what readSkill found, in this run or an earlier one. What all
// skills share, the budget for YAML and the room in the response, is spent here
// and in add, since these see the skills of every run in the same order.
func (f *finder) addSkill(part guest.Part) {
	if part.Rows.Len() == 0 {
		return
	}
	n := parseNeeds(part.Note)
	if !f.yaml.spend(n.yaml) {
		part.Rows, n.description = change(part.Rows, func(r *guest.Resource) {
			*r = guest.Resource{Kind: r.Kind, Path: r.Path, Content: r.Content}
			fail(r, errYAMLBudget)
		}), 0
	}
	f.add(part.Rows, n.description)
}

// change makes another row of one.
func change(rows guest.Rows, how func(*guest.Resource)) guest.Rows {
	list, err := rows.Decode()
	if err != nil || len(list) != 1 {
		return rows // can't be: readSkill made them
	}
	how(&list[0])
	return guest.Encode(list[0])
}

// readBlock returns the front matter of a file whose head is given, and reads
// more of the file where the head doesn't hold all of it. Of a file that is
// gone it is empty.
func (f *finder) readBlock(file string, head []byte) ([]byte, error) {
	limit, complete := f.req.MaxBytes(), len(head) < headSize
	block, _, err := frontmatter.Find(head, complete)
	if errors.Is(err, frontmatter.ErrOpen) && !complete && limit > headSize {
		if head, err = guest.ReadHead(f.root, file, limit+1); err != nil {
			return nil, nil //nolint:nilerr // gone or changed since: the host will see
		}
		block, _, err = frontmatter.Find(head, len(head) <= limit)
	}
	return block, err
}

const (
	// describedMax is where rows go on without descriptions, listedMax where
	// they end, in bytes of the response. A host takes 1 MiB; the rest is for
	// warnings.
	describedMax = 512 << 10
	listedMax    = 960 << 10
)

// add appends a row while there is room, so that too many or too long ones
// cost themselves and not the whole answer. Of its bytes, so many are for the
// description.
func (f *finder) add(row guest.Rows, description int) {
	size := row.Len() + len(",")
	if f.size+size-description > listedMax {
		f.unlisted++
		return
	}
	if description > 0 && f.size+size > describedMax {
		row = change(row, func(r *guest.Resource) { r.Description = "" })
		size -= description
		f.undescribed++
	}
	f.size += size
	f.resp.Rows = append(f.resp.Rows, row)
}
