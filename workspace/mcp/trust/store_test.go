package trust_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/plugins/mcpconfig/servers"
	"waymark/wire/approval"
	"waymark/workspace/launch"
	"waymark/workspace/mcp/entry"
	"waymark/workspace/mcp/trust"
)

var begin = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// desk is a store, with a clock, that may be closed and opened again.
type desk struct {
	t      *testing.T
	dir    string
	now    time.Time
	log    bytes.Buffer
	policy trust.Policy
	store  *trust.Store
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, dir: filepath.Join(t.TempDir(), "state"), now: begin}
	d.reopen()
	return d
}

func (d *desk) reopen() {
	d.t.Helper()
	s, err := trust.Open(trust.Options{
		Dir: d.dir, Key: []byte("0123456789abcdef"), Now: func() time.Time { return d.now },
		Agents: func() []string { return []string{"agent-1"} }, Logger: slog.New(slog.NewTextHandler(&d.log, nil)),
	})
	if err != nil {
		d.t.Fatal(err)
	}
	s.SetPolicy(d.policy)
	d.store = s
}

func (d *desk) set(p trust.Policy) {
	d.policy = p
	d.store.SetPolicy(p)
}

func digests(definition, local string, parts ...trust.Part) *trust.Digests {
	return &trust.Digests{Definition: "sha256:" + strings.Repeat(definition, 64), Local: "hmac:" + local, Pinned: trust.PinnedEntry, Parts: parts}
}

func named(name string) *entry.Entry {
	return &entry.Entry{Server: servers.Server{Name: name, Transport: "stdio", Command: "x"}}
}

// word is a verdict in short: who allows, "!" for a no, "?" for none.
func (d *desk) word(e *entry.Entry, digests *trust.Digests) string {
	v := d.store.Judge(e, digests)
	switch {
	case v.Allowed && v.Denied:
		return "both"
	case v.Allowed:
		return v.By
	case v.Denied:
		return "!"
	}
	return "?"
}

func (d *desk) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// key makes a pair that is the same at each run.
func key(seed byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return private.Public().(ed25519.PublicKey), private
}

