package git_test

import (
	"cmp"
	"crypto/sha1"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/agentapi"
)

// hostile is a repository that wants to execute something, or to show what isn't
// its own.
type hostile struct {
	// make makes the repository in repo; bait is a program that makes the canary,
	// victim a repository outside of the workspace with files that hold "hunter".
	make func(p *place, bait string)
	// fires is what a user would do to set it off, with plain git, in repo.
	fires [][]string
	// shows is set where that prints a secret rather than executes.
	shows bool
	// root is what is looked at; "" is repo.
	root string
	// warned is a part of the warning, where the repository isn't shown at all.
	warned string
}

var diffHead = [][]string{{"diff", "HEAD"}}

// hostiles are all that are known.
var hostiles = map[string]hostile{
	"fsmonitor": {
		make:  func(p *place, bait string) { p.git("repo", "config", "core.fsmonitor", bait) },
		fires: [][]string{{"status"}},
	},
	"embedded bare repository": {
		make: func(p *place, bait string) {
			p.git("repo", "init", "-q", "--bare", "bare")
			p.git("repo/bare", "config", "core.worktree", "..")
			p.git("repo/bare", "config", "core.bare", "false")
			p.git("repo/bare", "config", "core.fsmonitor", bait)
		},
		fires: [][]string{{"-C", "bare", "status"}},
		root:  "repo/bare",
	},
	"hooks": {
		make: func(p *place, bait string) {
			p.script("repo/.git/hooks/post-index-change", bait)
			p.write("repo/f", "f\n") // what is touched is written to the index
		},
		fires: [][]string{{"update-index", "--force-write-index"}, {"status"}},
	},
	"hooks elsewhere": {
		make: func(p *place, bait string) {
			p.script("repo/hooks/post-index-change", bait)
			p.git("repo", "config", "core.hooksPath", "hooks")
			p.write("repo/f", "f\n")
		},
		fires: [][]string{{"update-index", "--force-write-index"}, {"status"}},
	},
	"external diff": {
		make:  func(p *place, bait string) { p.git("repo", "config", "diff.external", bait) },
		fires: diffHead,
	},
	"driver of an attribute": {
		make: func(p *place, bait string) {
			p.git("repo", "config", "diff.evil.command", bait)
			p.write("repo/.gitattributes", "* diff=evil\n")
		},
		fires: diffHead,
	},
	"textconv": {
		make: func(p *place, bait string) {
			p.git("repo", "config", "diff.evil.textconv", bait)
			p.write("repo/.git/info/attributes", "* diff=evil\n")
		},
		fires: diffHead,
	},
	"clean filter": {
		make: func(p *place, bait string) {
			p.git("repo", "config", "filter.evil.clean", bait)
			p.write("repo/.gitattributes", "* filter=evil\n")
		},
		fires: diffHead,
	},
	"filter process": {
		make: func(p *place, bait string) {
			p.git("repo", "config", "filter.evil.process", bait)
			p.git("repo", "config", "filter.evil.required", "true")
			p.write("repo/.gitattributes", "* filter=evil\n")
		},
		fires: diffHead,
	},
	"filter with a strange name": {
		make: func(p *place, bait string) {
			p.write("repo/.git/config", "[core]\n\trepositoryformatversion = 0\n[filter \"a=b.c d\\\"e\"]\n\tclean = "+bait+"\n[filter \"\"]\n\tclean = "+bait+"\n[filter \"x=y\"]\n\tclean = "+bait+"\n")
			p.write("repo/.gitattributes", "* filter=x=y\n")
		},
		fires: diffHead,
	},
	"filter in an included file": {
		make: func(p *place, bait string) {
			p.write("repo/.git/more", "[filter \"evil\"]\n\tclean = "+bait+"\n")
			p.git("repo", "config", "include.path", "more")
			p.write("repo/.gitattributes", "* filter=evil\n")
		},
		fires: diffHead,
	},
	"filter of a work tree's configuration": {
		make: func(p *place, bait string) {
			p.git("repo", "config", "extensions.worktreeConfig", "true")
			p.git("repo", "config", "--worktree", "filter.evil.clean", bait)
			p.write("repo/.gitattributes", "* filter=evil\n")
		},
		fires: diffHead,
	},
	"fsmonitor of a submodule": {
		make: func(p *place, bait string) {
			p.repo("lib", "l", "l\n")
			p.git("repo", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib")
			p.git("repo", "commit", "-qm", "lib")
			p.git("repo/lib", "config", "core.fsmonitor", bait)
			p.git("repo", "config", "diff.ignoreSubmodules", "none")
			p.git("repo", "config", "submodule.lib.ignore", "none")
			p.git("repo", "config", "diff.submodule", "diff")
		},
		fires: diffHead,
	},
	"partial clone": {
		make: func(p *place, bait string) {
			p.git("repo", "config", "core.repositoryFormatVersion", "1")
			p.git("repo", "config", "extensions.partialClone", "origin")
			p.git("repo", "config", "remote.origin.promisor", "true")
			p.git("repo", "config", "remote.origin.url", "ext::"+strings.ReplaceAll(strings.Trim(bait, "'"), " ", "% "))
			p.git("repo", "config", "protocol.ext.allow", "always")
			p.write("repo/.git/refs/heads/main", strings.Repeat("1", 40)+"\n")
		},
		fires:  diffHead,
		warned: "repo: ",
	},
	"partial clone over SSH": {
		make: func(p *place, bait string) {
			p.git("repo", "config", "core.repositoryFormatVersion", "1")
			p.git("repo", "config", "extensions.partialClone", "origin")
			p.git("repo", "config", "remote.origin.promisor", "true")
			p.git("repo", "config", "remote.origin.url", "ssh://example.invalid/x")
			p.git("repo", "config", "core.sshCommand", bait)
			blob := p.git("repo", "rev-parse", "HEAD:f")
			p.remove("repo/.git/objects/" + blob[:2] + "/" + blob[2:])
		},
		fires:  diffHead,
		warned: "repo: ",
	},
	"alias": {
		make:  func(p *place, bait string) { p.git("repo", "config", "alias.d", "!"+bait) },
		fires: [][]string{{"d"}},
	},
	"core.worktree": {
		make:   func(p *place, _ string) { p.git("repo", "config", "core.worktree", p.at("../victim")) },
		fires:  [][]string{{"add", "-A"}, {"diff", "HEAD"}},
		shows:  true,
		warned: "core.worktree leads to another directory",
	},
	"GIT_DIR file": {
		make: func(p *place, _ string) {
			p.remove("repo/.git")
			p.write("repo/.git", "gitdir: ../../victim/.git\n")
		},
		fires: diffHead, shows: true, warned: "outside the workspace",
	},
	"link to another repository": {
		make: func(p *place, _ string) {
			p.remove("repo/.git")
			p.link("../../victim/.git", "repo/.git")
		},
		fires: diffHead, shows: true, warned: "outside the workspace",
	},
	"work tree of another repository": {
		make: func(p *place, _ string) {
			p.git("../victim", "worktree", "add", "-q", "tree")
			p.remove("repo/.git")
			p.write("repo/.git", "gitdir: ../../victim/.git/worktrees/tree\n")
		},
		fires: diffHead, shows: true, warned: "doesn't name it",
	},
	"commondir": {
		make: func(p *place, _ string) {
			head := p.git("../victim", "rev-parse", "HEAD")
			p.write("repo/.git/commondir", "../../../victim/.git\n")
			p.write("repo/.git/HEAD", head+"\n")
		},
		fires: diffHead, shows: true, warned: "commondir leads to another repository",
	},
	"alternates": {
		make: func(p *place, _ string) {
			head := p.git("../victim", "rev-parse", "HEAD")
			p.write("repo/.git/objects/info/alternates", "../../../../victim/.git/objects\n")
			p.write("repo/.git/refs/heads/main", head+"\n")
		},
		fires: diffHead, shows: true, warned: "objects lie in another repository",
	},
	"objects are a link": {
		make: func(p *place, _ string) {
			head := p.git("../victim", "rev-parse", "HEAD")
			p.remove("repo/.git/objects")
			p.link("../../../victim/.git/objects", "repo/.git/objects")
			p.write("repo/.git/refs/heads/main", head+"\n")
		},
		fires: diffHead, shows: true, warned: "objects lie in another place",
	},
	"index that leaves the work tree": {
		make: func(p *place, _ string) {
			// git writes no such name, so an index with one of the same length is edited.
			p.write("repo/xx/xxxxxx/plain", "")
			p.git("repo", "add", "xx/xxxxxx/plain")
			data, err := os.ReadFile(p.at("repo/.git/index"))
			if err != nil {
				p.Fatal(err)
			}
			p.git("repo", "rm", "-q", "--cached", "xx/xxxxxx/plain")
			p.remove("repo/xx")
			edited := strings.ReplaceAll(string(data), "xx/xxxxxx/plain", "../../vict/file")
			p.write("../vict/file", "hunter\n")
			p.write("repo/.git/index", edited[:len(edited)-20]+sha1Of(edited[:len(edited)-20]))
		},
		fires: diffHead, shows: true,
	},
	"link to a directory outside": {
		make: func(p *place, _ string) {
			p.write("repo/dir/plain", "d\n")
			p.git("repo", "add", "dir")
			p.git("repo", "commit", "-qm", "dir")
			p.remove("repo/dir")
			p.link("../../victim", "repo/dir")
		},
		fires: [][]string{{"diff", "--no-index", "/dev/null", "dir/plain"}}, shows: true,
	},
	"include of a foreign configuration": {
		make: func(p *place, _ string) {
			p.git("../victim", "config", "remote.origin.url", "https://example.com/hunter")
			p.git("repo", "config", "include.path", p.at("../victim/.git/config"))
		},
		fires: [][]string{{"config", "remote.origin.url"}}, shows: true,
	},
	"ignores of others": {
		make:  func(p *place, _ string) { p.git("repo", "config", "core.excludesFile", p.at("../victim/plain")) },
		fires: [][]string{{"check-ignore", "-v", "hunter"}}, shows: true,
	},
	"all other programs": {
		make: func(p *place, bait string) {
			p.git("repo", "config", "core.pager", bait)
			p.git("repo", "config", "pager.diff", bait)
			p.git("repo", "config", "core.askPass", bait)
			p.git("repo", "config", "interactive.diffFilter", bait)
			p.git("repo", "config", "uploadpack.packObjectsHook", bait)
			p.git("repo", "config", "core.editor", bait)
			p.git("repo", "config", "gpg.program", bait)
			p.git("repo", "config", "credential.helper", "!"+bait)
			p.git("repo", "config", "sequence.editor", bait)
			p.git("repo", "config", "merge.evil.driver", bait)
			p.write("repo/.gitattributes", "* merge=evil\n")
		},
		fires: [][]string{{"commit", "--allow-empty"}},
	},
}

// script makes a program that runs another one.
func (p *place) script(path, bait string) {
	p.Helper()
	p.write(path, "#!/bin/sh\nexec "+bait+"\n")
	if err := os.Chmod(p.at(path), 0o755); err != nil {
		p.Fatal(err)
	}
}

func (p *place) link(target, path string) {
	p.Helper()
	if err := os.Symlink(target, p.at(path)); err != nil {
		p.Fatal(err)
	}
}

// TestHostile looks at repositories that a user had better not touch, and asks what has
// changed there: nothing is executed, and nothing shown that lies outside. The same ones
// do fire with plain git, so that the test can fail.
func TestHostile(t *testing.T) {
	t.Parallel()
	for name, h := range hostiles {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			canary := h.set(p)
			for way, launcher := range both(t) {
				if testing.Short() && way == "confined" { // which is another defense behind the first
					continue
				}
				s := p.serve(cmp.Or(h.root, "repo"), launcher)
				h.look(t, s, way)
				h.ask(t, s, way)
				if _, err := os.Stat(canary); err == nil {
					t.Fatalf("%s: it was executed", way)
				}
			}
			out := ""
			for _, args := range h.fires {
				some, _ := p.plain("repo", args...)
				out += some
			}
			_, err := os.Stat(canary)
			if !h.shows && err != nil {
				t.Errorf("plain git executes nothing, so this says nothing:\n%s", out)
			}
			if h.shows && !strings.Contains(out, "hunter") {
				t.Errorf("plain git shows nothing, so this says nothing:\n%s", out)
			}
		})
	}
}

