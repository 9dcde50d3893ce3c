package chats_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/agentapi/status"
	"waymark/host/places"
	"waymark/internal/reexec"
	"waymark/test/e2e"
	"waymark/test/testenv"
	"waymark/workspace/launch"
)

var self *reexec.Program

func TestMain(m *testing.M) {
	self = reexec.Main(launch.Role())
	os.Exit(m.Run())
}

const (
	placesTimeout = 2 * time.Minute
	// marker is in every file that is to be kept secret.
	marker = "MARKER-OF-A-SECRET"
)

// decided says of each kind whether it is kept from chats. A kind that isn't here fails the
// test.
var decided = map[places.Kind]bool{
	places.State: true, places.Sockets: true, places.Config: true, places.Plugins: true, places.Token: true,
	places.Cache: false, // sealed: who changes something there gains nothing
}

// guarded is an agent whose places are where users may have them.
type guarded struct {
	t       *testing.T
	home    e2e.Home
	root    string
	c       client.Client
	targets map[string]string // files, with what they hold
	own     []status.OwnPlace
}

func mustDo(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (w *guarded) put(path, text string) {
	w.t.Helper()
	mustDo(w.t, os.MkdirAll(filepath.Dir(path), 0o700))
	mustDo(w.t, os.WriteFile(path, []byte(text), 0o600))
}

// start starts an agent, in the home's directory work or in the home itself.
func start(t *testing.T, program string, inHome bool) *guarded {
	t.Helper()
	home, err := e2e.NewHome(testenv.SocketDir(t))
	mustDo(t, err)
	w := &guarded{t: t, home: home, root: filepath.Join(home.User(), "work"), targets: map[string]string{}}
	w.put(filepath.Join(w.root, "AGENTS.md"), "Use tabs.\n")
	user := home.User()
	if inHome {
		w.root = user
	}
	config := filepath.Join(user, "conf", "own.toml")
	w.put(config, fmt.Sprintf("# %s\n[plugins]\ndirs = [%q, \"~/.config/waymark/plugins\"]\n", marker, filepath.Join(user, "modules")))
	for _, dir := range []string{"modules", "more"} {
		mustDo(t, os.MkdirAll(filepath.Join(user, dir), 0o700))
	}
	token := filepath.Join(user, "tokens", "hub.token")
	w.put(token, "wma_"+marker+"\n")
	git(t, w.root, "init", "-q")
	agent, err := e2e.StartAgent(context.WithoutCancel(t.Context()), e2e.AgentOptions{
		Program: program, Home: home, Root: w.root, URL: "unix:" + filepath.Join(home.Dir, "none.sock"), TokenFile: token,
		Args: []string{"--config", config, "--plugins", filepath.Join(user, "more")},
		Command: func(cmd *exec.Cmd) { // places as they are without XDG variables
			cmd.Env = append(cmd.Env, "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "XDG_CONFIG_HOME=", "XDG_RUNTIME_DIR=", "WAYMARK_SOCKET=")
		},
	})
	mustDo(t, err)
	w.find(agent)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), placesTimeout)
		defer cancel()
		if err := w.c.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		agent.Kill()
		if t.Failed() {
			t.Logf("the agent said: %.5000s", agent.Output())
		}
	})
	return w
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// find waits for the agent, and asks it for its places.
func (w *guarded) find(agent *e2e.Agent) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), placesTimeout)
	defer cancel()
	state := filepath.Join(w.home.User(), ".local/state/waymark")
	for {
		sockets, _ := filepath.Glob(filepath.Join(state, "w", "????????????.sock"))
		if len(sockets) == 1 {
			token, err := os.ReadFile(strings.TrimSuffix(sockets[0], ".sock") + "/control.token")
			mustDo(w.t, err)
			w.c = client.New(sockets[0], client.Options{Token: strings.TrimSpace(string(token))})
			if s, err := w.c.Snapshot(ctx, client.SnapshotOptions{Wait: placesTimeout}); err == nil && s.Version > 0 {
				break
			}
		}
		if ctx.Err() != nil {
			w.t.Fatalf("the agent doesn't answer\n%s", agent.Output())
		}
		<-time.After(10 * time.Millisecond)
	}
	status, err := w.c.Status(ctx)
	mustDo(w.t, err)
	w.own = status.Services.Own
	if len(w.own) < 8 {
		w.t.Fatalf("the agent has %d places of its own: %v", len(w.own), w.own)
	}
	for _, p := range w.own {
		hidden, known := decided[places.Kind(p.Kind)]
		switch {
		case !known:
			w.t.Errorf("nobody has decided about the kind %s (%s)", p.Kind, p.Path)
		case !hidden || strings.HasPrefix(p.Path, "/etc/"):
		default:
			w.target(p.Path)
		}
	}
}

// target chooses a file in a place, or makes one.
func (w *guarded) target(path string) {
	w.t.Helper()
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		path = filepath.Join(path, "kept")
		w.put(path, marker)
	}
	text, err := os.ReadFile(path)
	mustDo(w.t, err)
	w.targets[path] = string(text)
}

