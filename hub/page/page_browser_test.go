package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/test/pushtest"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// TestPage looks at the page in Chromium, of which all parts share one.
func TestPage(t *testing.T) {
	browser := chromium(t)
	for name, test := range map[string]func(*testing.T, chrome){
		"first paint": testFirstPaint, "live": testLive, "pressed": testPressed, "restart": testRestart, "hostile": testHostile, "keyboard": testKeyboard,
		"narrow": testNarrow, "pins": testPins, "servers": testServers, "clients": testClients, "coverage": testCoverage, "signing out": testSigningOut, "nothing there": testNothing, "looks": testLooks,
		"fleet": testFleet, "fleet live": testFleetLive, "fleet looks": testFleetLooks, "widths": testWidths, "agent widths": testAgentWidths, "order": testOrder, "operator": testOperator, "operate": testOperate, "reading": testReading, "away": testAway, "resources": testResources, "prompt": testPrompt,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, browser)
		})
	}
}

// testFirstPaint measures how long it takes until 200 resources are shown.
func testFirstPaint(t *testing.T, browser chrome) {
	s := newSite(t)
	resources, plugins := workspace()
	s.agent("dev-1", "").push(resources, plugins...)
	b := open(t, browser, s, look{1280, 860, false}, "#/dev-1")
	best := 1e9
	for range 3 {
		b.visit("#/dev-1")
		if rows := value[int](b, `document.querySelectorAll('#list .row').length`); rows != 200 {
			t.Fatalf("%d rows, want 200", rows)
		}
		b.until(`performance.getEntriesByName('first-contentful-paint').length > 0`)
		paint := value[float64](b, `performance.getEntriesByName('first-contentful-paint')[0].startTime`)
		ready := value[float64](b, `performance.getEntriesByName('ready')[0].startTime`)
		t.Logf("first paint after %.0f ms, 200 resources after %.0f ms", paint, ready)
		best = min(best, ready)
	}
	if best > 60_000 { // of which a slow machine may take a good part
		t.Errorf("200 resources after %.0f ms at best, want less than 1 s, and never a minute", best)
	}
}

// testLive edits, and sees it without a reload, also in an open viewer.
func testLive(t *testing.T, browser chrome) {
	s := newSite(t)
	a := s.agent("dev-1", "machine")
	one, two := instructions("/w/AGENTS.md", "first text\n"), skill("two", "x")
	a.push([]*pushtest.Resource{one, two})
	b := open(t, browser, s, look{1280, 860, false}, "#/dev-1")
	b.until(`document.querySelector('#connection').textContent === 'live'`)
	b.run(chromedp.Evaluate[chromedp.Void](`window.same = 'page'; undefined`))
	b.click(`[data-key="r-instruction_file:/w/AGENTS.md"]`)
	b.until(`document.querySelector('dialog .text')?.textContent.includes('first text')`)

	a.push([]*pushtest.Resource{instructions("/w/AGENTS.md", "second text\n"), two, skill("three", "y")})
	b.until(`document.querySelector('dialog .text')?.textContent.includes('second text')`)
	b.until(`document.querySelectorAll('#list .row').length === 3`)
	b.until(`document.querySelector('#feed').innerText.includes('changed AGENTS.md, three')`)
	b.run(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.querySelector('dialog').open`)

	a.push([]*pushtest.Resource{broken(instructions("/w/AGENTS.md", ""), waymark.Status_STATUS_UNREADABLE, "permission denied")},
		&waymark.Plugin{Name: "acme", State: "failing", Error: "it trapped"})
	b.until(`document.querySelector('#list').innerText.includes('permission denied')`)
	b.until(`document.querySelector('#tab-plugins .badge')?.textContent === '1'`)

	second := s.agent("dev-2", "other")
	second.push([]*pushtest.Resource{one})
	b.until(`document.querySelectorAll('#agents a').length === 2`)
	b.screenshot("live")
	a.leave()
	b.until(`document.querySelector('#agents a[aria-current]').innerText.includes('away')`)
	b.until(`document.querySelector('.agent-head').innerText.includes('away')`)
	if same := value[string](b, `window.same`); same != "page" {
		t.Error("the page was loaded anew")
	}
	b.quiet()
}

// testPressed: an event that comes between the press of a button and its
// release takes nothing away from the click.
func testPressed(t *testing.T, browser chrome) {
	s := newSite(t)
	a := s.agent("dev-1", "")
	list := []*pushtest.Resource{instructions("/w/AGENTS.md", "first text\n"), instructions("/w/more/AGENTS.md", "x")}
	a.push(list)
	b := open(t, browser, s, look{1280, 860, false}, "#/dev-1")
	b.until(`document.querySelector('#connection').textContent === 'live'`)
	b.run(chromedp.Evaluate[chromedp.Void](`addEventListener('click', (event) => {
		window.clicked = event.target.closest('[data-key]')?.dataset.key;
	}, true)`))
	const asked = `performance.getEntriesByType('resource').filter((e) => e.name.endsWith('/agents/dev-1/context')).length`
	for name, test := range map[string]struct{ selector, does string }{
		"agent":    {`[data-key="agent-dev-1"]`, `window.clicked === 'agent-dev-1'`},
		"tab":      {`#tab-resources`, `window.clicked === 'tab-resources'`},
		"resource": {`[data-key="r-instruction_file:/w/AGENTS.md"]`, `window.clicked === 'r-instruction_file:/w/AGENTS.md'`},
	} {
		x, y := b.point(test.selector)
		b.mouse(chromedp.MousePressed, x, y)
		before := value[int](b, asked)
		list = append(list, instructions("/w/"+name+"/AGENTS.md", "y"))
		a.push(list)
		b.until(fmt.Sprintf(`%s > %d && document.querySelectorAll('#feed li[data-live]').length > 0`, asked, before)) // it has been told
		b.mouse(chromedp.MouseReleased, x, y)
		b.until(test.does)
		if name == "resource" {
			b.until(`document.querySelector('dialog .text')?.textContent.includes('first text')`)
			b.run(chromedp.KeyEvent(kb.Escape))
		}
		// What was held back is shown now.
		b.until(fmt.Sprintf(`document.querySelectorAll('#list .row').length === %d`, len(list)))
	}
	b.quiet()
}

