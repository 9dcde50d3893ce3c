package page_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"waymark/hub/api"
	"waymark/hub/store"
	"waymark/snapshot"
	"waymark/test/pushtest"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

// widths are those of telephones, tablets held both ways, and screens, with those at which
// the page changes its form.
var widths = []int64{360, 760, 761, 768, 834, 1024, 1280, 1440}

// agentNames are names that are hard to find room for. In this order they are sorted.
var agentNames = []string{
	"a", "agent-2", "Agent-10", "agent-10b", "build machine of the payments team in the second cellar, behind the door",
	strings.Repeat("nobreak", 18), strings.Repeat("W", 128), "zebra", "Ünlü", "אב" + strings.Repeat("ג", 40), "مرحبا بالعالم في مشروعنا الجديد", "日本語の名前がとても長いワークスペース",
	strings.Repeat("\U0001f469\u200d\U0001f4bb", 11),
}

// named adds agents with these names and the most that there can be to say of them. Their
// ids are in another order. The last of several has no host, and no name.
func (s *site) named(names ...string) (ids []string) {
	s.t.Helper()
	label := strings.Repeat("l", 60)
	for i, name := range names {
		id := fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(i+1)*2654435769, i)
		ids = append(ids, id)
		s.token(store.RoleAgent, id, name)
		if name == "" {
			continue
		}
		d := store.AgentDescription{Root: "/home/dev/" + strings.Repeat("deep/", i) + "project", AgentVersion: "0.10.0-rc.1+" + strings.Repeat("b", 20), Hostname: strings.Repeat("host", 15)}
		if i%3 == 2 {
			d.Hostname = ""
		}
		if err := s.store.DescribeAgents(s.t.Context(), map[string]store.AgentDescription{id: d}); err != nil {
			s.t.Fatal(err)
		}
		labels := store.Labels{label + "1": strings.Repeat("v", 63), "env": "production", "team": strings.Repeat("w", 63)}
		if _, err := s.store.LabelAgent(s.t.Context(), id, labels, nil); err != nil {
			s.t.Fatal(err)
		}
	}
	return ids
}

// unseen returns the elements of which little of their text is in sight: outside of the
// page or of what cuts it off, or below something else. They may be cut, with an ellipsis
// for example, but not to less than 60 pixels.
func (b *tab) unseen(selector string) []string {
	b.t.Helper()
	return value[[]string](b, `(() => {
		const all = [...document.querySelectorAll(`+quote(selector)+`)].filter((e) => e.checkVisibility());
		if (all.length === 0) return ['there is none of `+selector+`'];
		return all.flatMap((e) => {
			e.scrollIntoView({ block: 'center' });
			const range = document.createRange();
			range.selectNodeContents(e);
			const lines = [...range.getClientRects()].filter((r) => r.width > 0);
			const natural = Math.max(0, ...lines.map((r) => r.width));
			let best = { width: 0 };
			for (const line of lines) {
				let [left, right, top, bottom] = [Math.max(0, line.left), Math.min(document.documentElement.clientWidth, line.right), line.top, line.bottom];
				for (let p = e; p && p !== document.body; p = p.parentElement) {
					const style = getComputedStyle(p);
					if (style.display === 'inline' || style.overflowX === 'visible' && style.overflowY === 'visible') continue;
					const box = p.getBoundingClientRect();
					[left, right, top, bottom] = [Math.max(left, box.left), Math.min(right, box.right), Math.max(top, box.top), Math.min(bottom, box.bottom)];
				}
				if (bottom - top > line.height / 2 && right - left > best.width) best = { width: right - left, x: (left + right) / 2, y: (top + bottom) / 2 };
			}
			const says = `+"`${Math.round(best.width)} of ${Math.round(natural)} px of “${e.textContent.slice(0, 40)}”`"+`;
			if (best.width < Math.min(natural, 60) - 1 || natural === 0) return [says];
			const there = document.elementFromPoint(best.x, best.y);
			return !there || (e.contains(there) || there.contains(e) || there.closest('tr, li') === e.closest('tr, li')) ? [] : [says + ' below ' + there?.outerHTML.slice(0, 80)];
		});
	})()`)
}

