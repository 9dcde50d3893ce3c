package desktop_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"waymark/test/testenv"
	"waymark/workspace/desktop"
)

// page reports what it receives, one request for each event, in order. Above are a field for
// text and what can be scrolled; where it lies on the screen is told first.
const page = `<!doctype html><meta charset="utf-8"><title>events</title>
<body style="margin:0"><textarea id="t" style="width:600px;height:60px"></textarea><div style="height:5000px"></div>
<script>
let last = Promise.resolve();
const tell = (...what) => { last = last.then(() => fetch('/', {method: 'POST', body: JSON.stringify(what.map(String))})) };
for (const kind of ['mousedown', 'mouseup', 'click', 'dblclick', 'auxclick', 'contextmenu'])
  addEventListener(kind, e => { if (kind == 'contextmenu') e.preventDefault(); tell(kind, e.screenX, e.screenY, e.button, e.ctrlKey ? 'ctrl' : '') });
let drags = 0;
addEventListener('mousemove', e => { if (e.buttons == 1) drags++ });
addEventListener('mouseup', () => { tell('dragged', drags); drags = 0 });
addEventListener('wheel', e => tell('wheel', Math.sign(e.deltaX), Math.sign(e.deltaY)));
addEventListener('keydown', e => tell('keydown', e.key, e.ctrlKey ? 'ctrl' : ''));
addEventListener('scrollend', () => tell('scrolled', Math.sign(scrollY)));
document.getElementById('t').addEventListener('input', e => tell('input', e.target.value));
requestAnimationFrame(() => requestAnimationFrame(() => tell('ready', innerWidth, innerHeight)));
</script>`

// chromium shows a page on the desktop, and returns what the page reports.
func (w *world) chromium() <-chan string {
	w.Helper()
	reports := make(chan string, 10000)
	web := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			rw.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(rw, page)
			return
		}
		var what []string
		if json.NewDecoder(r.Body).Decode(&what) == nil {
			reports <- strings.Join(what, " ")
		}
	}))
	w.Cleanup(web.Close)
	_, err := w.StartDesktop(w.ctx)
	w.must(err)
	env, _ := w.service.Environ(grants["all"])
	home := w.TempDir()
	cmd := exec.Command("chromium", "--no-sandbox", "--disable-gpu", "--no-first-run", "--no-default-browser-check", "--disable-dev-shm-usage", //nolint:noctx // its group is killed
		"--disable-background-networking", "--disable-component-update", "--password-store=basic", "--lang=en", "--kiosk",
		"--user-data-dir="+filepath.Join(home, "profile"), "--app="+web.URL)
	cmd.Env = append(append(os.Environ(), env...), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_RUNTIME_DIR="+home, "DBUS_SESSION_BUS_ADDRESS=disabled:")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	w.must(cmd.Start())
	w.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	w.until(reports, "^ready ")
	return reports
}

// TestChromium: a browser's page receives what actions do, scaled and not.
func TestChromium(t *testing.T) {
	if testing.Short() {
		t.Skip("needs Chromium")
	}
	testenv.NeedsPrograms(t, "Xvnc", "openbox", "chromium")
	w := newWorld(t, desktop.Settings{})
	reports := w.chromium()
	w.act("left_click", at(700, 500))
	w.until(reports, "^click ") // it has the focus
	for _, size := range []struct{ x, y int }{{1280, 800}, {640, 400}} {
		// here is a point as the caller sees it, and there as the page does.
		here := func(x, y int) []int { return []int{x * size.x / 1280, y * size.y / 800} }
		there := func(x, y int) string {
			if size.x < 1280 {
				x, y = x+1, y+1 // the middle of a larger pixel
			}
			return fmt.Sprintf("%d %d", x, y)
		}
		shown := scaled(size.x, size.y)
		point := func(x, y int) field { return at(here(x, y)[0], here(x, y)[1]) }
		w.act("left_click", point(800, 500), shown)
		w.until(reports, "^mousedown "+there(800, 500)+" 0 $")
		w.until(reports, "^click "+there(800, 500)+" 0 $")
		w.act("left_click", point(810, 500), shown, text("ctrl"))
		w.until(reports, "^click "+there(810, 500)+" 0 ctrl$")
		w.act("middle_click", point(820, 500), shown)
		w.until(reports, "^auxclick "+there(820, 500)+" 1 $")
		w.act("right_click", point(830, 500), shown)
		w.until(reports, "^contextmenu "+there(830, 500)+" 2 $")
		w.act("double_click", point(840, 500), shown)
		w.until(reports, "^dblclick "+there(840, 500)+" 0 $")
		begin := here(700, 300)
		w.act("left_click_drag", from(begin[0], begin[1]), point(900, 600), shown)
		w.until(reports, "^mousedown "+there(700, 300)+" 0 $")
		w.until(reports, "^mouseup "+there(900, 600)+" 0 $")
		w.until(reports, "^dragged [1-9]")
		w.act("scroll", point(700, 500), shown)
		w.until(reports, "^wheel 0 1$")
		w.until(reports, "^scrolled 1$")
		w.act("scroll", point(700, 500), shown, to("up"), amount(10))
		w.until(reports, "^wheel 0 -1$")
		w.until(reports, "^scrolled 0$")
		w.act("key", text("ctrl+Home"))
		w.until(reports, "^keydown Home ctrl$")
	}
	w.act("left_click", at(300, 30))
	w.until(reports, "^click 300 30 0 $")
	const typed = "Grüße, World! Привет, мир. 你好，世界"
	w.act("type", text(typed))
	w.until(reports, "^input "+typed+"$")
	w.act("key", text("ctrl+a"))
	w.act("type", text("x"))
	w.until(reports, "^input x$")
}