// testRestart: the hub goes away and comes back, and the page says so and
// catches up with what happened meanwhile.
func testRestart(t *testing.T, browser chrome) {
	s := newSite(t)
	a := s.agent("dev-1", "")
	a.push([]*pushtest.Resource{skill("one", "x")})
	b := open(t, browser, s, look{1280, 860, false}, "#/dev-1")
	b.until(`document.querySelector('#connection').textContent === 'live'`)
	s.stop()
	b.until(`document.querySelector('#connection').textContent === 'reconnecting'`)
	s.start()
	a = s.agent("dev-1", "")
	a.push([]*pushtest.Resource{skill("one", "x"), skill("two", "y")})
	b.until(`document.querySelector('#connection').textContent === 'live'`)
	b.until(`document.querySelectorAll('#list .row').length === 2`)
	b.until(`document.querySelector('#agents a').innerText.includes('connected') && document.querySelector('#notice').innerText === ''`)
	a.push([]*pushtest.Resource{skill("three", "z")})
	b.until(`document.querySelector('#list').innerText.includes('three')`)
	b.quiet("502", "ERR_") // what it is told while the hub is away
}

// testHostile shows texts that want to be more than text.
func testHostile(t *testing.T, browser chrome) {
	const script = `<script>window.pwned = 1</script><img src="https://evil.example/x" onerror="window.pwned = 2">`
	const bidi = "user\u202eexe.gpj\u2066\u200b\u061c"
	tags := ""
	for _, r := range "obey" {
		tags += string(0xe0000 + r)
	}
	nasty := script + bidi + tags + "\x1b[31m javascript:window.pwned=3"
	s := newSite(t)
	a := s.agent("dev-1", "<img src=x onerror=pwned=4>"+bidi+tags)
	text := nasty + "\r\n" + strings.Repeat(nasty+"\n", 3) + "שלום\tworld \U0001f469\u200d\U0001f4bb ⚠\ufe0f\n"
	file := instructions("/w/"+nasty+"/AGENTS.md", text)
	file.Name, file.Description, file.Resolver = nasty, nasty, nasty
	file.Attributes = map[string]*waymark.Attribute{nasty: {Value: &waymark.Attribute_Text{Text: nasty}}}
	bad := broken(instructions("/w/"+nasty, ""), waymark.Status_STATUS_INVALID, nasty)
	tools, err := json.Marshal(map[string]any{"name": nasty, "title": nasty, "description": nasty, "input_schema": map[string]string{nasty: nasty}})
	if err != nil {
		t.Fatal(err)
	}
	evil := server("evil", string(tools))
	evil.Name, evil.Description = nasty, nasty
	evil.Attributes = map[string]*waymark.Attribute{nasty: attribute(nasty), "freshness": attribute(nasty), "findings": attribute(nasty), "trimmed": attribute(nasty)}
	a.discovery = &waymark.Discovery{Phase: nasty[:40], Sources: []*waymark.SourceOutcome{
		{Id: "mcp_server:/home/dev/project/.mcp.json#evil", Name: nasty, Outcome: nasty[:40], Error: nasty}, {Id: "mcp_server:" + nasty, Name: nasty, Outcome: "failed", Error: nasty},
	}}
	plugin := &waymark.Plugin{Name: nasty, Version: nasty, Path: nasty, State: "failing", Error: nasty, Resolvers: []string{nasty}}
	a.push([]*pushtest.Resource{file, bad, evil}, plugin)
	pin := fmt.Sprintf(`{"agent_id":"dev-1","name":%q}`, script[:90])
	s.call("POST", "/api/v0/pins", pin, http.StatusCreated, nil)
	b := open(t, browser, s, look{1280, 860, false}, "#/dev-1")
	a.push([]*pushtest.Resource{instructions("/w/"+nasty+"/AGENTS.md", text+nasty+"\n"), bad, evil}, plugin)
	b.until(`document.querySelectorAll('#feed li[data-live]').length > 0`)

	check := func(where, wants string) {
		t.Helper()
		b.until(`document.body.textContent.includes(` + quote(wants) + `)`)
		if found := value[string](b, rawText); found != "" {
			t.Errorf("%s: the page holds %s as it is", where, found)
		}
		if scripts := value[int](b, `document.scripts.length + document.images.length + document.querySelectorAll('iframe,object,embed').length`); scripts != 2 {
			t.Errorf("%s: %d scripts, images and frames, want the page's own script and icon", where, scripts)
		}
		if !value[bool](b, `window.pwned === undefined`) {
			t.Errorf("%s: text of the workspace was run", where)
		}
	}
	check("resources", `<script>window.pwned = 1</script><img src=`)
	check("resources", `U+202E`)
	check("resources", `tags “obey”`)
	b.screenshot("hostile-resources")
	b.click(`.row:last-child button`)
	b.run(chromedp.KeyEvent(kb.Escape))
	b.click(`[aria-labelledby="group-MCP-servers"] .row button`)
	b.visible("dialog .numbered")
	check("server", `U+202E`)
	b.run(chromedp.KeyEvent(kb.Escape))
	b.click(`[aria-labelledby="group-Instructions"] .row button`)
	b.visible("dialog .numbered")
	check("viewer", `characters that can’t be seen`)
	if got := b.text("dialog .numbered"); !strings.Contains(got, "שלום\tworld \U0001f469\u200d\U0001f4bb ⚠\ufe0f") {
		t.Errorf("text that is as it should be is shown as %q", got)
	}
	b.screenshot("hostile-viewer")
	b.run(chromedp.KeyEvent(kb.Escape))
	b.click("#tab-pins")
	b.click(`[data-key^="toggle-"]`)
	b.visible(".diff")
	check("pins", "+"+script)
	b.screenshot("hostile-pins")
	for _, tab := range []string{"plugins", "history", "prompt", "servers"} {
		b.click("#tab-" + tab)
		b.visible("#tab-" + tab + "[aria-selected=true]")
		b.until(`document.querySelector('#panel .card, #panel pre') !== null`)
		check(tab, "Waymark")
	}
	b.click(`[data-key^="tools-"]`)
	b.visible(".tool")
	b.click(".tool summary")
	check("tools", `<script>window.pwned = 1</script>`)
	b.screenshot("hostile-servers")
	b.quiet()
}

