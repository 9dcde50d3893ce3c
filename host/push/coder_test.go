package push_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/push"
	"waymark/snapshot"
	"waymark/wire"
	"waymark/wire/coder"
)

// assembled is what an agent has of so many skills of such sizes as public collections
// have, the first of which in the alphabet come from the last root, and of as many
// subagents that come before them all.
func assembled(skills int) *snapshot.Snapshot {
	var candidates []snapshot.Candidate
	add := func(kind abi.Kind, i, root int) {
		name := fmt.Sprintf("%s-%04d", kind, i)
		payload := []byte(name + strings.Repeat("x", 1000+i*7919%14_000)) // 8 KB in the mean
		candidates = append(candidates, snapshot.Candidate{Root: root, Resource: snapshot.Resource{
			Kind: kind, Source: "/w/" + name, Name: name, Description: strings.Repeat("d", 200), Status: snapshot.StatusOK,
			Payload: payload, SizeBytes: int64(len(payload)), Resolver: "waymark/context@1.0.0",
		}})
	}
	for i := range skills {
		add(abi.KindSkill, i, skills-i)
		add(abi.KindSubagent, i, 0)
	}
	resources, _ := snapshot.Assemble(candidates, snapshot.Caps{MaxResources: 2 * skills, MaxBytes: 1 << 30})
	s := &snapshot.Snapshot{Version: 1, Resources: resources, AggregateHash: snapshot.Aggregate(resources)}
	return s
}

// TestCoderGetsItsShare: of all that an agent has a Coder peer gets what it takes, the
// first in precedence, and the hash of just that.
func TestCoderGetsItsShare(t *testing.T) {
	for _, n := range []int{100, 402, 4000} {
		s := assembled(n)
		content, held, mended, err := push.Prepare(s, wire.ProtocolCoder)
		if err != nil {
			t.Fatal(err)
		}
		m, err := decode(t, content, wire.ProtocolCoder)
		if err != nil {
			t.Fatal(err)
		}
		request := m.(*coder.PushContextStateRequest)
		ok, sum, least := 0, 0, n
		for _, r := range request.Resources {
			i := 0
			if _, err := fmt.Sscanf(r.Source, "/w/skill-%d", &i); err != nil {
				t.Fatalf("%s: %v", r.Source, err)
			}
			if r.Status == coder.ContextResource_OK {
				ok++
				sum += len(r.GetSkill().Meta)
				least = min(least, i)
			}
		}
		rows := min(n, snapshot.CoderMaxListed)
		if len(request.Resources) != rows || held.Reasons[push.ReasonKind] != n || held.Reasons[push.ReasonTooMany] != n-rows {
			t.Errorf("%d skills: %d rows, held back %+v", n, len(request.Resources), held)
		}
		if ok > snapshot.CoderMaxResources || sum > snapshot.CoderMaxBytes || ok < rows && sum < snapshot.CoderMaxBytes-16_000 || mended != rows-ok {
			t.Errorf("%d skills: %d with %d bytes, %d changed", n, ok, sum, mended)
		}
		// A smaller one may still fit where others don't, so there is some slack.
		if least < n-ok-40 {
			t.Errorf("%d skills: number %d has its text, though only %d have", n, least, ok)
		}
		if bytes.Equal(request.AggregateHash, s.AggregateHash) {
			t.Error("the hash is that of more than was sent")
		}
	}
}

// TestCoderInvalid: what Coder's package calls invalid is, with the finding's words.
func TestCoderInvalid(t *testing.T) {
	skill := func(name string, findings ...snapshot.Finding) snapshot.Resource {
		return file("/w/"+name, func(r *snapshot.Resource) { r.Kind, r.Name, r.Findings = abi.KindSkill, "one", findings })
	}
	finding := func(code string) snapshot.Finding {
		return snapshot.Finding{Code: code, Severity: "warning", Message: "about " + code}
	}
	s := &snapshot.Snapshot{Version: 1, Resources: []snapshot.Resource{
		skill("a", finding("description-missing"), finding("name-mismatch")), skill("b", finding("frontmatter-unquoted")),
		skill("c", finding("description-missing")), skill("d"),
	}}
	_, m, held, mended := prepareBoth(t, s)
	var got []string
	for _, r := range m.Resources {
		got = append(got, fmt.Sprint(r.Source, " ", r.Status, " ", r.Error))
	}
	if want := "[/w/a INVALID about name-mismatch /w/b INVALID about frontmatter-unquoted /w/c OK ]"; fmt.Sprint(got) != want || mended != 2 || held.Reasons[push.ReasonDuplicateName] != 1 {
		t.Errorf("got %v, mended %d, held back %+v\nwant %s", got, mended, held, want)
	}
}
