package page_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"waymark/hub/store"
	"waymark/test/pushtest"
	"waymark/wire/approval"
	"waymark/wire/waymark"
)

// testOperate does on the page what operators do, and reads of it in the log.
func testOperate(t *testing.T, browser chrome) {
	s := newSite(t)
	definition := "sha256:" + strings.Repeat("ab", 32)
	waiting := server("db", "")
	waiting.Attributes = map[string]*waymark.Attribute{"outcome": attribute("needs_approval"), "definition": attribute(definition)}
	a := s.agent("dev-1", "one")
	a.discovery = discovery("complete", "db", "needs_approval")
	a.push([]*pushtest.Resource{skill("s", "x"), waiting})
	s.token(store.RoleAgent, "dev-2", "two")
	s.reader = s.token(store.RoleOperator, "", "ops")
	b := open(t, browser, s, look{1280, 860, false}, "")
	live := `document.querySelector('#connection').textContent === 'live'`
	b.until(live)

	// An agent is added with a code that the page makes; its steps can be reached though there are agents.
	b.click("#fleet-add")
	b.run(chromedp.SendKeys(chromedp.CSS("#add-name"), "for ada"))
	b.click("#adding .primary")
	b.until(`document.querySelectorAll('#adding .command').length === 2`)
	typed := b.text("#adding .command pre")
	code := regexp.MustCompile(`--code ([0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{5})$`).FindStringSubmatch(typed)
	if code == nil {
		t.Fatalf("the page says %q", typed)
	}
	hash, err := store.ParseEnrollment(code[1])
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.store.Enroll(t.Context(), hash, store.NewAgent{Token: [32]byte{1}, Name: "three"})
	if err != nil {
		t.Fatalf("the code doesn't enroll: %v", err)
	}
	b.accessible("adding an agent")
	b.screenshot("adding")

	// It is named, labeled, its token is revoked, and it is removed.
	b.visit("#/dev-2/manage")
	b.run(chromedp.SetValue(chromedp.CSS("#agent-name"), "second"))
	b.click(".manage .form:nth-of-type(1) button")
	b.until(`document.querySelector('.agent-head h2').textContent === 'second'`)
	b.run(chromedp.SetValue(chromedp.CSS("#agent-labels"), "env=prod team=web"))
	b.click(".manage .form:nth-of-type(2) button")
	b.until(`document.querySelector('.agent-head .chip')?.textContent === 'env=prod'`)
	b.run(chromedp.SetValue(chromedp.CSS("#agent-labels"), "team=web"))
	b.click(".manage .form:nth-of-type(2) button")
	b.until(`document.querySelector('.agent-head .chip')?.textContent === 'team=web'`)
	b.run(chromedp.SetValue(chromedp.CSS("#agent-labels"), "not a label!"))
	b.click(".manage .form:nth-of-type(2) button")
	b.until(`document.querySelector('#notice').innerText.includes('label')`)
	b.accessible("managing an agent")
	b.screenshot("manage")
	b.click(".manage .cards button")
	b.until(`document.querySelector('.manage .cards button').textContent === 'Really revoke'`)
	b.click(".manage .cards button")
	b.until(`document.querySelector('.manage .cards .state').textContent.startsWith('revoked')`)
	b.click(`[data-key="remove-agent"]`)
	b.until(`document.querySelector('[data-key="remove-agent"]').textContent === 'Really remove this agent'`)
	b.click(`[data-key="remove-agent"]`)
	b.until(`location.hash === '' && document.documentElement.dataset.view === 'fleet' && !document.querySelector('#fleet-rows').innerText.includes('second')`)
	if _, err := s.store.Agent(t.Context(), "dev-2"); err == nil {
		t.Error("the agent is still there")
	}

	// What is signed elsewhere is brought.
	_, key, err := approval.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	signed, err := approval.Sign(&approval.Approval{ID: "db-1", Name: "db", Definition: definition, Issued: time.Now(), Expires: time.Now().Add(time.Hour)}, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "db.approval")
	if err := os.WriteFile(file, signed, 0o600); err != nil {
		t.Fatal(err)
	}
	b.visit("#/dev-1/servers")
	b.click(".approve summary")
	if says := b.text(".approve pre"); !strings.Contains(says, "--definition "+definition+" --name db --agent dev-1") {
		t.Errorf("the page says %q", says)
	}
	b.run(chromedp.Evaluate[chromedp.Void](`(() => {
		const files = new DataTransfer();
		files.items.add(new File([Uint8Array.from(atob(` + quote(base64.StdEncoding.EncodeToString(signed)) + `), (c) => c.charCodeAt(0))], 'db.approval'));
		const field = document.querySelector('.approve input');
		field.files = files.files;
		field.dispatchEvent(new Event('change'));
	})()`))
	b.until(`document.querySelector('.approve [role=status]').textContent === 'Brought to its agents.'`)
	b.accessible("approving a server")

	// Tokens are made and shown once, and all of it is in the log, under one's name.
	b.click("#to-operators")
	b.until(`document.activeElement.textContent === 'Operators' && document.querySelectorAll('.acts tbody tr').length > 6`)
	b.run(chromedp.SendKeys(chromedp.CSS("#token-name"), "laptop"))
	b.click("#operators .form button")
	b.until(`document.querySelector('#operators pre')?.textContent.startsWith('wmr_')`)
	text := b.text("#operators pre")
	b.visit("#operators")
	b.until(`document.querySelectorAll('.acts tbody tr').length > 7 && document.querySelectorAll('#operators .cards .card').length > 1`)
	log := b.text(".acts tbody")
	for _, want := range []string{"ops", "token created", "reader laptop", "approval added", "db-1", "agent removed", "token revoked", "agent labeled", "team=web env-", "agent renamed", "second", "enrollment created", "for 1: for ada"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log doesn't say %q:\n%s", want, log)
		}
	}
	if strings.Contains(b.text("body"), text) || strings.Contains(log, code[1]) {
		t.Error("a secret is shown again")
	}
	b.accessible("the log")
	b.screenshot("operators")
	reader := s.reader
	s.reader = text
	s.call("GET", "/api/v0/agents/"+made.AgentID, "", http.StatusOK, nil)
	s.reader = reader
	for _, width := range []int64{360, 1280} {
		b.run(chromedp.EmulateViewport(width, 860))
		b.legible(fmt.Sprintf("operators at %d", width), look{width: width})
		b.visit("#/dev-1/manage")
		b.legible(fmt.Sprintf("managing at %d", width), look{width: width})
		b.visit("#operators")
	}
	b.quiet("400")

	// A reader sees none of it.
	s.reader = s.token(store.RoleReader, "", "")
	b = open(t, browser, s, look{1280, 860, false}, "#/dev-1/manage")
	if shown := value[int](b, `[...document.querySelectorAll('#to-operators, #tab-manage, .manage')].filter((e) => e.checkVisibility()).length`); shown != 0 {
		t.Errorf("a reader sees %d things for operators", shown)
	}
	b.visit("#operators")
	if view := value[string](b, `document.documentElement.dataset.view`); view == "operators" {
		t.Error("a reader sees the operators' view")
	}
}