// rawText finds characters in the page's text that are invisible or turn the
// order of others, where they aren't part of an emoji.
const rawText = `(() => {
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; (node = walker.nextNode());) {
		const text = node.data.replaceAll(/\p{Extended_Pictographic}[\u200d\ufe0f]+/gu, '');
		const found = text.match(/[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\x00-\x08\x0b-\x1f\x7f-\x9f]/u);
		if (found) return 'U+' + found[0].codePointAt(0).toString(16) + ' in a ' + node.parentElement.tagName + ' with ' + JSON.stringify(node.data.slice(0, 80));
	}
	return '';
})()`

// testKeyboard does everything without a mouse.
func testKeyboard(t *testing.T, browser chrome) {
	s := newSite(t)
	resources, plugins := workspace()
	s.agent("dev-1", "").push(resources, plugins...)
	b := open(t, browser, s, look{1280, 860, false}, "#/dev-1")
	press := func(keys ...string) {
		for _, key := range keys {
			b.run(chromedp.KeyEvent(key))
		}
	}
	const active = `(document.activeElement.dataset.key ?? document.activeElement.id)`
	press("/", "skill-15")
	b.until(active + ` === 'filter' && document.querySelectorAll('#list .row').length === 10`)
	if got := b.text("#matching"); got != "10 of 200" {
		t.Errorf("matching: %q", got)
	}
	press(kb.ArrowDown, kb.ArrowDown)
	row := `r-skill:/home/dev/project/.agents/skills/skill-151`
	b.until(active + ` === ` + quote(row))
	press(kb.Enter)
	b.visible("dialog .numbered")
	press(kb.Escape)
	b.until(`!document.querySelector('dialog').open && ` + active + ` === ` + quote(row))
	press("/", kb.Escape)
	b.until(`document.querySelectorAll('#list .row').length === 200`)

	b.run(chromedp.Focus(chromedp.CSS("#tab-resources")))
	for _, tab := range []string{"pins", "history", "plugins", "clients", "prompt", "resources"} {
		press(kb.ArrowRight)
		b.until(active + ` === 'tab-` + tab + `' && document.activeElement.ariaSelected === 'true'`)
	}
	// Whatever tab reaches has a name, and shows that it has the focus.
	b.visit("#/dev-1")
	seen := make(map[string]bool)
	for range 20 {
		press(kb.Tab)
		e := value[struct {
			Tag, Name, Key string
			Outline        float64
		}](b, `(() => {
			const e = document.activeElement, style = getComputedStyle(e);
			const label = e.getAttribute('aria-label') ?? document.getElementById(e.getAttribute('aria-labelledby'))?.innerText;
			return { Tag: e.tagName, Name: label ?? e.labels?.[0]?.textContent ?? e.innerText, Key: e.id || e.dataset.key || e.innerText,
				Outline: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth) };
		})()`)
		if e.Tag == "BODY" {
			break
		}
		seen[e.Key] = true
		if strings.TrimSpace(e.Name) == "" || e.Outline < 1 {
			t.Errorf("%s %q has the name %q and an outline of %v px", e.Tag, e.Key, e.Name, e.Outline)
		}
	}
	for _, key := range []string{"Skip to the content", "Sign out", "back", "agent-dev-1", "details", "tab-resources", "filter"} {
		if !seen[key] {
			t.Errorf("tab doesn't reach %q; it reaches %v", key, seen)
		}
	}
	b.screenshot("focus")
	b.quiet("409")
}

