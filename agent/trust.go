package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"waymark/host/config"
	"waymark/host/places"
	"waymark/internal/atomicfile"
)

// ExposedConfig is a configuration file in a place that chats can write. Only its approved
// content counts, of which the agent keeps a copy.
type ExposedConfig struct {
	file     string       // absolute
	approved places.Place // the copy
}

// Exposed returns the ExposedConfig for a file; its copy is in the workspace's state.
func Exposed(file string, w *config.Workspace) *ExposedConfig {
	sum := sha256.Sum256([]byte(file))
	return &ExposedConfig{file, w.State.In("config", hex.EncodeToString(sum[:6])+".toml")}
}

// errUnapproved says that a file's content isn't the approved one.
var errUnapproved = errors.New("has changed since it was approved, and lies where chats work")

// check compares the file with its copy. The error matches errUnapproved if they differ,
// and fs.ErrNotExist if nothing was approved yet.
func (e *ExposedConfig) check() error {
	approved, err := config.ReadFile(e.approved.Path())
	if err != nil {
		return err
	}
	now, err := config.ReadFile(e.file)
	if err != nil || now != approved { // a missing file has changed, too
		return fmt.Errorf("configuration %s %w: what was approved stays in force; look at it with 'agent config approve %s'", e.file, errUnapproved, e.file)
	}
	return nil
}

// Copy returns the approved content. The error matches fs.ErrNotExist if there is none.
func (e *ExposedConfig) Copy() (string, error) { return config.ReadFile(e.approved.Path()) }

// Approve stores the approved content.
func (e *ExposedConfig) Approve(text string) error {
	if err := config.MakePrivate(filepath.Dir(e.approved.Path())); err != nil {
		return err
	}
	return atomicfile.WriteFile(e.approved.Path(), []byte(text), 0o600)
}

// trustConfig replaces configuration files that chats could write by their approved copies.
// A file that chats can't write counts as well if it is a link to one that they can.
// Starting an agent with such a file for the first time approves it.
func (s *Options) trustConfig(paths *config.Paths, w *config.Workspace) error {
	files := paths.ConfigFiles
	if s.ConfigFile != "" {
		files = []string{s.ConfigFile}
	}
	for i, file := range files {
		own, err := paths.Own.Add(places.Config, file)
		if at := places.Real(own.Path()); err == nil && at != own.Path() {
			_, err = paths.Own.Add(places.Config, at)
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, places.ErrExposed) {
			return err
		}
		e := Exposed(own.Path(), w)
		if err := s.approved(e); errors.Is(err, fs.ErrNotExist) && s.ConfigFile == "" {
			continue // there is no such file
		} else if err != nil {
			return err
		}
		s.exposed = append(s.exposed, e)
		if s.ConfigFile != "" {
			s.ConfigFile = e.approved.Path()
		} else {
			files[i] = e.approved.Path()
		}
	}
	return nil
}

// approved approves the content if nothing was approved before. If it has changed since, it
// asks Confirm, or logs a warning.
func (s *Options) approved(e *ExposedConfig) error {
	err := e.check()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return e.takeOver()
	case errors.Is(err, errUnapproved) && s.Confirm != nil:
		if counts, err := s.Confirm(err); !counts || err != nil {
			return err
		}
		return e.takeOver()
	case errors.Is(err, errUnapproved):
		s.Log.Warn(err.Error())
		return nil
	}
	return err
}

// unapproved returns an error for each file whose content isn't the approved one.
func (s *Settings) unapproved() (err error) {
	for _, e := range s.exposed {
		err = errors.Join(err, e.check())
	}
	return err
}

// takeOver approves the current content if it is a valid configuration.
func (e *ExposedConfig) takeOver() error {
	if _, err := config.LoadFile(e.file); err != nil {
		return err
	}
	text, err := config.ReadFile(e.file)
	if err != nil {
		return err
	}
	return e.Approve(text)
}
