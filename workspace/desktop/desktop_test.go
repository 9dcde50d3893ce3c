package desktop_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image"
	"image/color"
	_ "image/jpeg"
	"image/png"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"waymark/agent/server"
	"waymark/agent/server/servertest"
	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/internal/httpapi"
	"waymark/internal/reexec"
	"waymark/test/testenv"
	"waymark/workspace/access"
	"waymark/workspace/desktop"
	"waymark/workspace/launch"
	"waymark/workspace/supervisor"
)

var program *reexec.Program

// TestMain lets the test binary be what holds processes, and what confines them.
func TestMain(m *testing.M) {
	program = reexec.Main(append(supervisor.Roles(), launch.Role())...)
	os.Exit(m.Run())
}

// patience is for what happens soon, on a machine that stands still.
const patience = 2 * time.Minute

// world is a desktop behind its API, over a real supervisor, with real programs on it.
type world struct {
	testing.TB
	client.Client
	ctx      context.Context
	held     supervisor.Client
	service  *desktop.Service
	settings desktop.Settings
	root     string
	run      string
	log      bytes.Buffer
	socket   string
}

// grants are what tokens allow.
var grants = map[string]*access.Grant{
	"all":   {ID: "all", Scopes: []access.Scope{access.ScopeDesktop}},
	"view":  {ID: "view", Scopes: []access.Scope{access.ScopeDesktopView}},
	"other": {ID: "other", Scopes: []access.Scope{access.ScopeProcesses, access.ScopeFiles, access.ScopeMCP}},
	"plan":  {ID: "plan", Scopes: []access.Scope{access.ScopeDesktop}, Plan: "/PLAN.md"},
}

func newWorld(t testing.TB, settings desktop.Settings) *world {
	t.Helper()
	dir := testenv.SocketDir(t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	w := &world{TB: t, ctx: ctx, settings: settings, root: t.TempDir(), run: filepath.Join(dir, "own", "run")}
	line, err := program.CommandLine(supervisor.RoleSupervise)
	if err != nil {
		t.Fatal(err)
	}
	w.held, err = supervisor.Open(ctx, supervisor.Options{Dir: filepath.Join(dir, "state"), Socket: filepath.Join(dir, "s"), Program: line})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.held.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		_ = w.held.Close()
	})
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	w.service = desktop.New(desktop.Options{
		Supervisor: w.held, Root: func() string { return w.root }, Run: w.run, Dir: filepath.Join(dir, "state", "desktop"),
		Places: func() launch.Places {
			return launch.Places{Home: home, Own: []string{filepath.Join(dir, "state"), filepath.Dir(w.run)}}
		},
		Settings: func() desktop.Settings { return w.settings }, Logger: slog.New(slog.NewTextHandler(&w.log, nil)),
	})
	t.Cleanup(func() {
		if err := w.service.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	w.socket = filepath.Join(dir, "a")
	l, err := net.Listen("unix", w.socket)
	if err != nil {
		t.Fatal(err)
	}
	api := server.New(server.Options{Backend: servertest.New(), Guard: access.Guard, Services: []httpapi.Service{w.service.Service()},
		Authenticate: func(r *http.Request, token string) (context.Context, bool) {
			return access.With(r.Context(), grants[token]), grants[token] != nil
		}})
	s := httptest.NewUnstartedServer(api)
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	w.Client = w.as("all")
	return w
}

func (w *world) as(token string) client.Client {
	return client.New(w.socket, client.Options{Token: token, Timeout: patience})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// act makes an action that must succeed. what are its fields.
func (w *world) act(action string, what ...func(*agentapi.DesktopAction)) *agentapi.DesktopResult {
	w.Helper()
	a := agentapi.DesktopAction{Action: action}
	for _, set := range what {
		set(&a)
	}
	result, err := w.DesktopAction(w.ctx, a)
	if err != nil {
		w.Fatalf("%s: %v", action, err)
	}
	return result
}

type field = func(*agentapi.DesktopAction)

func at(x, y int) field { return func(a *agentapi.DesktopAction) { a.Coordinate = []int{x, y} } }
func from(x, y int) field {
	return func(a *agentapi.DesktopAction) { a.StartCoordinate = []int{x, y} }
}
func text(s string) field   { return func(a *agentapi.DesktopAction) { a.Text = s } }
func lasts(ms int) field    { return func(a *agentapi.DesktopAction) { a.Duration = &ms } }
func amount(n int) field    { return func(a *agentapi.DesktopAction) { a.ScrollAmount = n } }
func to(where string) field { return func(a *agentapi.DesktopAction) { a.ScrollDirection = where } }
func scaled(x, y int) field {
	return func(a *agentapi.DesktopAction) { a.ScaledWidth, a.ScaledHeight = x, y }
}

// shot returns what the screen shows.
func (w *world) shot(what ...field) image.Image {
	w.Helper()
	result := w.act("screenshot", what...)
	data, err := base64.StdEncoding.DecodeString(result.ScreenshotData)
	w.must(err)
	img, err := png.Decode(bytes.NewReader(data))
	w.must(err)
	if img.Bounds() != image.Rect(0, 0, result.ScreenshotWidth, result.ScreenshotHeight) || result.Width != 1280 || result.Height != 800 {
		w.Errorf("a picture of %v says %d × %d of %d × %d", img.Bounds(), result.ScreenshotWidth, result.ScreenshotHeight, result.Width, result.Height)
	}
	return img
}

// show starts a program on the desktop, which ends with the test, and returns the lines that
// it writes.
func (w *world) show(name string, args ...string) <-chan string {
	w.Helper()
	env, dir := w.service.Environ(grants["all"])
	if dir == "" {
		_, err := w.StartDesktop(w.ctx)
		w.must(err)
		env, _ = w.service.Environ(grants["all"])
	}
	cmd := exec.CommandContext(w.ctx, name, args...)
	cmd.Env = append(append(os.Environ(), env...), "LC_ALL=C.UTF-8")
	out, err := cmd.StdoutPipe()
	w.must(err)
	w.must(cmd.Start())
	lines := make(chan string, 10000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	w.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		_ = cmd.Wait()
	})
	return lines
}

// until reads lines until one matches, and returns all that were read.
func (w *world) until(lines <-chan string, pattern string) (seen []string) {
	w.Helper()
	re := regexp.MustCompile(pattern)
	for {
		select {
		case line, more := <-lines:
			if seen = append(seen, line); !more {
				w.Fatalf("it ended before %q; it said %q", pattern, seen)
			}
			if re.MatchString(line) {
				return seen
			}
		case <-w.ctx.Done():
			w.Fatalf("%q doesn't come; there was %q", pattern, seen)
		}
	}
}

// eventually waits until something holds that no event tells of.
func (w *world) eventually(what string, ok func() bool) {
	w.Helper()
	for !ok() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-w.ctx.Done():
			w.Fatal("it never happens: " + what)
		}
	}
}

