package conform_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"waymark/cmd/harness/internal/conform"
	"waymark/cmd/harness/internal/extism"
	"waymark/host"
)

// elsewhere is another host, in which testdata/elsewhere has other bytes: what
// stands in its variable.
type elsewhere string

func (to elsewhere) Run(ctx context.Context, job extism.Job) ([]extism.Answer, error) {
	const here = "this is where it was built"
	other := bytes.ReplaceAll(job.Wasm, []byte(here), []byte(to))
	if len(here) != len(to) || bytes.Equal(other, job.Wasm) {
		return nil, errors.New("the module's text can't be replaced")
	}
	job.Wasm = other
	return child.Run(ctx, job)
}

// there is what check is, with another host than the stock SDK.
func there(t *testing.T, to elsewhere, opts host.Options) *conform.Report {
	t.Helper()
	r, err := conform.Check(t.Context(), conform.Options{File: guest(t, "./testdata/elsewhere"), Host: opts, Extism: to})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	strange elsewhere = "now this is done elsewhere"
	other   elsewhere = "this was built so far away"
)

// TestElsewhere: what works here and not in the other host fails, and the report
// says which difference came first, and where.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	opts := options("agrees", "answers", "warns", "fails", "crashes", "never-ends")
	endless := misdeed{"never-ends", "extism", "under the stock Extism SDK it takes longer than "}
	r := checkWithin(t, 200*time.Millisecond, endless, conform.Options{File: guest(t, "./testdata/elsewhere"), Host: opts, Extism: strange})
	for _, bad := range []misdeed{
		{"answers", "extism", `"name":"another"`},
		{"warns", "extism", "it answers differently: "},
		{"fails", "extism", "a run fails that doesn't fail here: resolver error: not here, thank you"},
		{"crashes", "extism", "a run fails that doesn't fail here: wasm error: unreachable: panic: it is dark here"},
		endless,
	} {
		bad.found(t, r)
	}
	if r.Fails != 5 || strings.Contains(lines(r), "agrees") {
		t.Errorf("want each to fail once, and the first not at all:\n%s", lines(r))
	}
	for _, f := range r.Findings {
		if f.Rule == "extism" && len(f.Workspaces) == 0 {
			t.Errorf("nobody says where: %+v", f)
		}
	}
}

// TestElsewhereDescribes: a description that differs is reported, and nothing
// more.
func TestElsewhereDescribes(t *testing.T) {
	t.Parallel()
	r := there(t, other, options("agrees"))
	misdeed{"", "extism", "it describes itself differently: "}.found(t, r)
	if r.Fails != 1 {
		t.Errorf("more than that:\n%s", lines(r))
	}
}

// TestSkipped: a module that fails is not run anywhere else; the report says so.
func TestSkipped(t *testing.T) {
	t.Parallel()
	for name, wasm := range map[string][]byte{
		"not admitted": fixed(strings.Replace(description, `"abi":1`, `"abi":2`, 1), nothing),
		"failed":       fixed(description, nothing),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := check(t, write(t, wasm), options())
			if r.OK() {
				t.Error("it passes")
			}
			skipped(t, r, "before everything else passes")
		})
	}
}

// skipped requires that the report says why a module wasn't run anywhere else.
func skipped(t *testing.T, r *conform.Report, why string) {
	t.Helper()
	at := slices.IndexFunc(r.Findings, func(f conform.Finding) bool { return f.Rule == "extism" })
	if at < 0 || r.Findings[at].Severity != conform.Skip || !strings.Contains(r.Findings[at].Detail, why) {
		t.Errorf("want %q, got %+v", why, r.Findings)
	}
}