// testReading goes through the page with the keyboard: where something else is shown, reading
// begins at its heading; the table comes before what happened; and nothing scrolls by itself.
func testReading(t *testing.T, browser chrome) {
	s := newSite(t)
	resources, plugins := workspace()
	a := s.agent("dev-1", "one")
	a.push(resources, plugins...)
	for i := range 40 {
		s.agent(fmt.Sprintf("x-%d", i), "").push([]*pushtest.Resource{skill("s", "x")})
	}
	b := open(t, browser, s, look{1280, 600, false}, "")
	b.until(`document.querySelector('#connection').textContent === 'live'`)
	if !value[bool](b, `Boolean(document.querySelector('#fleet-table').compareDocumentPosition(document.querySelector('.feed')) & Node.DOCUMENT_POSITION_FOLLOWING)`) {
		t.Error("the activity comes before the table")
	}
	b.run(chromedp.Focus(chromedp.CSS(`[data-key="agent-dev-1"]`)), chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.matches('.agent-head h2') && document.activeElement.textContent === 'one' && document.querySelectorAll('#list .row').length === 200`)
	b.run(chromedp.KeyEvent(kb.Tab))
	if !value[bool](b, `document.querySelector('main').contains(document.activeElement)`) {
		t.Error("tab leads away from what is shown")
	}
	b.run(chromedp.Focus(chromedp.CSS("#back")), chromedp.KeyEvent(kb.Enter))
	b.until(`document.activeElement.dataset.key === 'agent-dev-1'`)

	// Somebody has scrolled, and things happen.
	b.visit("#/dev-1")
	b.until(`document.querySelector('#connection').textContent === 'live' && document.querySelectorAll('#list .row').length === 200`)
	b.run(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 1500); document.querySelector('#tab-resources').focus({ preventScroll: true }); void 0`))
	before := value[float64](b, `scrollY`)
	a.push(append(resources, skill("zzz", "new")), plugins...)
	b.until(`document.querySelectorAll('#list .row').length === 201`)
	if after := value[float64](b, `scrollY`); after != before || before == 0 {
		t.Errorf("the page was at %v, and is at %v", before, after)
	}
}

// testAway: while the database or the hub is away the page says so, and since when; it shows no
// empty list, and gives no advice to make a token.
func testAway(t *testing.T, browser chrome) {
	s := newSite(t)
	s.agent("dev-1", "one").push([]*pushtest.Resource{skill("s", "x")})
	b := open(t, browser, s, look{1280, 860, false}, "#/dev-1")
	b.until(`document.querySelector('#connection').textContent === 'live' && document.querySelectorAll('#list .row').length === 1`)
	sane := func(where string) {
		t.Helper()
		text := b.text("body")
		for _, wrong := range []string{"hub token", "hub login", "signed out", "Sign in", "No agents", "knows no such", "not pushed", "Nothing has happened"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s: the page says %q:\n%s", where, wrong, text)
			}
		}
	}
	s.away.Store(true)
	s.cut()
	b.until(`/^The hub’s database does not answer since [0-9:]+/.test(document.querySelector('#notice').innerText)`)
	b.click("#tab-history")
	b.until(`document.querySelector('#notice').innerText.includes('does not answer since')`)
	b.run(chromedp.Evaluate[chromedp.Void](`location.hash = '#/dev-2'; void 0`))
	b.until(`document.querySelector('#agent').innerText.includes('Not known while')`)
	sane("the database is away")
	b.screenshot("away")
	b.run(chromedp.Navigate("about:blank"), chromedp.Navigate(b.url+"/#/dev-1"))
	b.until(`document.querySelector('h2').innerText === 'The hub’s database does not answer'`)
	sane("opened anew")
	s.away.Store(false)
	b.comes(`document.querySelector('#connection')?.textContent === 'live' && document.querySelectorAll('#list .row').length === 1`)

	s.stop()
	b.until(`/^The hub does not answer since [0-9:]+/.test(document.querySelector('#notice').innerText)`)
	sane("the hub is away")
	s.start()
	b.until(`document.querySelector('#connection').textContent === 'live' && document.querySelector('#notice').innerText === ''`)
	b.quiet("502", "503", "ERR_")
}