// testNarrow looks at everything on a telephone: nothing is wider than it.
func testNarrow(t *testing.T, browser chrome) {
	s := newSite(t)
	a := s.agent("dev-1", strings.Repeat("long", 30))
	resources, plugins := workspace()
	long := instructions("/home/dev/"+strings.Repeat("x", 300)+"/AGENTS.md", strings.Repeat("y", 500)+"\n")
	long.Description = strings.Repeat("z", 300)
	plugins[1].Error = strings.Repeat("e", 300)
	a.discovery = discovery("pending", strings.Repeat("n", 200), "pending", "docs", "failed")
	a.discovery.Sources[1].Error = strings.Repeat("f", 300)
	docs := server("docs", `{"name":"`+strings.Repeat("t", 100)+`","description":"`+strings.Repeat("d", 300)+`","input_schema":{"`+strings.Repeat("k", 300)+`":1}}`)
	docs.Attributes = map[string]*waymark.Attribute{"freshness": attribute(strings.Repeat("a", 200))}
	resources = append(resources[:199:199], docs)
	a.push(append(resources, long), plugins...)
	s.call("POST", "/api/v0/pins", `{"agent_id":"dev-1","name":"`+strings.Repeat("p", 100)+`"}`, http.StatusCreated, nil)
	a.push(append(resources, instructions("/home/dev/"+strings.Repeat("x", 300)+"/AGENTS.md", strings.Repeat("w", 500)+"\n")), plugins...)
	b := open(t, browser, s, look{360, 780, false}, "#/dev-1")
	fits := func(where string) {
		t.Helper()
		if w := value[int](b, `document.documentElement.scrollWidth`); w > 360 {
			t.Errorf("%s is %d px wide", where, w)
		}
	}
	fits("resources")
	b.click(`[data-key^="r-instruction_file:/home/dev/xxx"]`)
	b.visible("dialog .numbered")
	fits("viewer")
	b.run(chromedp.KeyEvent(kb.Escape))
	for _, tab := range []string{"pins", "history", "plugins", "prompt", "servers"} {
		b.click("#tab-" + tab)
		b.visible("#tab-" + tab + "[aria-selected=true]")
		b.until(`document.querySelector('#panel .card, #panel pre') !== null`)
		switch tab {
		case "pins":
			b.click(`[data-key^="toggle-"]`)
			b.visible(".diff")
		case "history":
			b.click("#panel summary")
			b.visible(".diff")
		case "servers":
			b.click(`[data-key^="tools-"]`)
			b.visible(".tool")
			b.click(".tool summary")
		}
		fits(tab)
	}
	b.run(chromedp.Navigate(s.url + "/login"))
	fits("login")
	b.quiet("401")
}