// fits fails where the page is wider than the tab, or one of what the selectors select
// isn't seen.
func (b *tab) fits(where string, width int64, selectors ...string) {
	b.t.Helper()
	if w := value[int64](b, `document.documentElement.scrollWidth`); w > width {
		b.t.Errorf("%s is %d px wide, want %d: %q", where, w, width, value[[]string](b, fmt.Sprintf(`[...document.querySelectorAll('body *')].filter((e) => e.checkVisibility() &&
			e.getBoundingClientRect().right > %d).slice(0, 5).map((e) => e.outerHTML.slice(0, 100))`, width)))
	}
	for _, selector := range selectors {
		for _, which := range b.unseen(selector) {
			b.t.Errorf("%s: %s: only %s is seen", where, selector, which)
		}
	}
}

// testWidths: at no width does the overview lose the names of its agents, or their states.
func testWidths(t *testing.T, browser chrome) {
	thirty := append(slices.Clone(agentNames), "  ", "")
	for i := range 30 - len(thirty) {
		thirty = append(thirty, fmt.Sprintf("workspace %d", i))
	}
	for _, names := range [][]string{{"workspace"}, {agentNames[6]}, thirty} {
		s := newSite(t)
		s.named(names...)
		b := open(t, browser, s, look{1280, 860, false}, "")
		for _, width := range widths {
			b.run(chromedp.EmulateViewport(width, 860))
			b.until(fmt.Sprintf(`document.documentElement.clientWidth === %d && document.querySelectorAll('#fleet-rows tr').length === %d`, width, len(names)))
			where := fmt.Sprintf("fleet of %d at %d px", len(names), width)
			b.fits(where, width, "#fleet-rows .name", "#fleet-rows .presence .state", "#fleet-rows .pushed", "#fleet-rows .chip", "#facets .state")
			// One can see, and change, what the order is.
			if order := value[int](b, `[...document.querySelectorAll('[aria-sort], .order select')].filter((e) => e.checkVisibility()).length`); order != 1 {
				t.Errorf("%s: the order is said in %d places", where, order)
			}
			b.run(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0)`))
			b.screenshot(fmt.Sprintf("width-%d-%.1s-fleet-%d", width, names[0], len(names)))
			b.legible(where, look{width: width})
		}
		b.quiet()
	}
}

// testAgentWidths: nor do the views of one agent lose what each of their rows is about.
func testAgentWidths(t *testing.T, browser chrome) {
	s := newSite(t)
	long := strings.Repeat("x", 60)
	resources, plugins := workspace()
	for _, r := range resources[6:12] {
		r.Name, r.Description = r.Name+long, strings.Repeat("what it is for ", 20)
		r.Findings = []*waymark.Finding{{Code: "a-rather-long-code-of-a-finding", Severity: "warning", Message: r.Name + " " + long}}
	}
	plugins[1].Name = long
	evil := server("db", `{"name":"`+long+long+`"}`)
	evil.Name = long + long
	evil.Attributes = map[string]*waymark.Attribute{"origin": attribute(long + long)}
	ids := s.named(agentNames[6], "b")
	a := s.agent(ids[0], agentNames[6])
	a.discovery = discovery("complete", long, "failed")
	a.push(append([]*pushtest.Resource{evil}, resources[:20]...), plugins...)
	s.call("POST", "/api/v0/pins", fmt.Sprintf(`{"agent_id":%q,"name":%q}`, ids[0], long), 201, nil)
	a.push(append([]*pushtest.Resource{evil}, resources[:19]...), plugins...)
	s.reversing(ids[1], map[string]reverse.Handler{reverse.KindClientContext: func(context.Context, []byte) ([]byte, error) {
		return api.EncodeClientContext(api.ClientContext{
			Client: "codex", Name: "Codex", Version: "1", Root: "/w", Known: []api.KnownClient{{Client: "codex", Name: "Codex"}},
			Items: []snapshot.ClientItem{{Path: "/w/" + long + "/" + long + "/SKILL.md", Name: long + long, Kind: "skill", Included: true}, {Path: "/w/AGENTS.md", Kind: "instruction_file", Reason: "cut"}},
		})
	}})
	b := open(t, browser, s, look{1280, 860, false}, "#/"+ids[0])
	// Each view costs seconds: these are a telephone, a tablet and a small screen.
	some := []int64{360, 768, 1024}
	for tab, selectors := range map[string][]string{
		"resources": {"#list .row .name", "#list .row .state", "#list .problem .name", "#list .problem .state", "#list .row .path", "#list .reason"},
		"servers":   {"#body .card h3", "#body .card .state", "#body .card .path"},
		"pins":      {"#body .card strong", "#body .card .state", "#body .card button"},
		"plugins":   {"#body .card strong", "#body .card .state"},
		"history":   {"#body .card summary > :first-child", "#body .card summary .counts", "#body .card time"},
		"prompt":    {"#body pre"},
		"clients":   {"#body .card .path", "#body .card .state"},
	} {
		id := ids[0]
		if tab == "clients" {
			id = ids[1]
		}
		b.visit("#/" + id + "/" + tab)
		for _, width := range some {
			b.run(chromedp.EmulateViewport(width, 860))
			b.until(fmt.Sprintf(`document.documentElement.clientWidth === %d && document.querySelector(%s) !== null`, width, quote(selectors[0])))
			if width > 760 {
				b.until(`[...document.querySelectorAll('#agents .name')].some((e) => e.checkVisibility())`)
				b.fits("agents beside it", width, "#agents .name", "#agents .state")
			}
			b.fits(fmt.Sprintf("%s at %d px", tab, width), width, append(selectors, ".agent-head h2", ".agent-head .state", "#feed time")...)
			b.run(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0)`))
			b.screenshot(fmt.Sprintf("width-%d-%s", width, tab))
		}
	}
	b.quiet()
}