// look watches the repository.
func (h hostile) look(t *testing.T, s *server, way string) {
	t.Helper()
	s.write("repo/f", "changed\n")
	c := s.dial("")
	s.Touched(agentapi.Caller{Chat: chat(1)}, s.at(cmp.Or(h.root, "repo")+"/f"), s.at("repo/x"))
	d := s.dial("?chat_id=" + chat(1).String())
	s.write("repo/f", "again\n")
	c.say(`{"type":"refresh"}`)
	c.answer()
	for _, c := range []*client{c, d} {
		text := c.diffs() + strings.Join(c.warnings, "\n")
		for _, r := range c.repos {
			text += r.RemoteOrigin + r.Branch
		}
		hasNot(t, text, "hunter")
		if h.warned != "" {
			has(t, strings.Join(c.warnings, "\n"), h.warned)
		} else if way == "unconfined" && len(c.repos) == 0 {
			t.Errorf("nothing is shown: %q", c.warnings)
		}
	}
}

// ask asks what has changed in the repository.
func (h hostile) ask(t *testing.T, s *server, way string) {
	t.Helper()
	answer, err := s.ask(t.Context(), agentapi.GitQuestion{})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(answer)
	hasNot(t, string(text), "hunter")
	if h.warned != "" {
		has(t, answer.Message, h.warned)
	} else if way == "unconfined" && len(answer.Repositories) == 0 {
		t.Errorf("nothing is shown: %s", text)
	}
}

// set makes the repository, the victim and the bait.
func (h hostile) set(p *place) (canary string) {
	p.Helper()
	canary = filepath.Join(filepath.Dir(p.dir), "canary")
	p.script("../bait", "touch '"+canary+"'")
	bait := "'" + p.at("../bait") + "'" // for shells: temporary files may be where there is a blank
	p.repo("../victim", "plain", "hunter\n", "more", "hunter2\n")
	p.repo("repo", "f", "f\n")
	h.make(p, bait)
	p.write("repo/f", "changed\n")
	if err := os.RemoveAll(canary); err != nil { // making it may have fired
		p.Fatal(err)
	}
	return canary
}

// sha1Of is the checksum at the end of an index.
func sha1Of(data string) string {
	sum := sha1.Sum([]byte(data))
	return string(sum[:])
}