func sign(t *testing.T, a approval.Approval, private ed25519.PrivateKey) []byte {
	t.Helper()
	signed, err := approval.Sign(&a, private)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// TestJudge goes through what is said of a server, with and without a restart after
// each step.
func TestJudge(t *testing.T) {
	t.Parallel()
	a := named("a")
	one, other := digests("1", "x"), digests("1", "y")
	two := digests("2", "x")
	public, private := key(1)
	_, stranger := key(2)
	ctx := context.Background()
	approve := func(e *entry.Entry, g *trust.Digests) func(*desk) {
		return func(d *desk) { d.must(d.store.Approve(ctx, e, g, launch.Widening{})) }
	}
	deny := func(e *entry.Entry, g *trust.Digests) func(*desk) {
		return func(d *desk) { d.must(d.store.Deny(ctx, e, g)) }
	}
	policy := func(p trust.Policy) func(*desk) { return func(d *desk) { d.set(p) } }
	hub := func(list ...approval.Approval) func(*desk) {
		return func(d *desk) {
			var docs [][]byte
			for _, a := range list {
				docs = append(docs, sign(t, a, private))
			}
			d.store.SetSigned(docs)
		}
	}
	later := func(by time.Duration) func(*desk) { return func(d *desk) { d.now = d.now.Add(by) } }
	keys := trust.Policy{Keys: []ed25519.PublicKey{public}}
	good := approval.Approval{ID: "g", Definition: one.Definition, Issued: begin, Expires: begin.Add(time.Hour)}
	with := func(change func(*approval.Approval)) approval.Approval {
		copied := good
		change(&copied)
		return copied
	}
	type steps []func(*desk)
	for name, tt := range map[string]struct {
		steps steps
		want  string // of one, other and two
	}{
		"nothing said":                   {nil, "? ? ?"},
		"approved":                       {steps{approve(a, one)}, "user ? ?"},
		"what it is here":                {steps{approve(a, other)}, "? user ?"},
		"another definition":             {steps{approve(a, one), approve(a, two)}, "user ? user"},
		"all of them":                    {steps{approve(a, one), approve(a, two), approve(a, other), approve(a, one)}, "user user user"},
		"an earlier one denied":          {steps{approve(a, one), approve(a, two), deny(a, one)}, "! ! user"},
		"denied before it was earlier":   {steps{approve(a, one), deny(a, one), approve(a, two)}, "! ! user"},
		"another's name":                 {steps{approve(named("b"), one)}, "? ? ?"},
		"denied":                         {steps{deny(a, one)}, "! ! ?"},
		"approved, then denied":          {steps{approve(a, one), later(1), deny(a, one)}, "! ! ?"},
		"denied, then approved":          {steps{deny(a, one), later(1), approve(a, one)}, "user ? ?"},
		"denied, another approved":       {steps{deny(a, one), approve(a, two)}, "! ! user"},
		"forgotten":                      {steps{approve(a, one), func(d *desk) { d.must(d.store.Forget(ctx, "a")) }}, "? ? ?"},
		"forgotten no":                   {steps{deny(a, one), func(d *desk) { d.must(d.store.Forget(ctx, "a")) }}, "? ? ?"},
		"the operator":                   {steps{policy(trust.Policy{Approved: []string{one.Definition}})}, "operator operator ?"},
		"the operator, no more":          {steps{policy(trust.Policy{Approved: []string{one.Definition}}), policy(trust.Policy{})}, "? ? ?"},
		"the operator, denied":           {steps{policy(trust.Policy{Approved: []string{one.Definition}}), deny(a, one)}, "! ! ?"},
		"the user before the operator":   {steps{policy(trust.Policy{Approved: []string{one.Definition}}), approve(a, one)}, "user operator ?"},
		"an empty digest":                {steps{policy(trust.Policy{Approved: []string{""}})}, "? ? ?"},
		"trust":                          {steps{policy(trust.Policy{Workspace: true})}, "workspace workspace workspace"},
		"trust, denied":                  {steps{policy(trust.Policy{Workspace: true}), deny(a, one)}, "! ! workspace"},
		"signed":                         {steps{policy(keys), hub(good)}, "hub hub ?"},
		"signed before the policy":       {steps{hub(good), policy(keys)}, "hub hub ?"},
		"signed, without a key":          {steps{hub(good)}, "? ? ?"},
		"signed, and the key goes":       {steps{policy(keys), hub(good), policy(trust.Policy{})}, "? ? ?"},
		"signed by a stranger":           {steps{policy(keys), func(d *desk) { d.store.SetSigned([][]byte{sign(t, good, stranger)}) }}, "? ? ?"},
		"signed rubbish":                 {steps{policy(keys), func(d *desk) { d.store.SetSigned([][]byte{nil, []byte("{}"), bytes.Repeat([]byte("x"), 1<<20)}) }}, "? ? ?"},
		"signed for this agent":          {steps{policy(keys), hub(with(func(a *approval.Approval) { a.Agents = []string{"agent-0", "agent-1"} }))}, "hub hub ?"},
		"signed for another":             {steps{policy(keys), hub(with(func(a *approval.Approval) { a.Agents = []string{"agent-0"} }))}, "? ? ?"},
		"signed, just before its end":    {steps{policy(keys), hub(good), later(time.Hour - 1)}, "hub hub ?"},
		"signed, at its end":             {steps{policy(keys), hub(good), later(time.Hour)}, "? ? ?"},
		"signed, renewed":                {steps{policy(keys), hub(good, with(func(a *approval.Approval) { a.ID, a.Expires = "h", begin.Add(2*time.Hour) })), later(time.Hour)}, "hub hub ?"},
		"signed, revoked":                {steps{policy(keys), hub(good), hub()}, "? ? ?"},
		"signed, another revoked":        {steps{policy(keys), hub(good, with(func(a *approval.Approval) { a.ID, a.Definition = "h", two.Definition })), hub(good)}, "hub hub ?"},
		"signed, denied afterwards":      {steps{policy(keys), hub(good), later(time.Second), deny(a, one)}, "! ! ?"},
		"denied, signed afterwards":      {steps{policy(keys), deny(a, one), hub(with(func(a *approval.Approval) { a.Issued = begin.Add(time.Second) }))}, "hub hub ?"},
		"denied, signed long before":     {steps{policy(keys), later(time.Second), deny(a, one), hub(good)}, "! ! ?"},
		"the user before what is signed": {steps{policy(keys), hub(good), approve(a, one)}, "user hub ?"},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", name, restart), func(t *testing.T) {
				t.Parallel()
				d := newDesk(t)
				for _, step := range tt.steps {
					if step(d); restart {
						d.reopen()
					}
				}
				if got := d.word(a, one) + " " + d.word(a, other) + " " + d.word(a, two); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
				if d.word(a, nil) != "?" || d.word(a, &trust.Digests{}) != "?" {
					t.Error("what has no digests is allowed")
				}
				if d.log.Len() > 0 {
					t.Error(d.log.String())
				}
			})
		}
	}
}

