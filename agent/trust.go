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

// ExposedConfig is a configuration file where chats work: they can write it, so what
// counts is its content as it was approved, of which the agent keeps a copy.
type ExposedConfig struct {
	file     string       // absolute
	approved places.Place // the copy
}

// Exposed is the copy for a file, in the state of a workspace.
func Exposed(file string, w *config.Workspace) *ExposedConfig {
	sum := sha256.Sum256([]byte(file))
	return &ExposedConfig{file, w.State.In("config", hex.EncodeToString(sum[:6])+".toml")}
}

// errUnapproved says that a file has another content than the approved one.
var errUnapproved = errors.New("has changed since it was approved, and lies where chats work")

// check compares the file with its copy. The error matches errUnapproved for another
// content, and fs.ErrNotExist where nothing was approved yet.
func (e *ExposedConfig) check() error {
	approved, err := config.ReadFile(e.approved.Path())
	if err != nil {
		return err
	}
	now, err := config.ReadFile(e.file)
	if err != nil || now != approved { // a file that is gone has changed, too
		return fmt.Errorf("configuration %s %w: what was approved stays in force; look at it with 'agent config approve %s'", e.file, errUnapproved, e.file)
	}
	return nil
}

// Copy is what was approved. The error matches fs.ErrNotExist where nothing was.
func (e *ExposedConfig) Copy() (string, error) { return config.ReadFile(e.approved.Path()) }

// Approve keeps a content as the approved one.
func (e *ExposedConfig) Approve(text string) error {
	if err := config.MakePrivate(filepath.Dir(e.approved.Path())); err != nil {
		return err
	}
	return atomicfile.WriteFile(e.approved.Path(), []byte(text), 0o600)
}

// trustConfig has configuration files that chats could write be replaced by their approved
// copies, those too to which a link leads that they can't write. Who starts an agent with
// a file for the first time has approved it.
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
			continue // there is none
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

// approved makes sure that there is an approved content, and says where another one has
// come since.
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

// unapproved says which files have another content than the approved one.
func (s *Settings) unapproved() (err error) {
	for _, e := range s.exposed {
		err = errors.Join(err, e.check())
	}
	return err
}

// takeOver approves what is there now, if it is a configuration.
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
