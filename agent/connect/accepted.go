package connect

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"waymark/host/codingagents"
)

// AcceptedFile is the file of a project with the differences that it accepts.
const AcceptedFile = ".waymark/differences.toml"

// Accepted is a difference that a project accepts, as AcceptedFile has it.
type Accepted struct {
	// ID is that of the difference, which is bound to contents and coding agents.
	ID string `toml:"id"`
	// What is what the difference was, for people. Reason is why it is accepted.
	What   string `toml:"what"`
	Reason string `toml:"reason"`
}

type acceptedFile struct {
	Accepted []Accepted `toml:"accepted"`
}

// Accept marks the differences of a comparison that the project accepts. It returns the accepted
// ones that no longer exist.
func (p *Project) Accept(c *codingagents.Comparison) (gone []Accepted, err error) {
	list, err := p.accepted()
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		at := slices.IndexFunc(c.Differences, func(d codingagents.Difference) bool { return d.ID == a.ID })
		if at < 0 {
			gone = append(gone, a)
		} else {
			c.Differences[at].Accepted = a.Reason
		}
	}
	return gone, nil
}

func (p *Project) accepted() ([]Accepted, error) {
	root, rel, err := p.open(filepath.Join(p.dir, AcceptedFile))
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	data, err := root.ReadFile(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var file acceptedFile
	meta, err := toml.Decode(string(data), &file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", AcceptedFile, err)
	case len(meta.Undecoded()) > 0:
		return nil, fmt.Errorf("%s: unknown key %s", AcceptedFile, meta.Undecoded()[0])
	}
	for _, a := range file.Accepted {
		if a.ID == "" || strings.TrimSpace(a.Reason) == "" {
			return nil, fmt.Errorf("%s: each difference needs an id and a reason", AcceptedFile)
		}
	}
	return file.Accepted, nil
}

// AddAccepted adds a difference to the file, or changes its reason, and takes out those that
// are no more.
func (p *Project) AddAccepted(c *codingagents.Comparison, d *codingagents.Difference, reason string) error {
	list, err := p.accepted()
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(a Accepted) bool {
		return a.ID == d.ID || !slices.ContainsFunc(c.Differences, func(d codingagents.Difference) bool { return d.ID == a.ID })
	})
	var text bytes.Buffer
	text.WriteString("# Differences between coding agents that this project accepts: see 'agent context --help'.\n")
	if err := toml.NewEncoder(&text).Encode(acceptedFile{append(list, Accepted{ID: d.ID, What: d.Text, Reason: reason})}); err != nil {
		return err
	}
	root, rel, err := p.open(filepath.Join(p.dir, AcceptedFile))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if _, err := makeDirs(root, filepath.Dir(rel)); err != nil {
		return err
	}
	before, err := root.ReadFile(rel)
	if errors.Is(err, fs.ErrNotExist) {
		return create(root, rel, text.Bytes(), 0o644)
	}
	if err != nil {
		return err
	}
	return replace(root, rel, before, text.Bytes())
}
