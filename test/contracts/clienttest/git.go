package clienttest

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/host/codingagents"
	"waymark/host/sources"
	"waymark/snapshot"
)

// watching is a git watch at work.
type watching struct {
	s        *suite
	messages chan *agentapi.GitMessage
	refresh  chan struct{}
	known    map[string]agentapi.GitRepository
	end      func()
}

// watch begins a git watch, which ends with the part.
func (s *suite) watch(c client.Client) *watching {
	ctx, cancel := context.WithCancel(s.ctx)
	w := &watching{s: s, messages: make(chan *agentapi.GitMessage, 100), refresh: make(chan struct{}), known: map[string]agentapi.GitRepository{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for m, err := range c.WatchGit(ctx, client.GitOptions{Refresh: w.refresh}) {
			if err != nil {
				continue // the agent was restarted
			}
			select {
			case w.messages <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	w.end = func() { cancel(); <-done }
	s.Cleanup(w.end)
	return w
}

// next takes a message.
func (w *watching) next() *agentapi.GitMessage {
	w.s.Helper()
	select {
	case m := <-w.messages:
		if m.Type != agentapi.GitChanges || m.ScannedAt == nil {
			w.s.Errorf("a message is %+v", m)
		}
		for _, r := range m.Repositories {
			if r.Removed {
				delete(w.known, r.RepoRoot)
			} else {
				w.known[r.RepoRoot] = r
			}
		}
		return m
	case <-w.s.ctx.Done():
		w.s.Fatalf("nothing comes; what is known is %+v", w.known)
	}
	return nil
}

// until takes messages until what they have told so far is right.
func (w *watching) until(what string, ok func(known map[string]agentapi.GitRepository) bool) {
	w.s.Helper()
	for {
		if m := w.next(); ok(w.known) {
			return
		} else if w.s.ctx.Err() != nil {
			w.s.Fatalf("%s: the last message is %+v", what, m)
		}
	}
}

// ask asks for a refresh.
func (w *watching) ask() {
	select {
	case w.refresh <- struct{}{}:
	case <-w.s.ctx.Done():
	}
}

// answered takes messages until one is complete.
func (w *watching) answered() {
	w.s.Helper()
	for m := w.next(); len(m.Pending) > 0; m = w.next() {
	}
}

const committed = "one\ntwo\nthree\n"

// git: the workspace's own repository.
func (s *suite) git() {
	root := s.env.Root()
	w := s.watch(s.c)
	w.answered()
	if len(w.known) != 0 {
		s.Errorf("without a repository: %+v", w.known)
	}
	s.env.Repository(s, root)
	w.ask()
	w.until("the repository", func(known map[string]agentapi.GitRepository) bool { return len(known) == 1 })
	if r := w.known[root]; r.Branch != "main" || r.RemoteOrigin == "" || r.UnifiedDiff != "" {
		s.Errorf("at first it is %+v", r)
	}
	s.env.Change(s, root, "a.txt", "one\n2\nthree\n")
	w.ask()
	w.until("a change", func(known map[string]agentapi.GitRepository) bool {
		return strings.Contains(known[root].UnifiedDiff, "-two\n+2\n")
	})
	s.env.Change(s, root, "new.txt", "fresh\n")
	w.ask()
	w.until("a new file", func(known map[string]agentapi.GitRepository) bool {
		return strings.Contains(known[root].UnifiedDiff, "+fresh\n") && strings.Contains(known[root].UnifiedDiff, "+2\n")
	})
	second := s.watch(s.c)
	second.answered()
	if second.known[root] != w.known[root] {
		s.Errorf("another one sees %+v", second.known)
	}
	s.env.Restart(s)
	clear(w.known)
	w.until("a restart", func(known map[string]agentapi.GitRepository) bool {
		return strings.Contains(known[root].UnifiedDiff, "+fresh\n")
	})
	s.env.Unmake(s, root)
	w.ask()
	w.until("its end", func(known map[string]agentapi.GitRepository) bool { return len(known) == 0 })
}

// gitOfChats: the repositories that a chat and those below it have touched.
func (s *suite) gitOfChats() {
	root := s.env.Root()
	inner := root + "/inner"
	s.env.Repository(s, root)
	s.env.Repository(s, inner)
	parent, child := uuid.New(), uuid.New()
	parents := s.c.For(agentapi.Caller{Chat: parent})
	children := s.c.For(agentapi.Caller{Chat: child, Ancestors: []uuid.UUID{parent}})
	own, above, other := s.watch(children), s.watch(parents), s.watch(s.c.For(agentapi.Caller{Chat: uuid.New()}))
	for _, w := range []*watching{own, above, other} {
		w.answered()
		if len(w.known) != 0 {
			s.Errorf("before anything is touched: %+v", w.known)
		}
	}
	s.env.Change(s, inner, "a.txt", committed+"four\n")
	s.must(children.WriteFile(s.ctx, inner+"/b.txt", strings.NewReader("b\n")))
	for _, w := range []*watching{own, above} {
		w.until("the touched repository", func(known map[string]agentapi.GitRepository) bool {
			return strings.Contains(known[inner].UnifiedDiff, "+four\n")
		})
		if len(w.known) != 1 {
			s.Errorf("what was touched: %+v", w.known)
		}
	}
	other.ask()
	other.answered()
	if len(other.known) != 0 {
		s.Errorf("another chat sees %+v", other.known)
	}
}

// gitDiff: what isn't committed, for one call.
func (s *suite) gitDiff() {
	root := s.env.Root()
	ask := func(paths ...string) string {
		s.Helper()
		answer, err := s.c.GitDiff(s.ctx, agentapi.GitQuestion{Paths: paths})
		s.must(err)
		if len(answer.Repositories) != 1 || answer.Repositories[0].RepoRoot != root || answer.Repositories[0].Branch != "main" || answer.Repositories[0].Files == nil {
			s.Fatalf("the answer is %+v", answer)
		}
		said := ""
		for _, f := range answer.Repositories[0].Files {
			said += fmt.Sprintf("%s+%d-%d%s ", f.Path, f.Added, f.Removed, f.Note)
		}
		return said
	}
	_, err := s.c.GitDiff(s.ctx, agentapi.GitQuestion{})
	s.code("without a repository", err, 404)
	s.env.Repository(s, root)
	if got := ask(); got != "" {
		s.Errorf("at first it is %s", got)
	}
	s.env.Change(s, root, "a.txt", "one\n2\nthree\n")
	s.env.Change(s, root, "dir/new.txt", "fresh\n")
	if got := ask(); got != "a.txt+1-1 dir/new.txt+1-0 " {
		s.Errorf("then it is %s", got)
	}
	if got := ask(root + "/dir"); got != "dir/new.txt+1-0 " {
		s.Errorf("of a directory it is %s", got)
	}
	answer, err := s.c.GitDiff(s.ctx, agentapi.GitQuestion{Paths: []string{root + "/a.txt"}})
	if s.must(err); !strings.Contains(answer.Repositories[0].Diff, "-two\n+2\n") {
		s.Errorf("of a file it is %+v", answer)
	}
	_, err = s.c.GitDiff(s.ctx, agentapi.GitQuestion{Paths: []string{root + "/none"}})
	s.code("of what isn't there", err, 404)
	_, err = s.c.GitDiff(s.ctx, agentapi.GitQuestion{Paths: []string{"a.txt"}})
	s.code("of a relative path", err, 400)
	_, err = s.c.For(agentapi.Caller{Chat: uuid.New()}).GitDiff(s.ctx, agentapi.GitQuestion{})
	s.code("of a chat that has done nothing", err, 404)
}

// context: where context is looked for, and the context API's codes.
func (s *suite) context() {
	config, err := s.c.ContextConfig(s.ctx)
	s.must(err)
	if config.InstructionsFile != "AGENTS.md" || config.SkillMetaFile != "SKILL.md" || len(config.InstructionsDirs) == 0 || len(config.SkillsDirs) == 0 || len(config.MCPConfigFiles) == 0 {
		s.Errorf("the configuration is %+v", config)
	}
	for _, list := range [][]string{config.InstructionsDirs, config.SkillsDirs, config.MCPConfigFiles} {
		for _, name := range list {
			if !strings.HasPrefix(name, "/") {
				s.Errorf("%q is not absolute", name)
			}
		}
	}
	source := s.env.Home() + "/source"
	added, isNew, err := s.c.AddSource(s.ctx, source, false)
	if err != nil || !isNew || added.Path != source {
		s.Errorf("a new source: %+v, %v, %v", added, isNew, err)
	}
	if again, isNew, err := s.c.AddSource(s.ctx, source, false); err != nil || isNew || again.Path != source {
		s.Errorf("an old source: %+v, %v, %v", again, isNew, err)
	}
	list, err := s.c.Sources(s.ctx)
	s.must(err)
	found := 0
	for _, one := range list {
		if one.Path == source && one.Origin == sources.OriginAPI {
			found++
		}
	}
	if found != 1 {
		s.Errorf("the sources are %+v", list)
	}
	_, _, err = s.c.AddSource(s.ctx, "relative", false)
	s.code("a relative source", err, 400)
	_, err = s.c.Source(s.ctx, s.env.Outside()+"/none")
	s.code("no source", err, 404)
	s.must(s.c.RemoveSource(s.ctx, source))
	s.code("remove it again", s.c.RemoveSource(s.ctx, source), 404)
	_, err = s.c.Resource(s.ctx, "instruction_file:/none")
	s.code("no resource", err, 404)
	for _, id := range codingagents.IDs() {
		view, err := s.c.ClientContext(s.ctx, id, "")
		if err != nil || view.Client != id || view.Version == "" || !strings.HasPrefix(view.Root, "/") {
			s.Errorf("what %s sees: %+v, %v", id, view, err)
			continue
		}
		path := view.Root + "/AGENTS.md"
		if answer, err := s.c.ClientApplies(s.ctx, id, path); err != nil || answer.Client != id || answer.Path != path {
			s.Errorf("what %s has for a file: %+v, %v", id, answer, err)
		}
		if answers, err := s.c.ClientWhy(s.ctx, id, path, view.Root+"/none"); err != nil || len(answers) != 2 || answers[0].Client == nil || answers[1].Client.Reason != snapshot.ClientNotItsPlace {
			s.Errorf("what %s makes of two files: %+v, %v", id, answers, err)
		}
	}
	_, err = s.c.ClientContext(s.ctx, "nobody", "")
	s.code("an unknown client", err, 400)
	_, err = s.c.ClientContext(s.ctx, "codex", "relative")
	s.code("a relative directory", err, 400)
	_, err = s.c.ClientApplies(s.ctx, "nobody", "/x")
	s.code("a file for an unknown client", err, 400)
	_, err = s.c.ClientWhy(s.ctx, "", "/x")
	s.code("a file for no client", err, 400)
	_, err = s.c.Applies(s.ctx, "relative")
	s.code("what applies to a relative path", err, 400)
	_, err = s.c.SkillFiles(s.ctx, "skill:/none")
	s.code("no skill", err, 404)
	_, err = s.c.SkillFile(s.ctx, "skill:/none", "SKILL.md")
	s.code("no file of a skill", err, 404)
	_, err = s.c.Why(s.ctx, "relative")
	s.code("a relative path", err, 400)
	_, err = s.c.ApprovePlugin(s.ctx, "none", "none")
	s.code("a plugin that doesn't wait", err, 404)
	if snapshot, err := s.c.Resync(s.ctx); err != nil || snapshot.Version == 0 {
		s.Errorf("resync: %+v, %v", snapshot, err)
	}
	s.must(s.c.Health(s.ctx))
}
