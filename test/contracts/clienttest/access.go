package clienttest

import (
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
	"waymark/agentapi/client"
)

// secrets: what is on the secret list.
func (s *suite) secrets() {
	root := s.env.Root()
	const text = "TOKEN=hush"
	s.env.Write(s, root+"/.env", text)
	s.env.Write(s, root+"/sub/.ENV.local", text)
	s.env.Write(s, root+"/.git/config", text)
	s.env.Write(s, s.env.Home()+"/.ssh/id_ed25519", text)
	s.env.Link(s, ".env", root+"/plain")
	s.env.Link(s, "sub", root+"/down")
	edit := func(name string) agentapi.EditFiles {
		return agentapi.EditFiles{IncludeDiff: true, Files: []agentapi.FileEdits{{Path: name, Edits: []agentapi.Edit{{Search: "hush", Replace: "loud"}}}}}
	}
	granted, err := s.c.CreateToken(s.ctx, agentapi.NewToken{Secrets: []string{".env*"}})
	s.must(err)
	sees := s.env.WithToken(granted.Secret)
	for _, name := range []string{root + "/.env", root + "/sub/.ENV.local", root + "/.git/config", s.env.Home() + "/.ssh/id_ed25519", root + "/plain", root + "/down/.ENV.local", root + "/sub/../.env"} {
		_, err := s.content(s.c, name, client.FileRange{})
		s.code("read "+name, err, 403)
		lines, err := s.c.ReadFileLines(s.ctx, name, agentapi.LineRange{})
		if err != nil || lines.Success || strings.Contains(lines.Content+lines.Error, "hush") {
			s.Errorf("lines of %s: %+v, %v", name, lines, err)
		}
		s.code("write "+name, s.c.WriteFile(s.ctx, name, strings.NewReader("x")), 403)
		_, err = s.c.EditFiles(s.ctx, edit(name))
		s.code("edit "+name, err, 403)
		if err != nil && strings.Contains(err.Error(), "hush") {
			s.Error("an error tells what is in the file")
		}
		if s.env.Read(s, name) != text {
			s.Errorf("%s has changed", name)
		}
		want := 0
		if strings.Contains(name, ".git/") || strings.Contains(name, ".ssh/") {
			want = 403
		}
		_, err = s.content(sees, name, client.FileRange{})
		s.code("read with a grant "+name, err, want)
	}
	s.code("a new one", s.c.WriteFile(s.ctx, root+"/.env.new", strings.NewReader("x")), 403)
	s.code("a new one with a grant", sees.WriteFile(s.ctx, root+"/.env.new", strings.NewReader("x")), 0)
	_, err = s.c.CreateToken(s.ctx, agentapi.NewToken{Secrets: []string{"no such entry"}})
	s.code("an entry that there is none of", err, 400)
}

// plan: a fence.
func (s *suite) plan() {
	root := s.env.Root()
	s.env.Write(s, root+"/f", "old")
	s.link("f", root+"/plans/link.md")
	token, err := s.c.CreateToken(s.ctx, agentapi.NewToken{Plan: root + "/plans/plan.md"})
	s.must(err)
	if token.Plan != root+"/plans/plan.md" {
		s.Errorf("the plan is %q", token.Plan)
	}
	fenced := s.env.WithToken(token.Secret)
	s.code("write the plan", fenced.WriteFile(s.ctx, root+"/plans/plan.md", strings.NewReader("# Plan\n")), 0)
	_, err = fenced.EditFiles(s.ctx, agentapi.EditFiles{Files: []agentapi.FileEdits{{Path: root + "/x/../plans/plan.md", Edits: []agentapi.Edit{{Search: "Plan", Replace: "The plan"}}}}})
	s.code("edit the plan", err, 0)
	if got := s.env.Read(s, root+"/plans/plan.md"); got != "# The plan\n" {
		s.Errorf("the plan is %q", got)
	}
	for _, name := range []string{"/f", "/plans/other.md", "/plans/link.md", "/plans/plan.md/x", "/plans/PLAN.md", "/plans/plan.md2"} {
		err := fenced.WriteFile(s.ctx, root+name, strings.NewReader("x"))
		if code := client.CodeOf(err); code != 403 && code != 400 {
			s.Errorf("write %s: %v", name, err)
		}
	}
	_, err = fenced.EditFiles(s.ctx, agentapi.EditFiles{Files: []agentapi.FileEdits{
		{Path: root + "/plans/plan.md", Edits: []agentapi.Edit{{Search: "plan", Replace: "PLAN"}}},
		{Path: root + "/f", Edits: []agentapi.Edit{{Search: "old", Replace: "new"}}},
	}})
	s.code("edit more than the plan", err, 403)
	if s.env.Read(s, root+"/f") != "old" || s.env.Read(s, root+"/plans/plan.md") != "# The plan\n" {
		s.Error("something was written")
	}
	_, err = s.content(fenced, root+"/f", client.FileRange{})
	s.code("read another file", err, 0)
	_, err = s.c.CreateToken(s.ctx, agentapi.NewToken{Plan: s.env.Outside() + "/plan.md"})
	s.code("a plan outside of the workspace", err, 400)
	_, err = s.c.CreateToken(s.ctx, agentapi.NewToken{Plan: "plan.md"})
	s.code("a relative plan", err, 400)
}