// testOrder: the first press, and no press at all, sorts by what people call their agents,
// and what is the same in another order is in this one.
func testOrder(t *testing.T, browser chrome) {
	s := newSite(t)
	names := []string{"zebra", "", "agent-10", "Agent-2", "agent-1", "beta", "Beta", "agent-2"}
	ids := s.named(names...)
	b := open(t, browser, s, look{1280, 860, false}, "")
	order := func(want ...string) {
		t.Helper()
		b.until(`[...document.querySelectorAll('#fleet-rows .name')].map((e) => e.textContent.toLowerCase()).join() === ` + quote(strings.ToLower(strings.Join(want, ","))))
	}
	sorted := []string{ids[1], "agent-1", "agent-2", "agent-2", "agent-10", "beta", "beta", "zebra"}
	order(sorted...)
	says := `document.querySelector('#sort-name').ariaSort + ' ' + location.search + ' ' + document.querySelectorAll('[aria-sort]').length`
	if got := value[string](b, says); got != "ascending  1" {
		t.Errorf("the order is %q", got)
	}
	b.click(`#sort-state button`) // all have the same
	b.until(`document.querySelector('#sort-state').ariaSort === 'ascending' && location.search === '?sort=state'`)
	order(sorted...)
	b.click(`#sort-name button`)
	b.click(`#sort-name button`)
	slices.Reverse(sorted)
	order(sorted...)
	if got := value[string](b, says); got != "descending ?sort=name&order=desc 1" {
		t.Errorf("the order is %q", got)
	}
	b.visit("?sort=name")
	slices.Reverse(sorted)
	order(sorted...)
	b.visit("#/" + ids[1]) // and beside an agent
	b.until(`[...document.querySelectorAll('#agents .name')].map((e) => e.textContent.toLowerCase()).join() === ` + quote(strings.Join(sorted, ",")))
	b.quiet()
}

// testOperator: who has an operator's token sees all that the page shows, live, and makes pins.
func testOperator(t *testing.T, browser chrome) {
	s := newSite(t)
	resources, plugins := workspace()
	a := s.agent("dev-1", "one")
	a.push(resources[:10], plugins...)
	s.reader = s.token(store.RoleOperator, "", "ops")
	b := open(t, browser, s, look{1280, 860, false}, "")
	b.until(`document.querySelector('#connection').textContent === 'live' && document.querySelector('#fleet-rows .name').textContent === 'one'`)
	b.visit("#/dev-1/pins")
	b.run(chromedp.SendKeys(chromedp.CSS("#pin-name"), "review"))
	b.click(".new-pin .primary")
	b.until(`document.querySelector('#body .card strong')?.textContent === 'review'`)
	a.push(resources[:9], plugins...)
	b.until(`document.querySelector('#body .card .state')?.textContent === 'drifted'`)
	for tab, has := range map[string]string{"resources": "#list .row", "history": "#body .card", "plugins": "#body .card", "prompt": "#body pre"} {
		b.click("#tab-" + tab)
		b.until(`document.querySelector(` + quote(has) + `) !== null`)
	}
	b.quiet()
	s.revoke()
	b.run(chromedp.Navigate(b.url + "/"))
	b.until(`document.querySelector('.login h2').textContent === 'Sign in'`)
}
