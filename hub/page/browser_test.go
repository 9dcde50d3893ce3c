package page_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"waymark/test/built"
)

// timeout is how long the slowest machine may take for anything here.
const timeout = 8 * time.Minute

// chrome is a running browser.
type chrome struct {
	ctx context.Context //nolint:containedctx // the browser
}

// chromium returns a browser that the tests may open tabs in. Without one, and with
// -short, the test is skipped, and says so.
func chromium(t *testing.T) chrome {
	t.Helper()
	if testing.Short() {
		t.Skip("needs Chromium")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("WAYMARK_REQUIRE_ALL") != "" {
			t.Fatal("Chromium is not installed; install Debian's chromium")
		}
		t.Skip("Chromium is not installed; install Debian's chromium")
	}
	// Its files are in a directory that chromedp makes and removes: a process of
	// the browser may live on for a moment after the one that was started, and
	// write into what the test would just be removing. Where it reports crashes is in
	// its home, which isn't to be that of whoever runs the tests.
	home, err := os.MkdirTemp("", "waymark-page-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.Env("HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home),
		chromedp.ExecPath(path), chromedp.WSURLReadTimeout(timeout),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("force-device-scale-factor", "1"),
		// Chromium refuses root otherwise, and others where they may make no namespaces.
		// The page is ours.
		chromedp.NoSandbox)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	browser, closeBrowser := chromedp.NewContext(ctx, chromedp.WithErrorf(t.Logf))
	t.Cleanup(closeBrowser)
	if err := chromedp.Do(browser); err != nil {
		t.Fatalf("start Chromium: %v", err)
	}
	return chrome{browser}
}

// look is how a tab looks at the page.
type look struct {
	width, height int64
	dark          bool
}

// tab is one tab with cookies of its own.
type tab struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // the tab
	url string

	mu       sync.Mutex // guards the rest
	requests []string
	problems []string
}

// open signs a new tab in and opens a place of the page: "" is all agents.
func open(t *testing.T, browser chrome, s *site, l look, place string) *tab {
	t.Helper()
	b := newTab(t, browser, s, l)
	b.run(chromedp.Navigate(s.link()), chromedp.WaitReady(chromedp.CSS("html[data-ready]")))
	if place != "" {
		b.visit(place)
	}
	return b
}

// visit opens a place of the page anew.
func (b *tab) visit(place string) {
	b.t.Helper()
	b.run(chromedp.Navigate("about:blank"), chromedp.Navigate(b.url+"/"+place), chromedp.WaitReady(chromedp.CSS("html[data-ready]")))
}

func newTab(t *testing.T, browser chrome, s *site, l look) *tab {
	t.Helper()
	ctx, closeTab := chromedp.NewContext(browser.ctx, chromedp.WithNewBrowserContext())
	t.Cleanup(closeTab)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	t.Cleanup(cancel)
	b := &tab{t: t, ctx: ctx, url: s.url}
	b.run(
		chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error { return chromedp.Listen(ctx, b.observe) }),
		command(network.Enable, network.EnableParams{}),
		command(cdplog.Enable, cdp.Empty{}),
		chromedp.EmulateViewport(l.width, l.height),
		command(emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: l.scheme()}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}}))
	return b
}

func (l look) scheme() string {
	if l.dark {
		return "dark"
	}
	return "light"
}

// command is a step that sends a command of the protocol.
func command[P, R any](cmd cdp.Command[P, R], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cmd, params)
		return err
	})
}

// observe notes what is asked for, and what the browser complains about.
func (b *tab) observe(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.requests = append(b.requests, e.Request.URL)
	case *network.EventWebSocketCreated:
		b.requests = append(b.requests, e.URL)
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		b.problems = append(b.problems, text)
	case *cdplog.EventEntryAdded:
		if e.Entry.Level == cdplog.EntryLevelError {
			b.problems = append(b.problems, e.Entry.Text+" "+e.Entry.URL)
		}
	}
}

// quiet fails when anything but the hub was asked, or the browser complained:
// about the Content-Security-Policy, for example.
func (b *tab) quiet(allowed ...string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) == 0 {
		b.t.Error("no request was seen: the test looks at the wrong place")
	}
	home, err := url.Parse(b.url)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, asked := range b.requests {
		if u, err := url.Parse(asked); err != nil || u.Host != home.Host || u.Scheme != home.Scheme {
			b.t.Errorf("the page asked for %s", asked)
		}
	}
	for _, problem := range b.problems {
		ok := false
		for _, text := range allowed {
			ok = ok || strings.Contains(problem, text)
		}
		if !ok {
			b.t.Errorf("the browser complains: %s", problem)
		}
	}
}

func (b *tab) run(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.fail(err)
	}
}

