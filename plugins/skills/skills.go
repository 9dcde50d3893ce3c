// Package skills is the built-in resolver for Agent Skills: one skill for
// each directory with a SKILL.md in one of the containers skills,
// .agents/skills, .claude/skills and .codex/skills, or in the root itself when
// its name or its role is "skills".
//
// # Guarantees
//
// A skill is a directory: its path, and the name it must have, are those of
// the directory, also where a link leads there, so that it doesn't matter
// which link is followed first. Front matter must be right by every rule, or
// the skill is reported as invalid with the first rule it breaks. What can't
// be read is reported for the host to classify; a directory without SKILL.md
// is not a skill and not reported.
//
// # Limits
//
// Each directory is a unit of its own, so that an edit costs what one skill
// costs.
//
// Only heads of 1 KiB are read, and up to the host's limit per resource where
// the front matter is longer. All texts together stay below the size of a
// response; what would exceed it is left out with a warning. 512 KiB of front
// matter in all may need the YAML library: anchors and tags do, lists and maps
// don't.
package skills

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"syscall"

	"waymark/abi"
	guest "waymark/sdk-guest"
)

// Name is the resolver's name.
const Name = "skills"

// metaFile makes a directory a skill, unless the configuration's meta_file names
// another. Who configures one lets the resolver read it, too.
const metaFile = "SKILL.md"

// Containers are the directories whose children are skills.
var containers = []string{"skills", ".agents/skills", ".claude/skills", ".codex/skills"}

// Resolver returns the resolver.
func Resolver() guest.Resolver {
	reads := []string{metaFile, "*/" + metaFile}
	for _, c := range containers {
		reads = append(reads, c+"/*/"+metaFile)
	}
	return guest.Resolver{
		Name:    Name,
		Kinds:   []guest.Kind{guest.Skill},
		Summary: "SKILL.md in the directories of skills, .agents/skills, .claude/skills and .codex/skills",
		Reads:   reads,
		Resolve: resolve,
	}
}

func resolve(req *guest.Request, root fs.FS) (*guest.Response, error) {
	if req.Root.Role != abi.RoleNone && req.Root.Role != abi.RoleSkills {
		return nil, nil
	}
	f := &finder{req: req, root: root, yaml: fullYAMLBudget}
	var err error
	if f.file, err = req.Config.String("meta_file", metaFile); err != nil {
		return nil, err
	}
	if f.file != path.Base(f.file) || f.file == "." || f.file == ".." {
		return nil, errors.New("meta_file must be the name of a file, without directories")
	}
	if req.Root.File != "" {
		if req.Root.File == f.file {
			f.addSkill(f.readSkill(".", f.file, req.Root.Name))
		}
		return f.response(), nil
	}
	if req.Root.Role == abi.RoleSkills || req.Root.Name == "skills" {
		if err := f.container("."); err != nil {
			return nil, err
		}
	}
	for _, c := range containers {
		if err := f.container(c); err != nil {
			f.warn(c + ": " + err.Error())
		}
	}
	return f.response(), nil
}

// finder gathers the skills of one root.
type finder struct {
	req  *guest.Request
	root fs.FS
	file string // the name that SKILL.md has here
	resp guest.Response
	yaml yamlBudget
	size int            // estimate of the response's length
	buf  [headSize]byte // holds one head after the other
	// unlisted counts skills, undescribed descriptions that found no room.
	unlisted, undescribed int
}

func (f *finder) warn(text string) {
	f.resp.Warnings = append(f.resp.Warnings, guest.Truncate(text, abi.MaxError))
}

func (f *finder) response() *guest.Response {
	if f.undescribed > 0 {
		f.warn("too much text: the descriptions of " + strconv.Itoa(f.undescribed) + " skills were left out")
	}
	if f.unlisted > 0 {
		f.warn("too many skills: " + strconv.Itoa(f.unlisted) + " were left out")
	}
	return &f.resp
}

// container reports the skills of one container. One that isn't there, or
// isn't a directory, has none.
func (f *finder) container(dir string) error {
	entries, err := fs.ReadDir(f.root, dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		if info, statErr := fs.Stat(f.root, dir); statErr == nil && !info.IsDir() {
			return nil
		}
		return err
	}
	for _, e := range entries {
		if e.Type().IsRegular() {
			continue
		}
		f.addSkill(f.part(dir, e))
	}
	return nil
}

// part is the skill in an entry of a container, or nothing.
func (f *finder) part(dir string, e fs.DirEntry) guest.Part {
	if dir == "." {
		dir = ""
	} else {
		dir += "/"
	}
	link := e.Type()&fs.ModeSymlink != 0
	kind := "directory "
	if link {
		kind = "link "
	}
	// The key, the path and the file are parts of one text.
	text := kind + dir + e.Name() + "/" + f.file
	key, file := text[:len(text)-len(f.file)-1], text[len(kind):]
	return f.req.Part(key, func() guest.Part {
		p := key[len(kind):]
		if link {
			return f.readSkill(p, file, realName(f.root, p, f.req.Root.Name))
		}
		return f.readSkill(p, file, e.Name())
	})
}