// TestVerdict: an approval says what it gives, and until when.
func TestVerdict(t *testing.T) {
	t.Parallel()
	d, a, one := newDesk(t), named("a"), digests("1", "x")
	public, private := key(1)
	d.set(trust.Policy{Keys: []ed25519.PublicKey{public}})
	doc := sign(t, approval.Approval{ID: "g", Definition: one.Definition, Issued: begin, Expires: begin.Add(time.Hour), Widening: approval.Widening{Write: []string{"."}, Ports: []uint16{}, Unix: true}}, private)
	if !d.store.SetSigned([][]byte{doc}) || d.store.SetSigned([][]byte{doc}) {
		t.Error("whether approvals have changed is wrong")
	}
	v := d.store.Judge(a, one)
	if v.ID != "g" || !v.Until.Equal(begin.Add(time.Hour)) || !slices.Equal(v.Widening.Write, []string{"."}) || v.Widening.Ports == nil || !v.Widening.Unix || v.Widening.Unconfined {
		t.Errorf("%+v", v)
	}
	if !d.store.SetSigned(nil) || d.store.SetSigned([][]byte{}) {
		t.Error("whether approvals have changed is wrong")
	}
	d.must(d.store.Approve(context.Background(), a, one, launch.Widening{Read: []string{"/srv"}, Ports: []uint16{}, Unconfined: true}))
	d.reopen()
	if v := d.store.Judge(a, one); !slices.Equal(v.Widening.Read, []string{"/srv"}) || v.Widening.Ports == nil || !v.Widening.Unconfined || v.ID != "" || !v.Until.IsZero() {
		t.Errorf("%+v", v)
	}
}