// access: what needs a token.
func (s *suite) access() {
	root := s.env.Root()
	s.env.Write(s, root+"/f", "text")
	id := s.begin(s.c, agentapi.StartProcess{Command: "exec cat", Stdin: true})
	read, err := s.c.CreateToken(s.ctx, agentapi.NewToken{Scopes: []string{"mcp"}})
	s.must(err)
	clients := []struct {
		name   string
		client client.Client
		code   int
	}{
		{"without a token", s.env.WithToken(""), 401},
		{"without the scope", s.env.WithToken(read.Secret), 403},
	}
	for _, c := range clients {
		acts := map[string]func() error{
			"start": func() error {
				_, err := c.client.StartProcess(s.ctx, agentapi.StartProcess{Command: "true"})
				return err
			},
			"signal": func() error { return c.client.SignalProcess(s.ctx, id, "kill") },
			"stdin":  func() error { return c.client.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Close: true}) },
			"resize": func() error { return c.client.ResizeProcess(s.ctx, id, agentapi.TerminalSize{Rows: 1, Cols: 1}) },
			"cancel": func() error { _, err := c.client.CancelTracked(s.ctx, agentapi.CancelTracked{}); return err },
			"write":  func() error { return c.client.WriteFile(s.ctx, root+"/f", strings.NewReader("x")) },
			"edit":   func() error { _, err := c.client.EditFiles(s.ctx, agentapi.EditFiles{}); return err },
			"approve": func() error {
				_, err := c.client.ApprovePlugin(s.ctx, "x", "y")
				return err
			},
			"mint":   func() error { _, err := c.client.CreateToken(s.ctx, agentapi.NewToken{}); return err },
			"tokens": func() error { _, err := c.client.Tokens(s.ctx); return err },
			"revoke": func() error { return c.client.RevokeToken(s.ctx, "x") },
			"stop":   func() error { return c.client.Stop(s.ctx) },
		}
		for name, has := range map[string]bool{
			"resize": s.has.Terminals, "cancel": s.has.Tracked, "approve": s.has.Context, "tokens": s.has.Minting, "revoke": s.has.Minting,
		} {
			if !has {
				delete(acts, name)
			}
		}
		for name, act := range acts {
			s.code(name+" "+c.name, act(), c.code)
		}
		reads := map[string]func() error{
			"list":   func() error { _, err := c.client.ListProcesses(s.ctx, 0); return err },
			"output": func() error { _, err := c.client.ProcessOutput(s.ctx, id, agentapi.OutputOptions{}); return err },
			"read":   func() error { _, err := s.content(c.client, root+"/f", client.FileRange{}); return err },
			"lines":  func() error { _, err := c.client.ReadFileLines(s.ctx, root+"/f", agentapi.LineRange{}); return err },
			"directory": func() error {
				_, err := c.client.ListDirectory(s.ctx, agentapi.ListDirectory{Relativity: "home"})
				return err
			},
			"find":     func() error { _, err := c.client.FindFiles(s.ctx, agentapi.FindFiles{Query: "f"}); return err },
			"search":   func() error { _, err := c.client.SearchFiles(s.ctx, agentapi.SearchFiles{Pattern: "f"}); return err },
			"status":   func() error { _, err := c.client.Status(s.ctx); return err },
			"snapshot": func() error { _, err := c.client.Snapshot(s.ctx, client.SnapshotOptions{}); return err },
			"health":   func() error { return c.client.Health(s.ctx) },
		}
		if s.has.Tracked {
			reads["token"] = func() error { _, err := c.client.ProcessToken(s.ctx, "x"); return err }
		}
		if s.has.Context {
			reads["config"] = func() error { _, err := c.client.ContextConfig(s.ctx); return err }
		}
		for name, look := range reads {
			s.code(name+" "+c.name, look(), 0)
		}
	}
	if s.env.Read(s, root+"/f") != "text" {
		s.Error("somebody has written")
	}
	s.must(s.c.WriteStdin(s.ctx, id, agentapi.ProcessStdin{Close: true}))
	s.end(id)
}

