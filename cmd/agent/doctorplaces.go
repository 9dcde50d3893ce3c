package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"waymark/agent"
	"waymark/agent/connect"
	"waymark/cmd/internal/cli"
	"waymark/host/config"
	"waymark/host/places"
	"waymark/host/plugin"
	"waymark/host/sandbox"
	"waymark/hub/client"
	"waymark/hub/shared"
	"waymark/internal/sealedstore"
	"waymark/snapshot"
)

// The checks in this file are about the agent's files and its configuration.

// places reports where the agent keeps things.
func (p *patient) places(context.Context) finding {
	if p.paths == nil {
		return failure("an agent can't start before", "%v", p.pathsErr)
	}
	sockets := p.paths.Sockets
	if p.paths.Socket != "" {
		sockets = p.paths.Socket
	}
	return fine("state in %s, cache in %s, sockets in %s", p.paths.State.Path(), p.paths.Cache.Path(), sockets)
}

// state checks the directory that must survive: it must belong to its user and be closed to
// all others.
func (p *patient) state(context.Context) finding {
	if p.paths == nil {
		return finding{}
	}
	dir := p.paths.State.Path()
	if err := writable(dir); err != nil {
		return failure("make it writable, or set XDG_STATE_HOME to a directory that is", "%v", err)
	}
	info, err := os.Lstat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fine("%s is made by the first start", dir)
	case err != nil:
		return failure("make it readable", "%v", err)
	case info.Mode().Perm()&0o077 != 0:
		return worry("chmod 700 "+dir+"; the next start does it, too", "%s is open to others, mode %04o", dir, info.Mode().Perm())
	}
	open, err := openToOthers(dir)
	switch {
	case err != nil:
		return failure("make it readable", "%v", err)
	case open != "":
		return worry("chmod 600 it", "%s can be read or written by others", open)
	}
	return fine("%s is yours alone", dir)
}

// openToOthers returns a file below dir that others could read if dir weren't closed to
// them.
func openToOthers(dir string) (found string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().Perm()&0o077 != 0 && found == "" {
			found = path
		}
		return nil
	})
	return found, err
}

// writable creates and removes a file in a directory, or in its nearest existing ancestor.
func writable(dir string) error {
	for {
		f, err := os.CreateTemp(dir, ".doctor-")
		if err == nil {
			return errors.Join(f.Close(), os.Remove(f.Name()))
		}
		above := filepath.Dir(dir)
		if _, serr := os.Lstat(dir); !errors.Is(serr, fs.ErrNotExist) || above == dir {
			var at *fs.PathError
			if errors.As(err, &at) {
				err = at.Err
			}
			return fmt.Errorf("%s can't be written: %w", dir, err)
		}
		dir = above
	}
}

// cache checks the directories of files that can be regenerated.
func (p *patient) cache(context.Context) finding {
	if p.paths == nil {
		return finding{}
	}
	if err := writable(p.paths.Cache.Path()); err != nil {
		return worry("make it writable, or set XDG_CACHE_HOME; until then each start compiles modules and looks at everything anew", "%v", err)
	}
	var told []string
	for _, dir := range []struct{ name, what string }{{"code", "compiled code"}, {"memo", "remembered results"}} {
		path := p.paths.Cache.In(dir.name).Path()
		size, err := sizeOf(path)
		if err == nil && size >= 0 {
			err = closedTo(path)
		}
		if err != nil {
			return worry("rm -r "+path+": it is made again", "%s is not used: %v", dir.what, err)
		}
		if size >= 0 {
			told = append(told, dir.what+" "+cli.Size(size))
		}
	}
	if len(told) == 0 {
		return fine("%s is made by the first start", p.paths.Cache.Path())
	}
	return fine("%s in %s", strings.Join(told, ", "), p.paths.Cache.Path())
}

// closedTo returns why a directory can't be used for sealed files.
func closedTo(path string) error {
	d, err := sealedstore.OpenDir(path)
	if err != nil {
		return err
	}
	return d.Close()
}

// sizeOf returns the size of all files below a directory, in bytes; -1 if it doesn't exist.
func sizeOf(dir string) (size int64, err error) {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed meanwhile
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		if info, err := d.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return size, err
}