// fail tells what the page looked like when something went wrong.
func (b *tab) fail(err error) {
	b.t.Helper()
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText`))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.t.Fatalf("%v\nproblems: %q\nthe page says:\n%.3000s", err, b.problems, text)
}

// until waits for an expression to be true.
func (b *tab) until(expression string) {
	b.t.Helper()
	b.run(chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(timeout)))
}

// comes is until for a page that is loaded by itself meanwhile, whose predecessor can't answer.
func (b *tab) comes(expression string) {
	b.t.Helper()
	for {
		gone := (*cdproto.Error)(nil)
		err := chromedp.Do(b.ctx, chromedp.Poll[chromedp.Void](expression, chromedp.WithPollingTimeout(timeout)))
		if errors.As(err, &gone) {
			continue
		}
		if err != nil {
			b.fail(err)
		}
		return
	}
}

// visible waits for an element.
func (b *tab) visible(selector string) {
	b.t.Helper()
	b.run(chromedp.WaitVisible(chromedp.CSS(selector)))
}

// click clicks an element, as somebody does who aims again when the page has
// changed before the button was down: what is shown is made anew with every
// event. A click on anything else, or on what is gone, is none.
func (b *tab) click(selector string) {
	b.t.Helper()
	for {
		b.run(chromedp.Evaluate[chromedp.Void](`(() => {
			window.aim = ` + quote(selector) + `;
			window.hit = false;
			window.aiming ??= addEventListener('click', (event) => {
				window.hit ||= Boolean(event.target.closest?.(window.aim));
			}, true) ?? true;
		})()`))
		changed := (*cdproto.Error)(nil)
		if err := chromedp.Do(b.ctx, chromedp.Click(chromedp.CSS(selector))); errors.As(err, &changed) {
			continue
		} else if err != nil {
			b.fail(err)
		}
		// A click may lead to another page, which knows nothing of this, or just
		// now take the place of the one that is asked.
		hit, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](`window.hit !== false`))
		if hit || errors.As(err, &changed) {
			return
		} else if err != nil {
			b.fail(err)
		}
	}
}

// point is the middle of an element.
func (b *tab) point(selector string) (x, y float64) {
	b.t.Helper()
	middle := value[struct{ X, Y float64 }](b, `(() => {
		const box = document.querySelector(`+quote(selector)+`).getBoundingClientRect();
		return { X: box.x + box.width / 2, Y: box.y + box.height / 2 };
	})()`)
	return middle.X, middle.Y
}

// mouse presses or releases the left button.
func (b *tab) mouse(what input.DispatchMouseEventType, x, y float64) {
	b.t.Helper()
	b.run(chromedp.MouseEvent(what, x, y, func(p *input.DispatchMouseEventParams) {
		p.Button, p.ClickCount = input.MouseButtonLeft, 1
	}))
}

// close closes the tab; the test that opened it would, too.
func (b *tab) close() { _ = chromedp.Cancel(b.ctx) }

// value evaluates an expression.
func value[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		b.fail(err)
	}
	return v
}

// text is what an element shows.
func (b *tab) text(selector string) string {
	b.t.Helper()
	return value[string](b, `document.querySelector(`+quote(selector)+`).innerText`)
}

// accessible fails where axe-core finds what people with disabilities stumble over.
func (b *tab) accessible(where string) {
	b.t.Helper()
	b.run(chromedp.Evaluate[chromedp.Void](axe(b.t) + `;
		axe.run(document, { resultTypes: ['violations'] }).then((found) => {
			window.violations = found.violations.flatMap((v) => v.nodes.map((n) => v.id + ': ' + n.html.slice(0, 200) + ': ' + n.failureSummary));
		}, (error) => { window.violations = [String(error)]; });
		void 0`))
	b.until(`window.violations !== undefined`)
	for _, violation := range value[[]string](b, `window.violations`) {
		b.t.Errorf("%s: %s", where, violation)
	}
	b.run(chromedp.Evaluate[chromedp.Void](`delete window.violations; void 0`))
}

// axe is the source of axe-core, from npm.
func axe(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(built.NodeModules(t, "testdata/npm"), "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// legible fails where the page is wider than the tab, where it has more sizes of text
// than five, and on a telephone where something to press is smaller than a finger.
func (b *tab) legible(where string, l look) {
	b.t.Helper()
	if w := value[int64](b, `document.documentElement.scrollWidth`); w > l.width {
		b.t.Errorf("%s is %d px wide, want %d", where, w, l.width)
	}
	if sizes := value[[]string](b, `[...new Set([...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() && !e.closest('.hidden') &&
		[...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.data.trim())).map((e) => getComputedStyle(e).fontSize))].sort()`); len(sizes) > 5 {
		b.t.Errorf("%s has texts of %v, want five sizes", where, sizes)
	}
	if l.width > 760 {
		return
	}
	// A link within a sentence is as high as its line.
	for _, small := range value[[]string](b, `[...document.querySelectorAll('button, input, select, summary, nav a, tbody tr')].filter((e) => e.checkVisibility() &&
		!e.closest('.hidden') && (e.getBoundingClientRect().height < 43.5 || e.getBoundingClientRect().width < 43.5)).map((e) => e.outerHTML.slice(0, 120))`) {
		b.t.Errorf("%s: smaller than 44 px: %s", where, small)
	}
}

func quote(s string) string { return "`" + strings.ReplaceAll(s, "`", "\\`") + "`" }

// screenshot keeps how the tab looks, in the directory that
// WAYMARK_SCREENSHOTS names, or where go test -artifacts does.
func (b *tab) screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("WAYMARK_SCREENSHOTS")
	if dir == "" {
		dir = b.t.ArtifactDir()
	}
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.fail(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