// ways are what a process tries with a file $1 from a workspace: none may print the marker
// or change anything.
const ways = `
cat "$1"; cp "$1" "$2"; cat "$2"; ln "$1" "$2.hard"; cat "$2.hard"; ln -s "$1" "$2.soft"; cat "$2.soft"; cat < "$1"
echo changed > "$1"; echo changed >> "$1"; true > "$1"
echo changed > "$2.new"; mv "$2.new" "$1"; cp "$2.new" "$1"; ln -f "$2.new" "$1"; ln -sf "$2.new" "$1"
rm -f "$1"; mv "$1" "$2.moved"; mv "$(dirname "$1")" "$2.dir"; cat "$2.dir/$(basename "$1")"
touch "$(dirname "$1")/added"; mkdir "$(dirname "$1")/made"; exit 0`

// unchanged fails where a file isn't what it was.
func (w *guarded) unchanged(by string) {
	w.t.Helper()
	for path, want := range w.targets {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			w.t.Fatalf("%s: %s is gone or another file: %v", by, path, err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			w.t.Errorf("%s: %s has changed: %v", by, path, err)
		}
		for _, name := range []string{"added", "made"} {
			if _, err := os.Lstat(filepath.Join(filepath.Dir(path), name)); err == nil {
				w.t.Errorf("%s: something was made beside %s", by, path)
			}
		}
	}
}

func (w *guarded) silent(by, path, text string) {
	w.t.Helper()
	if strings.Contains(text, marker) {
		w.t.Errorf("%s: what %s holds was told: %.300q", by, path, text)
	}
}

func TestEveryPlaceInEveryWay(t *testing.T) {
	if _, err := launch.Supported(); err != nil {
		if os.Getenv("WAYMARK_REQUIRE_ALL") != "" {
			t.Fatal(err)
		}
		t.Skip("SKIPPED:", err)
	}
	built, err := e2e.Build(t.Context(), t.TempDir(), false)
	mustDo(t, err)
	for name, inHome := range map[string]bool{"beside": false, "within": true} {
		t.Run(name, func(t *testing.T) {
			w := start(t, built.Agent, inHome)
			n := 0
			for path := range w.targets {
				n += w.processes(path) + w.server(path) + w.api(path)
			}
			n += w.found()
			t.Logf("%d places, %d files in them, %d attempts", len(w.own), len(w.targets), n)
		})
	}
}

// processes has processes try, under each profile.
func (w *guarded) processes(path string) (n int) {
	w.t.Helper()
	plan := filepath.Join(w.root, "plan.md")
	w.put(plan, "plan")
	until := time.Now().Add(time.Hour)
	narrow, err := w.c.CreateToken(w.t.Context(), agentapi.NewToken{Plan: plan, ExpiresAt: &until, Scopes: []string{"processes", "files"}})
	mustDo(w.t, err)
	for profile, c := range map[string]client.Client{"secrets": w.c, "plan": client.New(w.socket(), client.Options{Token: narrow.Secret})} {
		by := "a process of the profile " + profile
		scratch := filepath.Join(w.root, "scratch-"+profile)
		mustDo(w.t, os.MkdirAll(scratch, 0o700))
		started, err := c.StartProcess(w.t.Context(), agentapi.StartProcess{Argv: []string{"sh", "-c", ways, "sh", path, filepath.Join(scratch, "x")}})
		mustDo(w.t, err)
		output, err := c.ProcessOutput(w.t.Context(), started.ID, agentapi.OutputOptions{Wait: true})
		mustDo(w.t, err)
		w.silent(by, path, fmt.Sprint(output))
		w.unchanged(by)
		mustDo(w.t, os.RemoveAll(scratch))
		n += strings.Count(ways, ";")
	}
	return n
}

func (w *guarded) socket() string {
	sockets, _ := filepath.Glob(filepath.Join(w.home.User(), ".local/state/waymark/w", "????????????.sock"))
	return sockets[0]
}

// server has a program try under the profile of MCP servers.
func (w *guarded) server(path string) int {
	w.t.Helper()
	tmp := filepath.Join(w.home.Dir, "tmp")
	mustDo(w.t, os.MkdirAll(tmp, 0o700))
	var own []string
	for _, p := range w.own {
		if places.Kind(p.Kind).Hidden() {
			own = append(own, p.Path)
		}
	}
	shell, err := exec.LookPath("sh")
	mustDo(w.t, err)
	profile, err := launch.Server(launch.Places{Home: w.home.User(), Own: own, Root: w.root},
		launch.ServerPlaces{Program: shell, Dir: w.root, Cache: tmp, Tmp: tmp}, launch.Widening{})
	mustDo(w.t, err)
	program, err := launch.Find(self)
	mustDo(w.t, err)
	cmd, err := program.Command(w.t.Context(), &launch.Spec{
		Argv: []string{"sh", "-c", ways, "sh", path, filepath.Join(tmp, "x")}, Dir: w.root, Env: os.Environ(), Profile: profile,
	})
	mustDo(w.t, err)
	out, err := cmd.Output()
	if err != nil {
		w.t.Fatalf("%v\n%s", err, out)
	}
	w.silent("an MCP server", path, string(out))
	w.unchanged("an MCP server")
	mustDo(w.t, os.RemoveAll(tmp))
	return strings.Count(ways, ";")
}

