package launch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Spec is what to start, and how.
type Spec struct {
	// Argv is the program and its arguments. A name without a slash is searched in the
	// absolute directories of Env's PATH. One with a slash is relative to Dir.
	Argv []string `json:"argv"`
	// Dir is the absolute path of the working directory; empty means "/".
	Dir string `json:"dir,omitempty"`
	// Env is the complete environment.
	Env []string `json:"env,omitempty"`
	// Profile confines the program; nil doesn't. If the kernel can't enforce it, nothing is
	// started.
	Profile *Profile `json:"profile,omitempty"`
	// Kin says that the starter has called ScopeSignals. The program may signal what the
	// starter has started before, and Profile doesn't restrict signals further.
	Kin bool `json:"kin,omitempty"`
	// Nice is added to the starter's niceness, up to 19. OOMScore is set unless it is 0, up
	// to 1000; it never lowers the score.
	Nice     int `json:"nice,omitempty"`
	OOMScore int `json:"oom_score,omitempty"`
	// Umask is set unless it is nil.
	Umask *int `json:"umask,omitempty"`
	// Limits are set as soft and hard limits, by their lower-case names without RLIMIT_;
	// see LimitNames. Values above the starter's own limits are reduced to those. Under a
	// Profile, "core" defaults to 0.
	Limits map[string]uint64 `json:"limits,omitempty"`
	// Terminal says that standard input is a terminal, to be made the controlling terminal
	// of the program's session.
	Terminal bool `json:"-"`
}

const (
	// version is the version of the specification and the answer. Both ends usually come
	// from the same build, but the helper program may have been replaced.
	version = 1
	// maxSpec limits the specification, in bytes. The kernel accepts 6 MiB of arguments and
	// environment by default, which JSON may make six times as long.
	maxSpec = 64 << 20
	// maxNice and maxOOM are the kernel's maximums.
	maxNice, maxOOM = 19, 1000
)

// wireSpec is the encoding of a specification.
type wireSpec struct {
	Version int `json:"version"`
	Spec
}

// encode returns the encoded specification.
func (s *Spec) encode() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	w := wireSpec{version, *s}
	w.Argv, w.Env, w.Dir = each(s.Argv, escape), each(s.Env, escape), escape(s.Dir)
	return json.Marshal(&w)
}

// decode reads a specification. It accepts only the output of encode: an unknown or
// duplicate field may be a restriction.
func decode(r io.Reader) (*Spec, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSpec+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxSpec {
		return nil, fmt.Errorf("it has more than %d bytes", maxSpec)
	}
	var w wireSpec
	if err := json.Unmarshal(data, &w); err != nil {
		return nil, err
	}
	if w.Version != version {
		return nil, fmt.Errorf("it has version %d, and this program knows %d: start the agent again, it has been replaced", w.Version, version)
	}
	s := w.Spec
	s.Argv, s.Env, s.Dir = each(s.Argv, unescape), each(s.Env, unescape), unescape(s.Dir)
	again, err := s.encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(data, again) {
		return nil, errors.New("it holds something that this program doesn't know: start the agent again, one of the two has been replaced")
	}
	return &s, nil
}

// check refuses specifications that can't be started anywhere.
func (s *Spec) check() error {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return errors.New("there is no program to start: its name is empty")
	}
	for _, list := range [][]string{s.Argv, s.Env, {s.Dir}} {
		if slices.ContainsFunc(list, func(text string) bool { return strings.ContainsRune(text, 0) }) {
			return errors.New("an argument, a variable or the directory holds a NUL byte, which no program can be given")
		}
	}
	switch {
	case s.Dir != "" && !filepath.IsAbs(s.Dir):
		return fmt.Errorf("the working directory %q isn't an absolute path", s.Dir)
	case s.Nice < 0 || s.Nice > maxNice:
		return fmt.Errorf("nice is %d, and has to be between 0 and %d", s.Nice, maxNice)
	case s.OOMScore < 0 || s.OOMScore > maxOOM:
		return fmt.Errorf("the OOM score is %d, and has to be between 0 and %d", s.OOMScore, maxOOM)
	case s.Umask != nil && (*s.Umask < 0 || *s.Umask > 0o777):
		return fmt.Errorf("the umask is %#o, and has to be between 0 and 0777", *s.Umask)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Limits)) {
		if _, ok := limits[name]; !ok {
			return fmt.Errorf("there is no limit %q: there are %s", name, strings.Join(LimitNames(), ", "))
		}
	}
	if s.Profile != nil {
		return s.Profile.check()
	}
	return nil
}