// TestChangesTold: what is asked for again says what has changed, and no secret.
func TestChangesTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	w.write("server.js", "1", 0o600)
	e := stdio("node", "server.js", "--old")
	e.Env = map[string]string{"API_TOKEN": "hunter2", "GONE": "1"}
	before := w.digest(e)
	if v := w.store.Judge(e, before); v.Changes != nil {
		t.Errorf("%+v", v)
	}
	if err := w.store.Approve(ctx, e, before, launch.Widening{}); err != nil {
		t.Fatal(err)
	}
	w.write("server.js", "2", 0o600)
	now := stdio("node", "server.js", "--new\u202e", "more")
	now.Env = map[string]string{"API_TOKEN": "hunter3", "ADDED": "1"}
	var lines []string
	for _, c := range w.store.Judge(now, w.digest(now)).Changes {
		if strings.HasPrefix(c.Part, "file ") {
			c.Before, c.After = fmt.Sprint(len(c.Before)), fmt.Sprint(len(c.After))
		}
		lines = append(lines, fmt.Sprintf("%s: %s → %s", c.Part, c.Before, c.After))
	}
	want := `args[1]: --old → --new⟨U+202E⟩
args[2]:  → more
env.ADDED:  → 
env.API_TOKEN:  → 
file server.js: 64 → 64
env.GONE:  → `
	if got := strings.Join(lines, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestNothingSecretIsKept: neither what variables hold nor literal credentials are in
// any file, nor in what is shown.
func TestNothingSecretIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	const secret = "s3cr3t-value"
	w.env["A"] = secret
	stdioEntry := stdio("node", "--token="+secret, "--api-key", secret, "${A}", "postgres://u:"+secret+"@h/", "https://h/?key="+secret)
	stdioEntry.Env = map[string]string{"K": secret, "L": "${A}", "API_TOKEN": secret}
	dialed := &entry.Entry{Server: servers.Server{Name: "b", Transport: "http", URL: "https://u:" + secret + "@h/?x=" + secret + "&key=" + secret, Headers: map[string]string{"Authorization": "Bearer " + secret, "X": secret}}}
	for _, e := range []*entry.Entry{stdioEntry, dialed} {
		d := w.digest(e)
		if err := w.store.Approve(ctx, e, d, launch.Widening{}); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(fmt.Sprintf("%+v", d), secret) {
			t.Errorf("%+v", d)
		}
	}
	dir := filepath.Join(filepath.Dir(w.root), "state")
	data, err := os.ReadFile(filepath.Join(dir, "mcp-approvals.json"))
	if err != nil || strings.Contains(string(data), secret) || !strings.Contains(string(data), "args[4]") {
		t.Errorf("%s, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "mcp-approvals.json")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestBrokenFile: what can't be believed approves nothing, is told, and is kept.
func TestBrokenFile(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	a, one := named("a"), digests("1", "x")
	for name, spoil := range map[string]func(path string, good []byte) error{
		"cut":   func(path string, good []byte) error { return os.WriteFile(path, good[:len(good)/2], 0o600) },
		"empty": func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
		"another version": func(path string, good []byte) error {
			return os.WriteFile(path, bytes.Replace(good, []byte(`"version":1`), []byte(`"version":2`), 1), 0o600)
		},
		"unknown keys": func(path string, good []byte) error {
			return os.WriteFile(path, bytes.Replace(good, []byte(`{`), []byte(`{"all":true,`), 1), 0o600)
		},
		"more behind": func(path string, good []byte) error { return os.WriteFile(path, append(good, "{}"...), 0o600) },
		"by others":   func(path string, _ []byte) error { return os.Chmod(path, 0o622) },
		"a link": func(path string, good []byte) error {
			return errorsOf(os.Rename(path, path+".real"), os.Symlink(path+".real", path))
		},
		"a directory": func(path string, _ []byte) error { return errorsOf(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.must(d.store.Approve(ctx, a, one, launch.Widening{}))
			path := filepath.Join(d.dir, "mcp-approvals.json")
			good, err := os.ReadFile(path)
			d.must(err)
			d.must(spoil(path, good))
			d.policy = trust.Policy{Workspace: true, Approved: []string{digests("2", "").Definition}}
			d.reopen()
			if got := d.word(a, one) + d.word(a, digests("2", "x")); got != "?operator" {
				t.Errorf("%s", got)
			}
			if !strings.Contains(d.log.String(), "approvals of MCP servers are lost") {
				t.Error("nothing was said of it")
			}
			d.must(d.store.Approve(ctx, a, one, launch.Widening{}))
			d.reopen()
			if got := d.word(a, one) + d.word(a, digests("3", "x")); got != "user?" {
				t.Errorf("afterwards: %s", got)
			}
			if _, err := os.Lstat(path + ".broken"); err != nil {
				t.Error(err)
			}
		})
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestUnwritable: what can't be kept changes nothing, but what is revoked is.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	d, a, one := newDesk(t), named("a"), digests("1", "x")
	public, private := key(1)
	d.set(trust.Policy{Keys: []ed25519.PublicKey{public}})
	d.store.SetSigned([][]byte{sign(t, approval.Approval{ID: "g", Definition: one.Definition, Issued: begin, Expires: begin.Add(time.Hour)}, private)})
	d.must(os.RemoveAll(d.dir))
	d.must(os.WriteFile(d.dir, nil, 0o600)) // a file in its place
	if err := d.store.Approve(ctx, a, one, launch.Widening{}); err == nil || d.word(a, one) != "hub" {
		t.Errorf("%v, %s", err, d.word(a, one))
	}
	if !d.store.SetSigned(nil) || d.word(a, one) != "?" || !strings.Contains(d.log.String(), "not kept over a restart") {
		t.Errorf("%s, %s", d.word(a, one), d.log.String())
	}
	if d.set(d.policy); d.word(a, one) != "?" {
		t.Error("what was revoked is back")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	if err := d.store.Deny(ended, a, one); err == nil || d.word(a, one) != "?" {
		t.Errorf("%v", err)
	}
	for _, err := range []error{d.store.Approve(ctx, a, nil, launch.Widening{}), d.store.Deny(ctx, a, &trust.Digests{})} {
		if err == nil {
			t.Error("what has no digests was judged")
		}
	}
	if _, err := trust.Open(trust.Options{Dir: d.dir}); err == nil {
		t.Error("opened without a key")
	}
}

// TestAnotherKey: with another key nothing is approved, since what was is not known.
func TestAnotherKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := stdio("node", "--token=x")
	if err := w.store.Approve(context.Background(), e, w.digest(e), launch.Widening{}); err != nil {
		t.Fatal(err)
	}
	other, err := trust.Open(trust.Options{Dir: filepath.Join(filepath.Dir(w.root), "state"), Key: []byte("another key of sixteen"), Root: func() string { return w.root }})
	if err != nil {
		t.Fatal(err)
	}
	w.store = other
	if v := w.store.Judge(e, w.digest(e)); v.Allowed {
		t.Errorf("%+v", v)
	}
}

// FuzzFile: whatever is in the file, nothing is allowed that it doesn't say, and what
// is believed says the same after being saved.
func FuzzFile(f *testing.F) {
	one := digests("1", "x")
	f.Add([]byte(`{"version":1,"servers":[{"name":"a","approved":{"definition":"` + one.Definition + `","local":"hmac:x","at":"2026-11-22T12:00:00Z","parts":[{"name":"p","text":"t"}]}}]}`))
	f.Add([]byte(`{"version":1,"closed":true,"servers":null,"signed":["e30="]}`))
	f.Add([]byte(`{`))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "mcp-approvals.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		open := func() *trust.Store {
			s, err := trust.Open(trust.Options{Dir: dir, Key: []byte("0123456789abcdef"), Now: func() time.Time { return begin }})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		s := open()
		e := named("a")
		var before []bool
		asked := []*trust.Digests{one, digests("1", "y"), digests("2", "x"), {Definition: one.Definition}, {}}
		for _, d := range asked {
			v := s.Judge(e, d)
			if v.Allowed && !bytes.Contains(data, []byte(`hmac`)) && !bytes.Contains(data, []byte(`\u`)) {
				t.Errorf("%+v is allowed", d)
			}
			before = append(before, v.Allowed)
		}
		if err := s.Approve(context.Background(), named("zz"), one, launch.Widening{}); err != nil {
			return
		}
		s = open()
		for i, d := range asked {
			if v := s.Judge(e, d); v.Allowed != before[i] {
				t.Errorf("%+v was %v, and is %+v after being saved", d, before[i], v)
			}
		}
	})
}