// xev shows a window that tells what it receives, at 100,100 on the screen.
func (w *world) xev() <-chan string {
	w.Helper()
	testenv.NeedsPrograms(w, "xev")
	lines := w.show("stdbuf", "-oL", "xev", "-geometry", "600x400+100+100")
	w.until(lines, "^(FocusIn|VisibilityNotify) event") // it is mapped
	w.act("mouse_move", at(5, 700))
	w.act("left_click", at(300, 300)) // it has the focus now, where clicks give it
	w.presses(lines, 2)
	w.act("key", text("F12"))
	w.until(lines, "keysym 0xffc9, F12")
	w.until(lines, "keysym 0xffc9, F12")
	return lines
}

var button = regexp.MustCompile(`root:\((\d+),(\d+)\)`)

// pressed returns the buttons and positions of presses and releases among lines of xev's.
func pressed(seen []string) (list []string) {
	kind := ""
	where := ""
	for _, line := range seen {
		switch {
		case strings.HasPrefix(line, "ButtonPress"):
			kind = "+"
		case strings.HasPrefix(line, "ButtonRelease"):
			kind = "-"
		case strings.HasPrefix(line, "MotionNotify"):
			kind = "~"
		case line == "":
			kind = ""
		}
		if m := button.FindStringSubmatch(line); m != nil {
			where = m[1] + "," + m[2]
		}
		if i := strings.Index(line, ", button "); i >= 0 && kind != "" && kind != "~" {
			list = append(list, kind+line[i+len(", button "):i+len(", button ")+1]+"@"+where)
		}
	}
	return list
}

// presses reads n presses and releases.
func (w *world) presses(lines <-chan string, n int) string {
	w.Helper()
	var seen []string
	for len(pressed(seen)) < n {
		seen = append(seen, w.until(lines, "same_screen")...)
	}
	return strings.Join(pressed(seen), " ")
}

