package vfs

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
)

// PackedUnits is Units as plain data for any encoder, without the contents of files.
type PackedUnits struct {
	Rest  []Dep
	Files []Dep // each once, however many units have read it
	// Seen says for each file how many bytes of its beginning a guest has seen; -1 for all of
	// it and its size.
	Seen  []int64
	Units []PackedUnit
	// Keep is Limits.KeepBytes of the run, and Room what it left of Limits.ReadBytes.
	Keep, Room int64
}

// PackedUnit is one unit.
type PackedUnit struct {
	Key    string
	Value  []byte
	Deps   []Dep
	Files  []int // indexes into PackedUnits.Files
	Looks  []PackedLook
	Denied []Denial
	Used   Usage
}

// PackedLook is one answer that a unit got.
type PackedLook struct {
	Verb, Asked, Path string
	Type              fs.FileMode
	Size              int64
	Target            string
	File              int // an index into PackedUnit.Files, or -1
	Err               *Error
}

// Pack returns the units as plain data. It shares memory with u: don't modify it.
func (u *Units) Pack() PackedUnits {
	p := PackedUnits{Rest: u.rest, Units: make([]PackedUnit, len(u.list)), Keep: u.keep, Room: u.room}
	index := make(map[*unitFile]int)
	for i, unit := range u.list {
		k := PackedUnit{Key: unit.key, Value: unit.value, Deps: unit.deps, Denied: unit.denied, Used: unit.used}
		for _, f := range unit.files {
			at, ok := index[f]
			if !ok {
				at = len(p.Files)
				index[f] = at
				p.Files = append(p.Files, f.dep)
				p.Seen = append(p.Seen, f.seen)
			}
			k.Files = append(k.Files, at)
		}
		for _, l := range unit.answers {
			k.Looks = append(k.Looks, PackedLook{
				Verb: string(l.key.verb), Asked: l.key.path, Path: l.path, Type: l.info.Type, Size: l.info.Size,
				Target: l.target, File: l.file, Err: l.err,
			})
		}
		p.Units[i] = k
	}
	return p
}

// Unpack restores Units from the result of Pack. contents returns the whole of a file by its
// SHA-256, or nil if it isn't available; such a file is reread only when a run needs it.
// Unpack fails if the data can't be a result of Pack. The caller must make sure that it is
// one, and unmodified.
func (p PackedUnits) Unpack(contents func(hash []byte) []byte) (*Units, error) {
	if len(p.Seen) != len(p.Files) {
		return nil, fmt.Errorf("packed units say of %d files how much of them was seen, and have %d", len(p.Seen), len(p.Files))
	}
	files := make([]*unitFile, len(p.Files))
	for i, d := range p.Files {
		f := &unitFile{dep: d, seen: p.Seen[i]}
		if len(d.Hash) == sha256.Size {
			f.data = contents(d.Hash)
			f.kept = f.data != nil && int64(len(f.data)) == d.ID.Size
		}
		files[i] = f
	}
	units := &Units{rest: p.Rest, list: make([]*unit, len(p.Units)), keep: p.Keep, room: p.Room}
	for i := range p.Units {
		unit, err := p.Units[i].unpack(files)
		if err != nil {
			return nil, err
		}
		if i > 0 && unit.key <= p.Units[i-1].Key {
			return nil, fmt.Errorf("packed units are not in order at %q", unit.key)
		}
		units.list[i] = unit
	}
	units.trace = units.joined()
	return units, nil
}

func (p *PackedUnit) unpack(files []*unitFile) (*unit, error) {
	u := &unit{key: p.Key, value: p.Value, deps: p.Deps, denied: p.Denied, used: p.Used}
	for _, at := range p.Files {
		if at < 0 || at >= len(files) {
			return nil, fmt.Errorf("packed unit %q names file %d of %d", p.Key, at, len(files))
		}
		u.files = append(u.files, files[at])
	}
	for _, l := range p.Looks {
		if l.File < -1 || l.File >= len(u.files) {
			return nil, fmt.Errorf("packed unit %q looks at file %d of %d", p.Key, l.File, len(u.files))
		}
		k := unitAnswer{
			key: question{verb(l.Verb), l.Asked}, path: l.Path, info: Info{Type: l.Type, Size: l.Size},
			target: l.Target, file: l.File, err: l.Err,
		}
		if l.Err == nil {
			k.info.Ino = inoOf(l.Path)
		}
		u.answers = append(u.answers, k)
	}
	return u, nil
}
