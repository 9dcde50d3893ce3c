package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"unicode/utf8"
)

// MachineFile is the configuration file of the machine, which only its operator
// writes.
const MachineFile = "/etc/waymark/plugin.toml"

// maxFile bounds a configuration file, in bytes. The annotated default has 8
// KiB; what is much larger is another file under the wrong name.
const maxFile = 1 << 20

// Load returns Default with the files laid over it, the later over the
// earlier. A file that doesn't exist is skipped; Paths.ConfigFiles says where
// files are looked for. All but MachineFile are taken for users' own: what that has
// they can narrow, and mcp.keys is an error in them.
//
// # Errors
//
// *Error for what the files say, the first problem, which unwraps to the others;
// otherwise the system's, with the path.
func Load(files ...string) (*Config, error) {
	c := Default()
	var first *Error
	for _, file := range files {
		err := c.read(file, false)
		var wrong *Error
		switch {
		case missing(err):
		case errors.As(err, &wrong) && first == nil:
			first = wrong
		case errors.As(err, &wrong):
			first.more = append(append(first.more, wrong), wrong.more...)
			wrong.more = nil
		case err != nil:
			return nil, err
		}
		if wrong != nil {
			c = Default() // what was laid over it is half a file
		}
	}
	if first != nil {
		return nil, first
	}
	return c, nil
}

// LoadFile is Load for a file that somebody named: it must exist, and may have mcp.keys.
// It is laid over those below, which needn't exist, such as MachineFile.
func LoadFile(file string, below ...string) (*Config, error) {
	c, err := Load(slices.DeleteFunc(slices.Clone(below), func(b string) bool { return b == file })...)
	if err == nil {
		err = c.read(file, true)
	}
	if missing(err) {
		return nil, fmt.Errorf("configuration file: %w: check the path, or leave --config out to use the defaults", err)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func (c *Config) read(file string, named bool) error {
	text, err := ReadFile(file)
	if err != nil {
		return err
	}
	if err := c.parse(document{file: file, text: text, named: named}); err != nil {
		return err
	}
	c.Files = append(c.Files, file)
	return nil
}

// ReadFile returns what a file holds that could be a configuration: it is a regular file
// of at most 1 MiB of UTF-8. It doesn't block.
func ReadFile(file string) (text string, err error) {
	// Without O_NONBLOCK a FIFO would block the start for ever.
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil {
		return "", err
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s: not a regular file: name a file in TOML", file)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxFile {
		return "", fmt.Errorf("%s: more than %s: is this the right file?", file, Bytes(maxFile))
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("%s: not UTF-8: save it as UTF-8 text", file)
	}
	return string(data), nil
}