// testPins makes, sees drift, refreshes and deletes.
func testPins(t *testing.T, browser chrome) {
	s := newSite(t)
	a := s.agent("dev-1", "")
	a.push([]*pushtest.Resource{instructions("/w/AGENTS.md", "one\ntwo\n"), skill("s", "x")})
	b := open(t, browser, s, look{1280, 860, false}, "#/dev-1")
	b.until(`document.querySelector('#connection').textContent === 'live'`)
	b.click("#tab-pins")
	b.run(chromedp.SendKeys(chromedp.CSS("#pin-name"), "my review"+kb.Enter))
	b.until(`document.querySelector('.card')?.innerText.includes('my review') && document.querySelector('.card').innerText.includes('in step')`)
	b.run(chromedp.SendKeys(chromedp.CSS("#pin-name"), "half a na"))

	a.push([]*pushtest.Resource{instructions("/w/AGENTS.md", "one\nthree\n"), skill("s", "x"), skill("new", "y")})
	b.until(`document.querySelector('.card').innerText.includes('drifted')`)
	b.until(`document.querySelector('#agents').innerText.includes('drifted pins')`)
	if half := value[string](b, `document.querySelector('#pin-name').value`); half != "half a na" {
		t.Errorf("what was typed became %q when the pin drifted", half)
	}
	b.until(`document.querySelector('.card .counts')?.textContent.startsWith('+1 ~1 −0')`)
	if got, want := b.text(`[data-key^="refresh-"]`), "Move to revision"; !strings.HasPrefix(got, want) {
		t.Errorf("the button says %q, want %q and which", got, want)
	}
	b.click(`[data-key^="toggle-"]`)
	b.until(`document.querySelector('.changes')?.innerText.includes('+three') && document.querySelector('.changes').innerText.includes('-two')`)
	if got := value[string](b, `document.querySelector('.changes').textContent`); !strings.Contains(got, "added") || !strings.Contains(got, "/skills/new") {
		t.Errorf("the changes don't name the new skill:\n%s", got)
	}
	b.click(`[data-key^="refresh-"]`)
	b.until(`document.querySelector('.card').innerText.includes('in step')`)
	b.until(`document.querySelector('.card').innerText.includes('No differences')`)
	b.click(`[data-key^="delete-"]`)
	b.until(`document.querySelector('.card').innerText.includes('Really delete')`)
	b.click(`[data-key^="delete-"]`)
	b.until(`document.querySelector('.card') === null`)
	var pins []any
	s.call("GET", "/api/v0/pins", "", http.StatusOK, &pins)
	if len(pins) != 0 {
		t.Errorf("pins that are left: %v", pins)
	}
	b.quiet()
}

// testServers follows MCP servers from the first moment until all is known.
func testServers(t *testing.T, browser chrome) {
	s := newSite(t)
	a := s.agent("dev-1", "")
	a.discovery = discovery("pending", "docs", "pending", "shell", "pending")
	a.push([]*pushtest.Resource{instructions("/w/AGENTS.md", "x")})
	b := open(t, browser, s, look{1280, 860, false}, "#/dev-1")
	b.until(`document.querySelector('#connection').textContent === 'live'`)
	b.until(`document.querySelector('.agent-head').innerText.includes('discovery pending')`)
	b.until(`document.querySelector('#agents a').innerText.includes('pending')`)
	b.click("#tab-servers")
	b.until(`document.querySelectorAll('.server').length === 2 && document.querySelector('#body').innerText.includes('more is still to come')`)

	docs := server("docs", `{"name":"search","title":"Search","description":"Finds pages.\nAll of them.","input_schema":{"type":"object","properties":{"query":{"type":"string"}}},`+
		`"annotations":{"readOnlyHint":true}},{"name":"drop","annotations":{"destructiveHint":true}}`)
	docs.Attributes = map[string]*waymark.Attribute{
		"state": attribute("known"), "transport": attribute("stdio"), "freshness": attribute("catalogue of 14:02, not running"),
		"trimmed":  attribute("3 of 5 tools are left out here, since all together are too large"),
		"findings": {Value: &waymark.Attribute_List{List: &waymark.TextList{Items: []string{"the tool search has invisible characters"}}}},
	}
	shell := broken(server("shell", ""), waymark.Status_STATUS_EXCLUDED, "approve it: agent mcp approve shell")
	a.discovery = discovery("complete", "docs", "cached", "shell", "needs_approval")
	a.push([]*pushtest.Resource{instructions("/w/AGENTS.md", "x"), docs, shell})
	b.until(`document.querySelector('.server .state')?.textContent === 'needs approval'`)
	b.until(`!document.querySelector('.agent-head').innerText.includes('discovery pending')`)
	if tab := b.text("#tab-servers"); !strings.Contains(tab, "1") {
		t.Errorf("the tab says %q, want that one waits for somebody", tab)
	}
	for _, want := range []string{"approve it: agent mcp approve shell", "agent mcp show shell", "lets it run", "catalogue of 14:02, not running", "1 finding", "invisible characters", "3 of 5 tools", "cached", "What docs offers"} {
		if got := b.text("#body"); !strings.Contains(got, want) {
			t.Errorf("the servers don't say %q:\n%s", want, got)
		}
	}
	b.click(`[data-key^="tools-mcp_server:"]`)
	b.until(`document.querySelectorAll('.tool').length === 2`)
	b.click(".tool summary")
	if got := b.text(".server .body"); !strings.Contains(got, "reads only") || !strings.Contains(got, "may destroy") || !strings.Contains(got, "Finds pages.\nAll of them.") || !strings.Contains(got, `"query": {`) {
		t.Errorf("the tools are shown as\n%s", got)
	}

	// What changes meanwhile folds nothing up.
	a.push([]*pushtest.Resource{instructions("/w/AGENTS.md", "y"), docs})
	b.until(`document.querySelector('#feed').innerText.includes('changed')`)
	b.until(`document.querySelectorAll('.tool').length === 2`)
	b.screenshot("servers-tools")
	b.quiet()
}