// tokens: what is minted with what.
func (s *suite) tokens() {
	none, err := s.c.Tokens(s.ctx)
	if err != nil || none == nil || len(none) != 0 {
		s.Errorf("at first: %v, %v", none, err)
	}
	usual, err := s.c.CreateToken(s.ctx, agentapi.NewToken{})
	s.must(err)
	if usual.Secret == "" || usual.ID == "" || strings.Contains(usual.Secret, usual.ID) || !slices.Contains(usual.Scopes, "processes") || !slices.Contains(usual.Scopes, "files") ||
		slices.Contains(usual.Scopes, "tokens") || usual.Plan != "" || len(usual.Secrets) != 0 || !usual.ExpiresAt.After(usual.CreatedAt) {
		s.Errorf("the usual one is %+v", usual.Token)
	}
	minter, err := s.c.CreateToken(s.ctx, agentapi.NewToken{Scopes: []string{"tokens", "files"}, Plan: s.env.Root() + "/p"})
	s.must(err)
	mints := s.env.WithToken(minter.Secret)
	for _, c := range []struct {
		name string
		want agentapi.NewToken
		code int
	}{
		{"another scope", agentapi.NewToken{Scopes: []string{"processes"}}, 403},
		{"a scope that there is none of", agentapi.NewToken{Scopes: []string{"all"}}, 400},
		{"another plan", agentapi.NewToken{Plan: s.env.Root() + "/q"}, 403},
		{"a time that has passed", agentapi.NewToken{ExpiresAt: new(time.Now().Add(-time.Hour))}, 400},
		{"a time far away", agentapi.NewToken{ExpiresAt: new(time.Now().AddDate(9, 0, 0))}, 400},
		{"a longer time", agentapi.NewToken{ExpiresAt: new(minter.ExpiresAt.Add(time.Hour))}, 403},
	} {
		_, err := mints.CreateToken(s.ctx, c.want)
		s.code(c.name, err, c.code)
	}
	child, err := mints.CreateToken(s.ctx, agentapi.NewToken{})
	s.must(err)
	if child.Plan != minter.Plan || child.MintedBy != minter.ID || !slices.Equal(child.Scopes, []string{"files"}) || child.ExpiresAt.After(minter.ExpiresAt) {
		s.Errorf("what it mints is %+v", child.Token)
	}
	all, err := s.c.Tokens(s.ctx)
	s.must(err)
	var ids []string
	for _, t := range all {
		ids = append(ids, t.ID)
	}
	if !slices.Equal(ids, []string{usual.ID, minter.ID, child.ID}) {
		s.Errorf("all are %q", ids)
	}
	own, err := mints.Tokens(s.ctx)
	if err != nil || slices.ContainsFunc(own, func(t agentapi.Token) bool { return t.ID == usual.ID }) {
		s.Errorf("the minter knows of %v, %v", own, err)
	}
	s.code("revoke another's", mints.RevokeToken(s.ctx, usual.ID), 404)
	s.code("revoke none", s.c.RevokeToken(s.ctx, uuid.NewString()), 404)
	s.must(s.c.RevokeToken(s.ctx, minter.ID))
	for _, token := range []string{minter.Secret, child.Secret, "wm_GUESS"} {
		err := s.env.WithToken(token).WriteFile(s.ctx, s.env.Root()+"/p", strings.NewReader("x"))
		s.code("a token that has ended", err, 401)
	}
	s.code("one that hasn't", s.env.WithToken(usual.Secret).WriteFile(s.ctx, s.env.Root()+"/p", strings.NewReader("x")), 0)
}