// TestPointer: what the pointer does reaches a program as it was asked for.
func TestPointer(t *testing.T) {
	testenv.NeedsPrograms(t, "Xvnc", "openbox")
	w := newWorld(t, desktop.Settings{})
	lines := w.xev()
	for _, c := range []struct {
		name string
		do   func()
		want string
	}{
		{"left", func() { w.act("left_click", at(200, 250)) }, "+1@200,250 -1@200,250"},
		{"middle", func() { w.act("middle_click", at(201, 250)) }, "+2@201,250 -2@201,250"},
		{"right", func() { w.act("right_click", at(202, 250)) }, "+3@202,250 -3@202,250"},
		{"double", func() { w.act("double_click", at(203, 250)) }, "+1@203,250 -1@203,250 +1@203,250 -1@203,250"},
		{"triple", func() { w.act("triple_click", at(204, 250)) }, strings.TrimSpace(strings.Repeat("+1@204,250 -1@204,250 ", 3))},
		{"scaled", func() { w.act("left_click", at(320, 200), scaled(640, 400)) }, "+1@641,401 -1@641,401"},
		{"down and up", func() {
			w.act("left_mouse_down", at(210, 260))
			w.act("mouse_move", at(220, 270))
			w.act("left_mouse_up")
		}, "+1@210,260 -1@220,270"},
		{"scroll", func() { w.act("scroll", at(300, 300)) }, strings.TrimSpace(strings.Repeat("+5@300,300 -5@300,300 ", 3))},
		{"scroll up", func() { w.act("scroll", at(300, 301), to("up"), amount(2)) }, "+4@300,301 -4@300,301 +4@300,301 -4@300,301"},
		{"scroll aside", func() {
			w.act("scroll", at(300, 302), to("left"), amount(1))
			w.act("scroll", at(300, 302), to("right"), amount(1))
		}, "+6@300,302 -6@300,302 +7@300,302 -7@300,302"},
	} {
		c.do()
		// The window manager holds a press back until it has seen to the focus.
		if got := w.presses(lines, len(strings.Fields(c.want))); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	if got := w.act("cursor_position").Output; got != "x=300,y=302" {
		t.Errorf("the pointer is at %s", got)
	}
	if got := w.act("cursor_position", scaled(640, 400)).Output; got != "x=150,y=151" {
		t.Errorf("the pointer, scaled, is at %s", got)
	}
	if got := w.act("mouse_move", at(50000, -3)).Output; got != "mouse_move action performed" {
		t.Errorf("it says %q", got)
	}
	if got := w.act("cursor_position").Output; got != "x=1279,y=0" {
		t.Errorf("beyond the corner the pointer is at %s", got)
	}
}

// TestDrag: the pointer moves with the button pressed, and a program sees it underway.
func TestDrag(t *testing.T) {
	testenv.NeedsPrograms(t, "Xvnc", "openbox")
	w := newWorld(t, desktop.Settings{})
	lines := w.xev()
	w.act("left_click_drag", from(200, 200), at(500, 350), text("shift"))
	var seen []string
	for len(pressed(seen)) < 2 {
		seen = append(seen, w.until(lines, "same_screen")...)
	}
	if got := strings.Join(pressed(seen), " "); got != "+1@200,200 -1@500,350" {
		t.Errorf("it was pressed %s", got)
	}
	underway := 0
	for i, line := range seen {
		if strings.HasPrefix(line, "MotionNotify") && i+2 < len(seen) && strings.Contains(seen[i+2], "state 0x101,") {
			m := button.FindStringSubmatch(seen[i+1])
			x, _ := strconv.Atoi(m[1])
			y, _ := strconv.Atoi(m[2])
			if x > 200 && x < 500 && (x-200)/2 == y-200 {
				underway++
			}
		}
	}
	if underway < 5 {
		t.Errorf("it was seen %d times underway, with button and shift, in %q", underway, seen)
	}
}

// TestKeys: keys, modifiers and how long they are held.
func TestKeys(t *testing.T) {
	testenv.NeedsPrograms(t, "Xvnc", "openbox")
	w := newWorld(t, desktop.Settings{})
	lines := w.xev()
	event := regexp.MustCompile(`state (0x[0-9a-f]+), keycode \d+ \(keysym 0x[0-9a-f]+, ([^)]+)\)`)
	for _, c := range []struct {
		name string
		do   func()
		want string
	}{
		{"one", func() { w.act("key", text("Page_Down")) }, "+Next/0x0 -Next/0x0"},
		{"with modifiers", func() { w.act("key", text("ctrl+alt+t")) }, "+Control_L/0x0 +Alt_L/0x4 +t/0xc -t/0xc -Alt_L/0xc -Control_L/0x4"},
		{"plus itself", func() { w.act("key", text("ctrl++")) }, "+Control_L/0x0 +plus/0x5 -plus/0x5 -Control_L/0x4"},
		{"several", func() { w.act("key", text("Down Up")) }, "+Down/0x0 -Down/0x0 +Up/0x0 -Up/0x0"},
		{"down and up", func() { w.act("key_down", text("super")); w.act("key_up", text("super")) }, "+Super_L/0x0 -Super_L/0x40"},
	} {
		c.do()
		w.act("key", text("F11"))
		var got []string
		kind := ""
		seen := w.until(lines, "keysym 0xffc8, F11")
		w.until(lines, "keysym 0xffc8, F11")
		for _, line := range seen {
			if strings.HasPrefix(line, "KeyPress") {
				kind = "+"
			} else if strings.HasPrefix(line, "KeyRelease") {
				kind = "-"
			}
			// Shift is pressed, too, for a character that needs it.
			if m := event.FindStringSubmatch(line); m != nil && m[2] != "F11" && !strings.HasPrefix(m[2], "Shift") {
				got = append(got, kind+m[2]+"/"+m[1])
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %s, want %s", c.name, strings.Join(got, " "), c.want)
		}
	}
	times := func(seen []string) (list []int) {
		for _, line := range seen {
			if m := regexp.MustCompile(`time (\d+),`).FindStringSubmatch(line); m != nil {
				n, _ := strconv.Atoi(m[1])
				list = append(list, n)
			}
		}
		return list
	}
	w.act("hold_key", text("shift"), lasts(400))
	w.act("key", text("F11"))
	held := times(w.until(lines, "keysym 0xffc8, F11"))
	if len(held) < 2 || held[1]-held[0] < 390 {
		t.Errorf("the key was held from %v", held)
	}
	w.until(lines, "keysym 0xffc8, F11")
	w.act("left_click", at(300, 300), text("ctrl+shift"))
	w.until(lines, "state 0x5, button 1")
}

// TestType: text of several scripts arrives at a program as it was asked for.
func TestType(t *testing.T) {
	testenv.NeedsPrograms(t, "Xvnc", "openbox", "xterm")
	w := newWorld(t, desktop.Settings{})
	file := filepath.Join(w.root, "typed")
	w.show("xterm", "-u8", "-bg", "#ff8000", "-geometry", "100x30+50+50", "-e", "sh", "-c", "stty -echo; : >"+file+".ready; cat >"+file)
	w.eventually("the terminal is there", func() bool {
		_, err := os.Stat(file + ".ready")
		return err == nil && same(w.shot().At(400, 300), orange)
	})
	w.act("left_click", at(300, 200))
	many := ""
	for r := rune(0x4e00); r < 0x4e00+60; r++ {
		many += string(r)
	}
	for _, typed := range []string{
		"Hello, World! {[|\\~`@#$%^&*()_+]}", "Grüße, ça va? ñ ÿ ½", "Καλημέρα κόσμε", "Привет, мир", "你好，世界", "שלום", "😀 é ǆ", many,
	} {
		w.must(os.Truncate(file, 0))
		w.act("type", text(typed+"\n"))
		want := typed + "\n"
		got := ""
		w.eventually(typed, func() bool {
			data, _ := os.ReadFile(file)
			got = strings.ReplaceAll(string(data), "\x00", "")
			return strings.HasSuffix(got, "\n")
		})
		if got != want {
			wrong := 0
			have := append([]rune(got), make([]rune, len(want))...)
			for i, r := range []rune(want) {
				if have[i] != r {
					wrong++
				}
			}
			t.Errorf("of %.20q %d of %d characters arrived, %d at another place", want, len([]rune(got)), len([]rune(want)), wrong)
		}
	}
}

var orange = color.RGBA{255, 128, 0, 255}

func same(a, b color.Color) bool { return color.RGBAModel.Convert(a) == color.RGBAModel.Convert(b) }

// TestPicture: pictures show what is on the screen, scaled or not.
func TestPicture(t *testing.T) {
	testenv.NeedsPrograms(t, "Xvnc", "openbox", "xterm", "xwd")
	w := newWorld(t, desktop.Settings{})
	before := w.shot()
	w.show("xterm", "-bg", "#ff8000", "-fg", "#ff8000", "-cr", "#ff8000", "-geometry", "60x20+200+100", "-e", "sleep", "1000")
	w.eventually("the window is there", func() bool { return same(w.shot().At(350, 250), orange) })
	if same(before.At(350, 250), orange) {
		t.Error("it was there before")
	}
	small := w.shot(scaled(640, 400))
	if small.Bounds().Dx() != 640 || small.Bounds().Dy() != 400 || !same(small.At(175, 125), orange) || same(small.At(20, 380), orange) {
		t.Errorf("a scaled picture has %v, and %v", small.Bounds(), small.At(175, 125))
	}
	if fit := w.shot(func(a *agentapi.DesktopAction) { a.Fit = 320 }); fit.Bounds().Dx() != 320 || fit.Bounds().Dy() != 200 {
		t.Errorf("a fitted picture has %v", fit.Bounds())
	}
	// The same as another program sees.
	w.act("mouse_move", at(1279, 799))
	env, _ := w.service.Environ(grants["all"])
	cmd := exec.CommandContext(w.ctx, "xwd", "-root", "-silent")
	cmd.Env = append(os.Environ(), env...)
	dump, err := cmd.Output()
	w.must(err)
	img := w.shot()
	pixels := dump[len(dump)-1280*800*4:]
	for _, p := range []image.Point{{350, 250}, {10, 10}, {640, 700}, {199, 99}} {
		i := 4 * (p.Y*1280 + p.X)
		if want := (color.RGBA{pixels[i+2], pixels[i+1], pixels[i], 255}); !same(img.At(p.X, p.Y), want) {
			t.Errorf("at %v: got %v, xwd has %v", p, img.At(p.X, p.Y), want)
		}
	}
}

// TestRefused: what can't be done is refused before anything starts.
func TestRefused(t *testing.T) {
	w := newWorld(t, desktop.Settings{Server: "/nowhere/Xvnc"})
	for name, what := range map[string][]field{
		"fly": nil, "": nil, "key": nil, "type": {text("")}, "left_click": {text("ctrl")}, "left_click_drag": {at(1, 1)},
		"scroll": {at(1, 1), to("in")}, "mouse_move": {at(1, 1), func(a *agentapi.DesktopAction) { a.ScaledWidth = 10 }}, "hold_key": {text("nokey")},
		"wait": {lasts(-1)}, "key_down": {text("ctrl+")}, "screenshot": {scaled(0, 5)},
	} {
		if name == "key_down" {
			what = []field{text("ctrl+nokey")}
		}
		a := agentapi.DesktopAction{Action: name}
		for _, set := range what {
			set(&a)
		}
		if _, err := w.DesktopAction(w.ctx, a); client.CodeOf(err) != http.StatusBadRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := w.DesktopAction(w.ctx, agentapi.DesktopAction{Action: "type", Text: "secret\x01"})
	if client.CodeOf(err) != http.StatusBadRequest || strings.Contains(err.Error(), "secret") {
		t.Errorf("a control character: %v", err)
	}
	_, err = w.DesktopAction(w.ctx, agentapi.DesktopAction{Action: "screenshot"})
	if client.CodeOf(err) != http.StatusServiceUnavailable || !strings.Contains(err.Error(), "tigervnc-standalone-server") {
		t.Errorf("without the program: %v", err)
	}
	state, err := w.DesktopState(w.ctx)
	if err != nil || state.Running || len(state.Missing) == 0 || !strings.Contains(state.Missing[0], "tigervnc-standalone-server") {
		t.Errorf("the state is %+v, %v", state, err)
	}
	w.settings = desktop.Settings{Server: "/bin/false", Manager: "/bin/true"}
	if _, err = w.StartDesktop(w.ctx); client.CodeOf(err) != http.StatusInternalServerError {
		t.Errorf("a server that fails: %v", err)
	}
	for token, code := range map[string]int{"other": 403, "plan": 403, "view": 403} {
		c := w.as(token)
		calls := map[string]error{}
		_, calls["action"] = c.DesktopAction(w.ctx, agentapi.DesktopAction{Action: "wait", Duration: new(0)})
		_, calls["start"] = c.StartDesktop(w.ctx)
		calls["stop"] = c.StopDesktop(w.ctx)
		calls["record"] = c.StartRecording(w.ctx, uuid.NewString())
		_, calls["recorded"] = c.StopRecording(w.ctx, uuid.NewString(), io.Discard)
		if token != "view" {
			_, calls["state"] = c.DesktopState(w.ctx)
			_, calls["watch"] = c.WatchDesktop(w.ctx)
		}
		for name, err := range calls {
			if client.CodeOf(err) != code {
				t.Errorf("%s with the token %q: %v", name, token, err)
			}
		}
	}
}

// BenchmarkDesktop measures pictures and actions beside programs that do the same.
func BenchmarkDesktop(b *testing.B) {
	testenv.NeedsPrograms(b, "Xvnc", "openbox", "xterm", "xwd", "xdotool")
	w := newWorld(b, desktop.Settings{})
	w.show("xterm", "-bg", "#ff8000", "-geometry", "150x45+50+50", "-e", "sh", "-c", "ls -lR /usr/share/X11; sleep 1000")
	w.eventually("the window is there", func() bool { return same(w.shot().At(800, 500), orange) })
	env, _ := w.service.Environ(grants["all"])
	run := func(b *testing.B, name string, args ...string) []byte {
		cmd := exec.CommandContext(b.Context(), name, args...)
		cmd.Env = append(os.Environ(), env...)
		out, err := cmd.Output()
		if err != nil {
			b.Fatal(err)
		}
		return out
	}
	b.Run("screenshot", func(b *testing.B) {
		for b.Loop() {
			w.act("screenshot")
		}
	})
	b.Run("xwd", func(b *testing.B) { // with the same encoder
		e := png.Encoder{CompressionLevel: png.BestSpeed}
		for b.Loop() {
			dump := run(b, "xwd", "-root", "-silent")
			img := &image.RGBA{Pix: dump[len(dump)-1280*800*4:], Stride: 1280 * 4, Rect: image.Rect(0, 0, 1280, 800)}
			for i := 3; i < len(img.Pix); i += 4 {
				img.Pix[i-3], img.Pix[i-1], img.Pix[i] = img.Pix[i-1], img.Pix[i-3], 255
			}
			if err := e.Encode(io.Discard, img); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("click", func(b *testing.B) {
		for b.Loop() {
			w.act("left_click", at(1200, 700))
		}
	})
	b.Run("xdotool", func(b *testing.B) {
		for b.Loop() {
			run(b, "xdotool", "mousemove", "1200", "700", "click", "1")
		}
	})
}

// pids returns the processes of the desktop's programs that have something of the world in
// their command line.
func (w *world) pids(name string) (list []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		argv := strings.Split(string(line), "\x00")
		if filepath.Base(argv[0]) == name && (strings.Contains(string(line), w.run) || strings.Contains(string(env), w.run)) {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			list = append(list, pid)
		}
	}
	return list
}

// TestEnds: the desktop ends when it is told to, when nobody uses it, and when its server is
// killed, and leaves nothing running; the next action starts another.
func TestEnds(t *testing.T) {
	testenv.NeedsPrograms(t, "Xvnc", "openbox", "xterm")
	w := newWorld(t, desktop.Settings{})
	nothing := func() bool { return len(w.pids("Xvnc"))+len(w.pids("openbox"))+len(w.pids("xterm")) == 0 }
	begin := func() {
		state, err := w.StartDesktop(w.ctx)
		if err != nil || !state.Running || !regexp.MustCompile(`^:\d+$`).MatchString(state.Display) || state.Width != 1280 {
			t.Fatalf("started: %+v, %v", state, err)
		}
		for _, file := range []string{state.Xauthority, filepath.Join(w.run, "vnc.sock")} {
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", file, info, err)
			}
		}
		w.show("xterm")
		w.eventually("its programs run", func() bool {
			return len(w.pids("Xvnc")) == 1 && len(w.pids("openbox")) == 1 && len(w.pids("xterm")) == 1
		})
	}
	begin()
	// Nobody connects to the display without the file.
	state, err := w.DesktopState(w.ctx)
	w.must(err)
	cmd := exec.CommandContext(w.ctx, "xwd", "-root", "-silent", "-display", state.Display)
	cmd.Env = []string{"XAUTHORITY=/nowhere", "PATH=" + os.Getenv("PATH"), "HOME=/nowhere"}
	if out, err := cmd.CombinedOutput(); err == nil {
		t.Errorf("without the cookie: %.100q", out)
	}
	w.must(w.StopDesktop(w.ctx))
	w.eventually("it is over", nothing)
	w.must(w.StopDesktop(w.ctx))

	begin()
	server, err := os.FindProcess(w.pids("Xvnc")[0])
	w.must(err)
	w.must(server.Kill())
	w.eventually("it is over", nothing)
	w.eventually("it is told", func() bool {
		state, err := w.DesktopState(w.ctx)
		w.must(err)
		return !state.Running && strings.Contains(state.Error, "the X server has ended")
	})
	w.act("screenshot")
	if state, err := w.DesktopState(w.ctx); err != nil || !state.Running || state.Error != "" {
		t.Errorf("afterwards: %+v, %v", state, err)
	}

	w.must(w.StopDesktop(w.ctx))
	w.settings.Idle = 200 * time.Millisecond
	begin()
	w.eventually("it is over", nothing)
}

// TestWatch: several watch, with a token for viewing they can't act, and what comes is RFB.
func TestWatch(t *testing.T) {
	testenv.NeedsPrograms(t, "Xvnc", "openbox")
	w := newWorld(t, desktop.Settings{})
	lines := w.xev()
	connect := func(token string) net.Conn {
		conn, err := w.as(token).WatchDesktop(w.ctx)
		w.must(err)
		w.Cleanup(func() { _ = conn.Close() })
		greet(w, conn)
		return conn
	}
	first, second, viewer := connect("all"), connect("all"), connect("view")
	key := func(conn net.Conn, sym byte) {
		_, err := conn.Write([]byte{4, 1, 0, 0, 0, 0, 0xff, sym, 4, 0, 0, 0, 0, 0, 0xff, sym})
		w.must(err)
	}
	key(viewer, 0xbe) // F1
	_, err := viewer.Write([]byte{5, 1, 0, 10, 0, 10, 5, 0, 0, 10, 0, 10, 6, 0, 0, 0, 0, 0, 0, 3, 'a', 'b', 'c'})
	w.must(err)
	picture(w, viewer) // the server has all that was sent before
	key(first, 0xbf)   // F2
	picture(w, first)
	key(second, 0xc0) // F3
	seen := append(w.until(lines, "F3"), w.until(lines, "F3")...)
	if all := strings.Join(seen, "\n"); !strings.Contains(all, "F2") || strings.Contains(all, "F1)") || strings.Contains(all, "ButtonPress") {
		t.Errorf("the program got %s", all)
	}
	_, err = second.Write([]byte{5, 0, 0, 77, 0, 88})
	w.must(err)
	picture(w, second)
	if got := w.act("cursor_position").Output; got != "x=77,y=88" {
		t.Errorf("a watcher has moved the pointer, and it is at %s", got)
	}
	a, b := picture(w, first), picture(w, viewer)
	if !bytes.Equal(a, b) {
		t.Error("two watchers see two pictures")
	}
	w.must(w.StopDesktop(w.ctx))
	if _, err := first.Read(make([]byte, 1)); err == nil {
		t.Error("the end of the desktop is no end of a watch")
	}
}

// greet does what a client of RFB does at first.
func greet(w *world, conn net.Conn) {
	w.Helper()
	buf := make([]byte, 12)
	_, err := io.ReadFull(conn, buf)
	w.must(err)
	if string(buf) != "RFB 003.008\n" {
		w.Fatalf("it says %q", buf)
	}
	_, err = conn.Write([]byte("RFB 003.008\n\x01\x00")) // alone, which isn't granted
	w.must(err)
	head := make([]byte, 1+1+4+24)
	_, err = io.ReadFull(conn, head)
	w.must(err)
	_, err = io.ReadFull(conn, make([]byte, head[29]))
	w.must(err)
}

// picture reads a corner of the screen.
func picture(w *world, conn net.Conn) []byte {
	w.Helper()
	_, err := conn.Write([]byte{3, 0, 2, 0x58, 0, 0, 0, 16, 0, 16})
	w.must(err)
	head := make([]byte, 16)
	for {
		_, err = io.ReadFull(conn, head[:1])
		w.must(err)
		if head[0] == 0 {
			break
		}
		w.Fatalf("a message of kind %d", head[0])
	}
	_, err = io.ReadFull(conn, head[1:])
	w.must(err)
	data := make([]byte, 16*16*4)
	_, err = io.ReadFull(conn, data)
	w.must(err)
	return data
}

// TestRecording: a recording has what was shown, without long pauses.
func TestRecording(t *testing.T) {
	testenv.NeedsPrograms(t, "Xvnc", "openbox", "xterm", "ffmpeg", "ffprobe")
	w := newWorld(t, desktop.Settings{})
	if _, err := w.StopRecording(w.ctx, uuid.NewString(), io.Discard); client.CodeOf(err) != http.StatusNotFound {
		t.Errorf("an unknown one: %v", err)
	}
	if err := w.StartRecording(w.ctx, "1"); client.CodeOf(err) != http.StatusBadRequest {
		t.Errorf("no UUID: %v", err)
	}
	id := uuid.NewString()
	w.must(w.StartRecording(w.ctx, id))
	w.must(w.StartRecording(w.ctx, id)) // it goes on
	began := time.Now()
	w.show("xterm", "-bg", "#ff8000", "-fg", "#ff8000", "-cr", "#ff8000", "-geometry", "60x20+200+100", "-e", "sleep", "1000")
	w.act("wait", lasts(4000))
	for x := range 10 {
		w.act("mouse_move", at(100+50*x, 300))
		w.act("wait", lasts(100))
	}
	var video bytes.Buffer
	thumbnail, err := w.StopRecording(w.ctx, id, &video)
	w.must(err)
	took := time.Since(began)
	file := filepath.Join(w.root, "v.mp4")
	w.must(os.WriteFile(file, video.Bytes(), 0o600))
	out, err := exec.CommandContext(w.ctx, "ffprobe", "-v", "error", "-show_entries", "format=duration:stream=codec_name,width,height", "-of", "default=nw=1", file).CombinedOutput()
	w.must(err)
	m := regexp.MustCompile(`codec_name=h264\nwidth=1280\nheight=800\nduration=([\d.]+)`).FindSubmatch(out)
	if m == nil {
		t.Fatalf("ffprobe says %s", out)
	}
	length, _ := strconv.ParseFloat(string(m[1]), 64)
	if length < 0.5 || length > took.Seconds()-2 {
		t.Errorf("a recording of %v with a pause of 4 s lasts %v s", took, length)
	}
	img, kind, err := image.Decode(bytes.NewReader(thumbnail))
	if err != nil || kind != "jpeg" || img.Bounds().Dx() != 480 {
		t.Errorf("the thumbnail: %v %v", kind, err)
	} else if r, g, b, _ := img.At(350*480/1280, 250*480/1280).RGBA(); r>>8 < 230 || g>>8 < 100 || g>>8 > 160 || b>>8 > 40 {
		t.Errorf("the thumbnail has %v", img.At(131, 93))
	}
	if _, err := w.StopRecording(w.ctx, id, io.Discard); client.CodeOf(err) != http.StatusNotFound {
		t.Errorf("it was fetched already: %v", err)
	}
}

// TestRecordingEnds: by itself, at its limit, and with what is killed.
func TestRecordingEnds(t *testing.T) {
	testenv.NeedsPrograms(t, "Xvnc", "openbox", "xterm", "ffmpeg")
	w := newWorld(t, desktop.Settings{RecordIdle: 100 * time.Millisecond})
	nothing := func() bool { return len(w.pids("ffmpeg")) == 0 }
	stop := func(id string) (int, error) {
		var video bytes.Buffer
		_, err := w.StopRecording(w.ctx, id, &video)
		return video.Len(), err
	}
	idle := uuid.NewString()
	w.must(w.StartRecording(w.ctx, idle))
	w.eventually("it ends by itself", nothing)
	if n, err := stop(idle); err != nil || n == 0 {
		t.Errorf("one that ended by itself has %d bytes, %v", n, err)
	}
	w.settings = desktop.Settings{MaxRecording: 20000}
	large := uuid.NewString()
	w.must(w.StartRecording(w.ctx, large))
	w.show("xterm", "-e", "yes", "waymark is recorded")
	w.eventually("it is too large", nothing)
	if _, err := stop(large); client.CodeOf(err) != http.StatusRequestEntityTooLarge {
		t.Errorf("one that is too large: %v", err)
	}
	w.settings = desktop.Settings{}
	killed := uuid.NewString()
	w.must(w.StartRecording(w.ctx, killed))
	p, err := os.FindProcess(w.pids("ffmpeg")[0])
	w.must(err)
	w.must(p.Kill())
	if _, err := stop(killed); client.CodeOf(err) != http.StatusInternalServerError || !strings.Contains(err.Error(), "ffmpeg") {
		t.Errorf("one whose recorder was killed: %v", err)
	}
	ended := uuid.NewString()
	w.must(w.StartRecording(w.ctx, ended))
	w.must(w.StopDesktop(w.ctx))
	if n, err := stop(ended); err != nil || n == 0 {
		t.Errorf("one whose desktop was ended: %d bytes, %v", n, err)
	}
	cut := uuid.NewString()
	w.must(w.StartRecording(w.ctx, cut))
	p, err = os.FindProcess(w.pids("Xvnc")[0])
	w.must(err)
	w.must(p.Kill())
	w.eventually("it ends", nothing)
	if _, err := stop(cut); client.CodeOf(err) != http.StatusInternalServerError || !strings.Contains(err.Error(), "X server") {
		t.Errorf("one whose desktop was killed: %v", err)
	}
	left, _ := filepath.Glob(filepath.Join(w.run, "..", "..", "state", "desktop", "*"))
	if len(left) != 0 {
		t.Errorf("files are left: %q", left)
	}
	w.settings = desktop.Settings{Recorder: "/nowhere/ffmpeg"}
	if err := w.StartRecording(w.ctx, uuid.NewString()); client.CodeOf(err) != http.StatusServiceUnavailable || !strings.Contains(err.Error(), "package ffmpeg") {
		t.Errorf("without the program: %v", err)
	}
	if !slices.Equal(w.pids("ffmpeg"), nil) || errors.Is(w.ctx.Err(), context.DeadlineExceeded) {
		t.Error("a recorder runs")
	}
}
