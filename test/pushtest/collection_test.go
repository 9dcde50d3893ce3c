package pushtest_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/snapshot"
	"waymark/test/e2e"
	"waymark/wire/coder"
)

// text is a skill's, of so many bytes.
func text(name string, size int) string {
	head := fmt.Sprintf("---\nname: %s\ndescription: What %s is good for\n---\n", name, name)
	return head + strings.Repeat("x", max(0, size-len(head)-1)) + "\n"
}

// skills writes n skills into a container, and returns their texts by their paths.
func (w *world) skills(container, prefix string, n int, size func(i int) int) map[string]string {
	w.t.Helper()
	texts := map[string]string{}
	for i := range n {
		name := fmt.Sprintf("%s-%04d", prefix, i)
		dir := filepath.Join(container, name)
		texts[dir] = text(name, size(i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte(texts[dir]), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	return texts
}

// small sizes are of 3 KB in the mean.
func small(i int) int { return 500 + i*7919%5000 }

// TestFourThousandSkills: all are listed with their texts, in the hub, too; and a Coder
// server gets 500, which are the first of the workspace and none of a source.
func TestFourThousandSkills(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	more := filepath.Join(w.dir, "more")
	texts := w.skills(filepath.Join(w.root, "skills"), "z", 2000, small)
	for container, prefix := range map[string]string{filepath.Join(w.root, ".claude/skills"): "y", filepath.Join(more, "skills"): "a"} {
		maps.Copy(texts, w.skills(container, prefix, 1000, small))
	}
	opts := e2e.AgentOptions{Sources: []string{more}}
	s := w.listed(w.startWithHub("all", opts))
	w.complete(s, texts)
	stored := w.stored("all", s)
	w.complete(stored, texts)
	for i := range stored.Resources {
		if r := &stored.Resources[i]; r.Status != snapshot.StatusOK {
			t.Fatalf("%s is %s: %s", r.Source, r.Status, r.Error)
		}
	}

	_, pushes := w.startWithCoder("coder", opts)
	ok, sum, first := w.share(w.rowsFor(pushes, snapshot.CoderMaxListed), texts)
	if len(ok) != snapshot.CoderMaxResources || sum > snapshot.CoderMaxBytes {
		t.Errorf("a Coder server gets %d with %d bytes", len(ok), sum)
	}
	for i := range snapshot.CoderMaxResources {
		if dir := fmt.Sprintf("%s-%04d", first, i); !ok[dir] {
			t.Errorf("it doesn't get %s, which comes first", dir)
		}
	}
}

// TestCollection: of 402 skills whose texts are more than a hub takes all are listed,
// and what is listed without its text can be had, up to 1 MiB; a Coder server gets as
// many as go into its 2 MiB.
func TestCollection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	texts := w.skills(filepath.Join(w.root, "skills"), "s", 402, func(i int) int {
		switch i {
		case 100:
			return 2 << 20
		case 200:
			return 1 << 20
		case 300:
			return 300 << 10
		}
		return 20_000 + i*7919%60_000 // 50 KB in the mean
	})
	agent := w.startWithHub("all", e2e.AgentOptions{})
	s := w.listed(agent)
	w.complete(s, texts)
	stored := w.stored("all", s)
	w.complete(stored, texts)
	n := map[snapshot.Status]int{}
	for i := range s.Resources {
		r := &s.Resources[i]
		n[r.Status]++
		want := texts[r.Source]
		switch got, err := agent.Client.Resource(w.ctx, r.ID()); {
		case r.SizeBytes > 1<<20:
			if err == nil {
				t.Errorf("%s: %d bytes can be had, which are too many", r.Source, len(got))
			}
		case err != nil || string(got) != want:
			t.Errorf("%s (%s): %d bytes of %d, %v", r.Source, r.Status, len(got), len(want), err)
		}
	}
	if n[snapshot.StatusOversize] != 3 || n[snapshot.StatusExcluded] < 10 || n[snapshot.StatusOK] < 300 {
		t.Errorf("of the statuses there are %v", n)
	}

	_, pushes := w.startWithCoder("coder", e2e.AgentOptions{})
	ok, sum, _ := w.share(w.rowsFor(pushes, 402), texts)
	if sum > snapshot.CoderMaxBytes || sum < snapshot.CoderMaxBytes-20_000 || !ok["s-0000"] {
		t.Errorf("a Coder server gets %d with %d bytes", len(ok), sum)
	}
}

// complete wants all skills in a snapshot, with what is known of them.
func (w *world) complete(s *snapshot.Snapshot, texts map[string]string) {
	w.t.Helper()
	if len(s.Resources) != len(texts) || s.SnapshotError != "" {
		w.t.Errorf("%d resources of %d, %q", len(s.Resources), len(texts), s.SnapshotError)
	}
	for i := range s.Resources {
		r := &s.Resources[i]
		text, known := texts[r.Source]
		name := filepath.Base(r.Source)
		sum := sha256.Sum256([]byte(text))
		if !known || r.Kind != abi.KindSkill || r.Name != name || r.Description != "What "+name+" is good for" ||
			r.SizeBytes != int64(len(text)) || int64(len(text)) <= 1<<20 && !bytes.Equal(r.ContentHash, sum[:]) || len(r.ContentHash) == 0 {
			w.t.Fatalf("%s is listed as %s %q (%q), %d bytes, hash %s", r.Source, r.Kind, r.Name, r.Description, r.SizeBytes, r.ContentHash)
		}
	}
}

// share is what a Coder server has the texts of, with their length, and the prefix of
// the first.
func (w *world) share(rows []*coder.ContextResource, texts map[string]string) (ok map[string]bool, sum int, first string) {
	w.t.Helper()
	ok = map[string]bool{}
	for _, r := range rows {
		if _, known := texts[r.Source]; !known || r.GetSkill().GetName() != filepath.Base(r.Source) {
			w.t.Errorf("it has %s, called %q", r.Source, r.GetSkill().GetName())
		}
		if r.Status != coder.ContextResource_OK {
			continue
		}
		if string(r.GetSkill().Meta) != texts[r.Source] {
			w.t.Errorf("its text of %s is another", r.Source)
		}
		name := filepath.Base(r.Source)
		ok[name], sum, first = true, sum+len(r.GetSkill().Meta), name[:1]
	}
	return ok, sum, first
}