// testClients: what coding agents see, as the agent says when it is asked, or why it says
// nothing.
func testClients(t *testing.T, browser chrome) {
	s := newSite(t)
	s.agent("old", "").push([]*pushtest.Resource{instructions("/w/AGENTS.md", "x")})
	var asked atomic.Int32
	s.reversing("new", map[string]reverse.Handler{reverse.KindClientContext: func(_ context.Context, body []byte) ([]byte, error) {
		request, err := api.DecodeClientRequest(body)
		if err != nil || request.Client == "claude" {
			return nil, &reverse.Error{Code: reverse.CodeDenied, Text: "the agent's configuration has it switched off"}
		}
		asked.Add(1)
		return api.EncodeClientContext(api.ClientContext{
			Client: "codex", Name: "Codex", Version: "0.169.0", Judged: "program 1, 2026-11-24", Root: "/w", Project: "/w", Withheld: 3,
			Known: []api.KnownClient{{Client: "claude", Name: "Claude Code"}, {Client: "codex", Name: "Codex"}},
			Items: []snapshot.ClientItem{
				{ID: "instruction_file:/w/AGENTS.md", Kind: "instruction_file", Path: "/w/AGENTS.md", Bytes: 40000, Tokens: 8192, Included: true, CutBytes: 7232, Reason: "cut", Detail: "there was room for 32768 bytes of it"},
				{ID: "skill:/w/.agents/skills/x", Kind: "skill", Path: "/w/.agents/skills/x/SKILL.md", Name: "<img src=x onerror=alert(1)>", Bytes: 90, Tokens: 23, Included: true},
				{ID: "skill:/w/.agents/skills/y", Kind: "skill", Path: "/w/.agents/skills/y/SKILL.md", Name: "y\u202e", Bytes: 90, Reason: "no_description"},
			},
			Budget: snapshot.ClientBudget{InstructionBytes: 32768, UsedBytes: 32768, SkillTokens: 5440, UsedTokens: 455, Builtin: 4, Shortened: 2},
		})
	}})
	b := open(t, browser, s, look{1280, 860, false}, "")
	b.run(chromedp.Navigate(s.url + "/#/old/clients"))
	b.until(`document.querySelector('#body')?.innerText.includes('older than that')`)
	b.run(chromedp.Navigate(s.url + "/#/new/clients"))
	b.until(`document.querySelectorAll('#body .card').length === 3`)
	said := b.text("#body")
	for _, want := range []string{
		"Codex 0.169.0, started in /w", "Its rules are judged by", "It begins with 2 items", "It leaves out 1 item", "there was room for 32768 bytes of it",
		"<img src=x onerror=alert(1)>", "no description", "32768 of 32768 bytes", "455 of 5440 tokens", "2 descriptions", "3 more items of which this hub",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("it doesn't say %q:\n%s", want, said)
		}
	}
	b.screenshot("clients")
	b.click(`[data-key="look-again"]`)
	b.until(`!document.querySelector('[data-key="look-again"]').disabled && document.querySelector('#body [role=status]').innerText.startsWith('as of')`)
	if n := asked.Load(); n != 2 {
		t.Errorf("the agent was asked %d times", n)
	}
	b.run(chromedp.Evaluate[chromedp.Void](`{ const s = document.querySelector('#client'); s.value = 'claude'; s.dispatchEvent(new Event('change')); }`))
	b.until(`document.querySelector('#body').innerText.includes('switched off') && document.querySelectorAll('#body .card').length === 0`)
	b.quiet("409")
}

