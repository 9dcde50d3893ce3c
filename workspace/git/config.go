package git

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// entry is one setting, with where it comes from.
type entry struct {
	scope  string // system, global, local, worktree, command
	file   string // as git says it
	key    string // section and key in lower case
	value  string
	isBare bool // a key without a value, which means true
}

// own reports whether a setting is of the repository and not of the user.
func (e *entry) own() bool { return e.scope == "local" || e.scope == "worktree" }

// isTrue reports whether a setting says yes.
func (e *entry) isTrue() bool {
	switch strings.ToLower(e.value) {
	case "true", "yes", "on", "1":
		return true
	}
	return e.isBare
}

// listConfig lists the settings in force, the strongest last. It executes nothing.
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

// userConfig is what the user's own configuration names.
type userConfig struct {
	until time.Time
	files []string // that git reads
}

// keepUserConfig is how long it is taken for what it was.
const keepUserConfig = 30 * time.Second

// userFiles returns the files that the user's configuration of git leads to: what
// it includes, and lists of what is ignored. The configuration of a repository
// can't add to them.
func (s *scan) userFiles(ctx context.Context) []string {
	s.mu.Lock()
	known := s.user
	s.mu.Unlock()
	if time.Now().Before(known.until) {
		return known.files
	}
	// There is no repository: the directory that is named isn't there.
	list, err := s.run.listConfig(ctx, command{dir: "/", env: s.run.environment("GIT_DIR=/dev/null/none")})
	if err != nil {
		return known.files // git says so again when it is asked for a repository
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

// expand makes a path of a setting absolute; "" where that can't be done.
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

// harmless are the settings that decide what differs. Nothing in them names a
// program. All other ones have no effect.
var harmless = []string{
	"core.autocrlf", "core.eol", "core.filemode", "core.ignorecase", "core.symlinks", "core.trustctime", "core.checkstat",
	"core.precomposeunicode", "core.protecthfs", "core.protectntfs", "core.bigfilethreshold",
	"core.sparsecheckout", "core.sparsecheckoutcone", "index.sparse",
}

// settings are what a scan takes from the configuration.
type settings struct {
	harmless []entry
	excludes string // core.excludesFile, absolute; "" where it isn't set
	remote   string // the URL of origin
	format   string // of objects: "sha1" or "sha256"
	worktree string // core.worktree, absolute; "" where it isn't set
	bare     bool
	sparse   bool // index.sparse
}

// settingsOf takes from a list what counts. What a repository includes from
// elsewhere doesn't.
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

// text is the configuration of a private repository.
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

// quoteSetting writes a value so that git reads the same one.
func quoteSetting(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value) + `"`
}