// compiledCode checks whether the built-in resolvers run without being compiled first.
func (p *patient) compiledCode(context.Context) finding {
	module, err := p.app.Builtin()
	if err != nil {
		return failure("", "%v", err)
	}
	if p.config == nil {
		return finding{}
	}
	var opts sandbox.Options
	limits := sandbox.Limits{Memory: int64(p.config.Limits.Memory)}
	if p.paths != nil {
		code, key := p.paths.Cache.In("code").Path(), p.paths.State.In("key").Path()
		if isDir(code) && isDir(key) { // a check must not create them
			opts = sandbox.Options{CacheDir: code, KeyDir: key}
		}
	}
	var native io.ReaderAt
	if p.app.Native != nil {
		native = p.app.Native()
	}
	has, err := sandbox.New(opts).HasCode(module, native, limits)
	switch {
	case err != nil:
		return worry("", "%v", err)
	case !has:
		return worry("nothing, or 'make build' on this machine: the first start compiles them, which takes some seconds",
			"there is none of the built-in resolvers for this processor")
	}
	return fine("the built-in resolvers have some for this processor")
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// configuration checks the configuration files.
func (p *patient) configuration(context.Context) finding {
	var bad *config.Error
	switch {
	case errors.As(p.configErr, &bad):
		more := ""
		if n := len(bad.Unwrap()); n > 0 {
			more = fmt.Sprintf(", and %d more", n)
		}
		return failure("mend it, see 'agent config check'", "%v%s", bad, more)
	case p.configErr != nil:
		return failure("mend it, see 'agent config check'", "%v", p.configErr)
	case p.running() && p.status.ConfigError != "":
		return worry("mend it, see 'agent config check'", "what is on disk is not in force: %s", p.status.ConfigError)
	}
	if p.paths != nil {
		for _, warning := range configWarnings(p.config, p.paths) {
			return worry("see 'agent config check'", "%s", warning)
		}
	}
	if len(p.config.Files) == 0 {
		return fine("no file, so the defaults are in force")
	}
	return fine("%s", strings.Join(p.config.Files, ", "))
}

// pluginDirs checks who could put modules into the plugin directories, and the state of
// those that are there.
func (p *patient) pluginDirs(context.Context) finding {
	if p.config == nil {
		return finding{}
	}
	paths := cmp.Or(p.paths, &config.Paths{}) // without a home there are no plugins in it either
	dirs := append(agent.ExpandDirs(paths, p.config.Plugins.Dirs), p.settings.Plugins...)
	for _, dir := range dirs {
		if err := plugin.CheckDir(dir); err != nil {
			return failure("no module in it is used until that is mended", "%s: %v", dir, err)
		}
	}
	if p.running() {
		for _, m := range p.status.Plugins {
			if m.State != snapshot.PluginReady && m.State != snapshot.PluginCompiling {
				return worry("see 'agent plugins'", "%s is %s: %s", pluginName(m), m.State, m.Error)
			}
		}
		return fine("%s in use", cli.Count(len(p.status.Plugins), "module"))
	}
	return fine("nobody else can write to %s", strings.Join(dirs, ", "))
}

// tokens checks the files with tokens, and has the hub check the reader's.
func (p *patient) tokens(ctx context.Context) finding {
	if p.paths == nil {
		return finding{}
	}
	var files []places.Place
	for _, pattern := range []string{"*.token", "w/*/*.token"} { // of readers, and of each workspace's agent
		found, _ := filepath.Glob(p.paths.State.In(pattern).Path()) // fails only for a bad pattern
		for _, path := range found {
			if file, err := p.paths.Token(path); err == nil {
				files = append(files, file)
			}
		}
	}
	if p.config != nil && p.config.Push.TokenFile != "" {
		file, err := p.paths.Token(p.config.Push.TokenFile)
		if err != nil {
			return failure("and make another with 'hub token create', since somebody could have read it", "%v", err)
		}
		files = append(files, file)
	}
	for _, file := range files {
		if _, err := agent.ReadToken(file); err != nil {
			return failure("mend it, or make another with 'hub token create'", "%v", err)
		}
	}
	if len(files) == 0 {
		return fine("there are none yet; the first start makes them")
	}
	text := cli.Count(len(files), "file") + " that only you can read"
	if p.status == nil || p.status.Hub == "" {
		return fine("%s", text)
	}
	reader := shared.ReaderFile(p.paths.State.Path())
	token, err := agent.TokenIn(p.paths, reader)
	if err != nil {
		return failure("restart the agent: it makes it", "%v", err)
	}
	ctx, cancel := p.within(ctx)
	defer cancel()
	var refused *client.Error
	_, err = client.New(p.status.Hub, client.Options{Token: token}).Agents(ctx)
	switch {
	case errors.As(err, &refused):
		return failure("remove it and restart the agent, which makes another", "the hub refuses that in %s: %v", reader, refused)
	case err != nil:
		return fine("%s; the hub can't be asked about them", text) // another check reports that
	}
	return fine("%s, and the hub takes the reader's", text)
}

// clients lists the coding agents that start this agent as a server, and fails for those
// that no longer can.
func (p *patient) clients(context.Context) finding {
	c, err := connector()
	if err != nil {
		return finding{}
	}
	var connected []string
	for _, x := range c.List() {
		switch x.State {
		case connect.StateStale:
			return worry("agent connect "+x.Client, "%s is told to start %s, which isn't there any more", x.Name, cli.Visible(x.Program))
		case connect.StateConnected:
			connected = append(connected, x.Name)
		default: // no entry of ours
		}
	}
	if connected == nil {
		return finding{}
	}
	return fine("connected: %s", strings.Join(connected, ", "))
}