// api tries the files API with the control token: as the path, and by links that lie in the
// workspace already.
func (w *guarded) api(path string) (n int) {
	w.t.Helper()
	ctx := w.t.Context()
	soft, hard, dir := filepath.Join(w.root, "soft"), filepath.Join(w.root, "hard"), filepath.Join(w.root, "dir")
	mustDo(w.t, errors.Join(os.Symlink(path, soft), os.Link(path, hard), os.Symlink(filepath.Dir(path), dir)))
	defer func() { mustDo(w.t, errors.Join(os.Remove(soft), os.Remove(hard), os.Remove(dir))) }()
	for _, name := range []string{path, soft, hard, filepath.Join(dir, filepath.Base(path)), w.root + "/../" + filepath.Base(w.root) + "/soft"} {
		body, err := w.c.ReadFile(ctx, name, client.FileRange{})
		if err == nil {
			text, _ := io.ReadAll(body)
			_ = body.Close()
			w.silent("read-file", name, string(text))
		}
		if lines, err := w.c.ReadFileLines(ctx, name, agentapi.LineRange{}); err == nil {
			w.silent("read-file-lines", name, lines.Content)
		}
		if name != hard { // which becomes a file of its own, and the place stays as it is
			if err := w.c.WriteFile(ctx, name, strings.NewReader("changed")); err == nil {
				w.t.Errorf("write-file: %s was written", name)
			}
		}
		edited, err := w.c.EditFiles(ctx, agentapi.EditFiles{IncludeDiff: true, Files: []agentapi.FileEdits{{Path: name, Edits: []agentapi.Edit{{Search: "e", Replace: "E", ReplaceAll: true}}}}})
		if err == nil {
			w.t.Errorf("edit-files: %s was written: %v", name, edited)
		}
		n += 4
	}
	for _, root := range []string{filepath.Dir(path), dir} {
		if lines, err := w.c.SearchFiles(ctx, agentapi.SearchFiles{Path: root, Pattern: "e", Ignored: true}); err == nil {
			for _, f := range lines.Files {
				w.silent("search-files", filepath.Join(root, f.Path), f.Text)
			}
		}
		n++
	}
	for _, name := range []string{filepath.Dir(path), dir} {
		list, err := w.c.ListDirectory(ctx, agentapi.ListDirectory{Path: []string{name}, Relativity: "root"})
		if place := w.place(path); err == nil && place != path { // a directory that holds a file's place may be listed
			w.t.Errorf("list-directory: %s was listed: %v", name, list)
		}
		n++
	}
	w.unchanged("the files API")
	return n
}

// place is the place in which a file lies.
func (w *guarded) place(path string) string {
	for _, p := range w.own {
		if p.Kind != string(places.Cache) && (path == p.Path || strings.HasPrefix(path, p.Path+"/")) {
			return p.Path
		}
	}
	return ""
}

// found looks at what resolvers and git find in the workspace, with links to the places in
// it by names that resolvers read.
func (w *guarded) found() (n int) {
	w.t.Helper()
	ctx := w.t.Context()
	i := 0
	for path := range w.targets {
		dir := filepath.Join(w.root, fmt.Sprintf("sub%d", i))
		mustDo(w.t, os.MkdirAll(dir, 0o700))
		mustDo(w.t, errors.Join(os.Symlink(path, filepath.Join(dir, "AGENTS.md")), os.Symlink(path, filepath.Join(dir, "CLAUDE.md")), os.Symlink(path, filepath.Join(dir, ".mcp.json"))))
		mustDo(w.t, os.Symlink(path, filepath.Join(w.root, fmt.Sprintf("untracked%d", i))))
		mustDo(w.t, os.Link(path, filepath.Join(w.root, fmt.Sprintf("linked%d", i))))
		i++
		n += 5
	}
	mustDo(w.t, os.Symlink(w.own[len(w.own)-1].Path, filepath.Join(w.root, "AGENTS.local.md")))
	s, err := w.c.Resync(ctx)
	mustDo(w.t, err)
	for _, r := range s.Resources {
		body, err := w.c.Resource(ctx, r.ID())
		if err == nil {
			w.silent("a resolver", r.Source, string(body))
		}
		w.silent("a resolver", r.Source, fmt.Sprint(r))
		n++
	}
	diffs, err := w.c.GitDiff(ctx, agentapi.GitQuestion{})
	mustDo(w.t, err)
	w.silent("git", w.root, fmt.Sprintf("%+v", diffs))
	w.unchanged("resolvers and git")
	return n + 1
}