// testCoverage: what isn't used is asked for when somebody unfolds it, and is text.
func testCoverage(t *testing.T, browser chrome) {
	s := newSite(t)
	old := s.agent("old", "")
	old.push([]*pushtest.Resource{instructions("/w/AGENTS.md", "x")})
	var asked atomic.Int32
	s.reversing("new", map[string]reverse.Handler{reverse.KindContextCoverage: func(context.Context, []byte) ([]byte, error) {
		if asked.Add(1) > 1 {
			return api.EncodeCoverage(api.Coverage{})
		}
		return api.EncodeCoverage(api.Coverage{Partial: true, Groups: []api.CoverageGroup{
			{Reason: "switched_off", Text: "202 files for agents that are switched off", Files: append([]api.CoverageFile{
				{Path: "/w/.x/<img src=x onerror=alert(1)>\u202e\x1b[31m", As: "rules", Readers: []string{"<b>cursor</b>", "cline"}},
				{Path: "/w/" + strings.Repeat("long/", 100) + "rules.md"},
			}, make([]api.CoverageFile, 200)...)},
			{Reason: "no_kind", Text: "3 files that no kind <i>fits</i>", Withheld: 3},
		}})
	}})
	b := open(t, browser, s, look{360, 780, true}, "#/old")
	const summary = `[data-key="coverage"]`
	b.visible(summary)
	b.click(summary)
	b.until(`document.querySelector('.coverage').innerText.includes('older than that')`)
	old.leave()
	b.until(`!document.querySelector('.coverage')`)
	b.run(chromedp.Navigate(s.url + "/#/new"))
	b.visible(summary)
	if asked.Load() != 0 || value[bool](b, `document.querySelector('.coverage').open`) {
		t.Error("the agent was asked before anybody wanted to know")
	}
	b.click(summary)
	b.until(`document.querySelectorAll('.coverage .card').length === 2`)
	if said := b.text(".coverage"); strings.Contains(said, "cursor") {
		t.Errorf("the files are unfolded:\n%s", said)
	}
	b.click(`[data-key="coverage-switched_off"]`)
	said := b.text(".coverage")
	for _, want := range []string{
		"202 files for agents that are switched off", ".x/<img src=x onerror=alert(1)>", "rules, read by <b>cursor</b>, cline", "2 more files",
		"3 files that no kind <i>fits</i>", "on its own machine only", "There may be more", "agent why --all",
	} {
		if !strings.Contains(strings.ReplaceAll(said, "\n", ""), want) {
			t.Errorf("it doesn't say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "/w/") || strings.ContainsAny(said, "\u202e\x1b") || value[int](b, `document.querySelectorAll('.coverage :is(img, b, i)').length`) > 0 {
		t.Errorf("paths aren't relative, or not text:\n%s", said)
	}
	if w := value[int](b, `document.documentElement.scrollWidth`); w > 360 {
		t.Errorf("it is %d px wide", w)
	}
	b.screenshot("coverage")
	// What happens meanwhile folds nothing up; unfolded anew, it is asked for anew.
	s.agent("third", "").push([]*pushtest.Resource{instructions("/w/AGENTS.md", "y")})
	if !value[bool](b, `document.querySelector('.coverage details').open`) {
		t.Error("it is folded up")
	}
	b.click(summary)
	b.click(summary)
	b.until(`document.querySelector('.coverage').innerText.includes('All files of agents that lie here are used')`)
	if n := asked.Load(); n != 2 {
		t.Errorf("the agent was asked %d times", n)
	}
	b.quiet("409")
}

// testSigningOut: the browser's session ends, by hand and from afar.
func testSigningOut(t *testing.T, browser chrome) {
	s := newSite(t)
	s.agent("dev-1", "").push([]*pushtest.Resource{skill("s", "x")})
	b := open(t, browser, s, look{1280, 860, false}, "#/dev-1")
	b.click(`form[action="/logout"] button`)
	b.visible("body.login")
	if got := b.text("body"); !strings.Contains(got, "Signed out") {
		t.Errorf("after signing out:\n%s", got)
	}
	b.run(chromedp.Navigate(s.url + "/"))
	if got := b.text("body"); !strings.Contains(got, "hub login") {
		t.Errorf("without a cookie:\n%s", got)
	}

	b.run(chromedp.Navigate(s.link()))
	b.visible("html[data-ready]")
	b.until(`document.querySelectorAll('#fleet-rows tr').length === 1`)
	s.revoke()
	b.click(`[data-key="agent-dev-1"]`)
	b.until(`document.querySelector('#notice').innerText.includes('You are signed out')`)
	b.quiet("401")
}

// testNothing is a hub without agents, and an agent that has never connected: the page
// asks for nothing that isn't there.
func testNothing(t *testing.T, browser chrome) {
	s := newSite(t)
	b := open(t, browser, s, look{1280, 860, true}, "")
	b.until(`document.querySelectorAll('#fleet .command button').length === 3`)
	types(t, s, b.text("#fleet .command pre"), "hub", "enroll", "code", "--db", s.db)
	b.screenshot("nothing")
	s.token(store.RoleAgent, "dev-1", "")
	b.visit("")
	b.until(`document.querySelector('#fleet-rows').innerText.includes('never connected')`)
	b.click(`[data-key="agent-dev-1"]`)
	b.until(`document.querySelector('#agent').innerText.includes('has not pushed anything yet')`)
	types(t, s, b.text("#agent .command:last-of-type pre"), "hub", "token", "create", "--role", "agent", "--agent", "dev-1", "--out", "agent.token", "--db", s.db)
	b.screenshot("never")
	s.agent("dev-1", "").push([]*pushtest.Resource{skill("s", "x")})
	b.until(`document.querySelectorAll('#list .row').length === 1`)
	b.click("#back")
	b.until(`document.querySelector('#fleet-rows').innerText.includes('connected') && !document.querySelector('#fleet-rows').innerText.includes('never')`)
	b.quiet()
}

// types checks what a shell makes of a command of the page, wherever it is typed.
func types(t *testing.T, s *site, command string, want ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `hub() { printf '%s\n' hub "$@"; }; `+command)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	if err != nil || string(out) != strings.Join(want, "\n")+"\n" {
		t.Errorf("%s: %v\n%s\nwant %q", command, err, out, want)
	}
}

// testLooks keeps how everything looks.
func testLooks(t *testing.T, browser chrome) {
	s := newSite(t)
	a := s.agent("dev-1", "project on the build machine")
	resources, plugins := workspace()
	resources = append(resources[:198:198], server("docs", `{"name":"search","description":"Finds pages."}`), resources[199])
	a.discovery = discovery("pending", "docs", "connected", "shell", "needs_approval", "late", "pending", "off", "switched_off", "broken", "failed")
	a.discovery.Sources[4].Error = "it ended with exit code 1"
	a.push(resources, plugins...)
	other := s.agent("dev-2", "")
	other.push([]*pushtest.Resource{instructions("/w/AGENTS.md", "x")})
	s.agent("silent", "not there yet").leave()
	s.call("POST", "/api/v0/pins", `{"agent_id":"dev-1","name":"review of the parser"}`, http.StatusCreated, nil)
	resources[0] = instructions("/home/dev/project/AGENTS.md", "# Working here\n\nRun all tests before you push.\nKeep functions short.\nAsk when unsure.\n")
	a.push(resources, plugins...)
	s.call("POST", "/api/v0/pins", `{"agent_id":"dev-1","name":"nightly run"}`, http.StatusCreated, nil)
	for name, l := range map[string]look{"light": {1280, 860, false}, "dark": {1280, 860, true}, "narrow": {360, 780, false}, "narrow-dark": {360, 780, true}} {
		b := open(t, browser, s, l, "#/dev-1")
		b.until(`document.querySelector('#connection').textContent === 'live' && document.querySelectorAll('#list .row').length === 200`)
		resources = append(resources[:199:199], skill(name+"-"+resources[199].Name[:9], "new"))
		a.push(resources, plugins...)
		b.until(`document.querySelectorAll('#feed li[data-live]').length > 0`)
		b.screenshot(name + "-resources")
		for _, tab := range []string{"servers", "pins", "history", "plugins", "prompt"} {
			b.click("#tab-" + tab)
			b.visible("#tab-" + tab + "[aria-selected=true]")
			b.until(`document.querySelector('#panel .card, #panel pre') !== null`)
			if tab == "pins" {
				b.click(`.card:last-child [data-key^="toggle-"]`)
				b.visible(".diff")
			}
			b.screenshot(name + "-" + tab)
		}
		b.click("#tab-resources")
		b.click(`[data-key="r-instruction_file:/home/dev/project/AGENTS.md"]`)
		b.visible("dialog .numbered")
		b.screenshot(name + "-viewer")
		b.quiet()
	}
	b := newTab(t, browser, s, look{1000, 700, false})
	b.run(chromedp.Navigate(s.url + "/"))
	b.screenshot("login")
	b.accessible("the page that says how to sign in")
}
