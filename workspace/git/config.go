package git

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is a setting and its origin.
type entry struct {
	scope  string // system, global, local, worktree, command
	file   string // as printed by git
	key    string // section and key in lower case
	value  string
	isBare bool // a key without a value, which means true
}

// own reports whether a setting belongs to the repository, not the user.
func (e *entry) own() bool { return e.scope == "local" || e.scope == "worktree" }

// isTrue reports whether a boolean setting is true.
func (e *entry) isTrue() bool {
	switch strings.ToLower(e.value) {
	case "true", "yes", "on", "1":
		return true
	}
	return e.isBare
}

// listConfig lists the settings in force, those with precedence last. It executes nothing.
func (r *runner) listConfig(ctx context.Context, c command) ([]entry, error) {
	c.args = []string{"config", "--list", "--includes", "--show-scope", "--show-origin", "-z"}
	out, err := r.output(ctx, &c)
	if err != nil {
		return nil, err
	}
	fields := strings.Split(string(out), "\x00")
	var list []entry
	for ; len(fields) >= 3; fields = fields[3:] {
		e := entry{scope: fields[0]}
		e.file = strings.TrimPrefix(fields[1], "file:")
		var hasValue bool
		e.key, e.value, hasValue = strings.Cut(fields[2], "\n")
		e.isBare = !hasValue
		list = append(list, e)
	}
	return list, nil
}

// userConfig caches the files of the user's configuration.
type userConfig struct {
	until time.Time
	files []string // files that git reads
}

// keepUserConfig is how long userConfig is valid.
const keepUserConfig = 30 * time.Second

// userFiles returns the files that the user's git configuration refers to: included files,
// and lists of ignored files. A repository's configuration can't add to them.
func (s *scan) userFiles(ctx context.Context) []string {
	s.mu.Lock()
	known := s.user
	s.mu.Unlock()
	if time.Now().Before(known.until) {
		return known.files
	}
	// Use no repository: this directory doesn't exist.
	list, err := s.run.listConfig(ctx, command{dir: "/", env: s.run.environment("GIT_DIR=/dev/null/none")})
	if err != nil {
		return known.files // git will report the error again for a repository
	}
	var files []string
	for _, e := range list {
		switch {
		case e.own():
			continue
		case e.key == "core.excludesfile", e.key == "core.attributesfile",
			e.key == "include.path", strings.HasPrefix(e.key, "includeif.") && strings.HasSuffix(e.key, ".path"):
			if path := s.run.expand(e.value, e.file); path != "" {
				files = append(files, path)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user = userConfig{time.Now().Add(keepUserConfig), files}
	return files
}

// expand makes a path in a setting absolute; "" if that is impossible.
func (r *runner) expand(path, file string) string {
	switch {
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(r.home, path[2:])
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	case filepath.IsAbs(file):
		return filepath.Join(filepath.Dir(file), path)
	}
	return ""
}

// harmless are the settings that affect what differs and name no program. All others are
// ignored.
var harmless = []string{
	"core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks", "core.trustctime", "core.checkstat",
	"core.precomposeunicode", "core.protecthfs", "core.protectntfs", "core.bigfilethreshold",
	"core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse",
}

// settings are the settings for a scan.
type settings struct {
	harmless []entry
	excludes string // core.excludesFile, absolute; "" if it isn't set
	remote   string // URL of origin
	format   string // object format: "sha1" or "sha256"
	worktree string // core.worktree, absolute; "" if it isn't set
	bare     bool
	sparse   bool // index.sparse
}

// settingsOf extracts the relevant settings from a list. It ignores files outside that a
// repository includes.
func (r *runner) settingsOf(list []entry, p *place, ours func(string) bool) settings {
	s := settings{format: "sha1"}
	for _, e := range list {
		file := e.file
		if !filepath.IsAbs(file) {
			file = filepath.Join(p.top, file)
		}
		if resolved, err := filepath.EvalSymlinks(file); err == nil {
			file = resolved
		}
		if e.own() && !ours(file) {
			continue
		}
		switch e.key {
		case "core.excludesfile":
			path := r.expand(e.value, "")
			if e.own() && !ours(path) {
				continue
			}
			s.excludes = path
		case "remote.origin.url":
			if s.remote == "" {
				s.remote = withoutCredentials(e.value)
			}
		case "extensions.objectformat":
			if e.own() && strings.EqualFold(e.value, "sha256") {
				s.format = "sha256"
			}
		case "core.worktree":
			if e.own() && e.value != "" {
				s.worktree = e.value
				if !filepath.IsAbs(s.worktree) {
					s.worktree = filepath.Join(p.git, s.worktree)
				}
			}
		case "core.bare":
			if e.own() {
				s.bare = e.isTrue()
			}
		default:
			if e.key == "index.sparse" {
				s.sparse = e.isTrue()
			}
			if slices.Contains(harmless, e.key) {
				s.harmless = append(s.harmless, e)
			}
		}
	}
	return s
}

// text returns the configuration of a private repository.
func (s *settings) text() string {
	var b strings.Builder
	version := "0"
	if s.format != "sha1" {
		version = "1\n[extensions]\n\tobjectFormat = " + s.format
	}
	b.WriteString("[core]\n\trepositoryFormatVersion = " + version + "\n[core]\n\tbare = false\n\tsafecrlf = false\n\tlogAllRefUpdates = false\n")
	for _, e := range s.harmless {
		section, key, _ := strings.Cut(e.key, ".")
		b.WriteString("[" + section + "]\n\t" + key)
		if !e.isBare {
			b.WriteString(" = " + quoteSetting(e.value))
		}
		b.WriteByte('\n')
	}
	if s.excludes != "" {
		b.WriteString("[core]\n\texcludesFile = " + quoteSetting(s.excludes) + "\n")
	}
	return b.String()
}

// quoteSetting quotes a value for a git configuration.
func quoteSetting(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}
