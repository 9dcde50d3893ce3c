package resources_test

import (
	"strings"
	"testing"

	"waymark/cmd/internal/resources"
	"waymark/snapshot"
)

// TestInOrder: resources are listed by kind and then as people count, and the
// snapshot keeps its order.
func TestInOrder(t *testing.T) {
	t.Parallel()
	list := []snapshot.Resource{
		{Kind: "skill", Source: "/w/s-10"}, {Kind: "skill", Source: "/w/s-2", Key: "k10"}, {Kind: "skill", Source: "/w/s-2", Key: "k9"},
		{Kind: "instruction_file", Source: "/w/z"},
	}
	var b strings.Builder
	if err := resources.PrintTable(&b, resources.InOrder(list), "/w"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		got = append(got, strings.Join(strings.Fields(line)[:2], " "))
	}
	if want := "KIND SOURCE,instruction_file z,skill s-2#k9,skill s-2#k10,skill s-10"; strings.Join(got, ",") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if list[0].Source != "/w/s-10" || list[3].Source != "/w/z" {
		t.Errorf("the list itself is sorted: %v", list)
	}
}
