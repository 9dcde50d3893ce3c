package host_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host"
	"waymark/host/vfs"
	"waymark/host/why"
	"waymark/snapshot"
	"waymark/test/contracts/vfstest"
)

// TestBoundRoots: a link in the working directory that leads a root astray is
// told wherever one looks; the root comes back when the link is mended, at any
// place of the way, and goes when it is bent again. Nobody asks for it: the
// links are watched.
func TestBoundRoots(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{
		"w/AGENTS.md = w", "w/real/docs/AGENTS.md = real", "w/other/docs/AGENTS.md = other", "w/.git/docs/AGENTS.md = SECRET",
		"out/docs/AGENTS.md = SECRET", "w/link -> real", "w/deep/docs/AGENTS.md = deep",
	})
	w, place := filepath.Join(dir, "w"), filepath.Join(dir, "w/link/docs")
	var log strings.Builder
	h := newHost(t, host.Options{
		Builtin: module(builtin(t)), Watch: slow, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Roots: []host.RootSpec{{Path: place, Optional: true, Source: true, Within: []string{"", "relative", w}}, {Path: w}},
	})
	running(t, h)
	steps := []struct {
		target, want string
		reason       why.Reason // when it is refused
	}{
		{"real", "AGENTS.md=w AGENTS.md=real", ""},
		{"../out", "AGENTS.md=w", why.ReasonLinkEscapes},
		{"other", "AGENTS.md=w AGENTS.md=other", ""},
		{".git", "AGENTS.md=w", why.ReasonHiddenSecret},
		{"hop", "AGENTS.md=w", ""}, // to what isn't there
		{filepath.Join(dir, "w/deep"), "AGENTS.md=w AGENTS.md=deep", ""},
		{filepath.Join(dir, "out"), "AGENTS.md=w", why.ReasonLinkEscapes},
		{"real", "AGENTS.md=w AGENTS.md=real", ""},
	}
	for i, step := range steps {
		if i > 0 {
			if err := errors.Join(os.Remove(w+"/link"), os.Symlink(step.target, w+"/link")); err != nil {
				t.Fatal(err)
			}
		}
		s := awaitSnapshot(t, h, step.target, func(s *snapshot.Snapshot) bool {
			return sorted(payloads(s)) == sorted(step.want) && (s.SnapshotError != "") == (step.reason != "")
		})
		refused := h.Status().Refused
		if step.reason == "" {
			if len(refused) > 0 {
				t.Errorf("%s: refused %v", step.target, refused)
			}
			continue
		}
		if len(refused) != 1 || refused[0].Path != place || !errors.As(refused[0].Err, new(*vfs.LinkError)) {
			t.Errorf("%s: refused %v", step.target, refused)
			continue
		}
		if want := place + " is not looked at: " + refused[0].Err.Error(); s.SnapshotError != want {
			t.Errorf("%s: the snapshot says %q", step.target, s.SnapshotError)
		}
		if a, err := h.Why(t.Context(), place+"/AGENTS.md"); err != nil || a.Found || a.Reason != step.reason || a.Root != place ||
			!strings.Contains(a.Detail, refused[0].Err.Error()) {
			t.Errorf("%s: %+v, %v", step.target, a, err)
		}
		for _, text := range []string{s.SnapshotError, refused[0].Err.Error()} {
			if strings.Contains(text, dir+"/out") {
				t.Errorf("it tells where the link leads: %s", text)
			}
		}
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "root not looked at"); n != 3 {
		t.Errorf("%d lines of log:\n%s", n, log.String())
	}
}

func sorted(words string) string {
	list := strings.Fields(words)
	slices.Sort(list)
	return strings.Join(list, " ")
}

// TestBoundRequired: a root that must be there says why it can't be used, and
// leaves those before it in force; one whose exclude hides it is hidden.
func TestBoundRequired(t *testing.T) {
	noLeaks(t)
	dir := vfstest.Build(t, []string{"w/AGENTS.md = w", "w/out -> ../out", "w/hidden -> private", "w/private/AGENTS.md = p", "out/AGENTS.md = SECRET"})
	w := filepath.Join(dir, "w")
	h := newHost(t, host.Options{Builtin: module(builtin(t)), Exclude: []string{"private"}, Roots: []host.RootSpec{{Path: w}}})
	err := h.SetRoots(t.Context(), []host.RootSpec{{Path: w + "/out", Within: []string{w}}})
	if !errors.Is(err, host.ErrRoot) || !errors.Is(err, vfs.ErrEscape) || !strings.Contains(err.Error(), "name what it leads to") {
		t.Errorf("%v", err)
	}
	refresh(t, h)
	if got := payloads(h.Current()); got != "AGENTS.md=w" {
		t.Errorf("found %s", got)
	}
	if err := h.SetRoots(t.Context(), []host.RootSpec{{Path: w + "/hidden", Optional: true, Within: []string{w}}}); err != nil {
		t.Fatal(err)
	}
	refresh(t, h)
	if a, err := h.Why(t.Context(), w+"/hidden/AGENTS.md"); err != nil || a.Reason != why.ReasonExcludedByConfig || payloads(h.Current()) != "" {
		t.Errorf("%+v, %v, %s", a, err, payloads(h.Current()))
	}
	// Another bound for what stays: known finds don't outlive it.
	open := host.RootSpec{Path: w + "/out", Role: abi.RoleNone, Optional: true}
	for _, within := range [][]string{nil, {w}, nil} {
		open.Within = within
		if err := h.SetRoots(t.Context(), []host.RootSpec{open}); err != nil {
			t.Fatal(err)
		}
		refresh(t, h)
		if got := payloads(h.Current()); (got == "") != (within != nil) {
			t.Errorf("within %q: %s", within, got)
		}
	}
}
