package client_test

import (
	"slices"
	"testing"

	"waymark/hub/client"
)

func order(list []string) []string {
	slices.Sort(list)
	return list
}

// FuzzEvents: whatever a hub sends, the revisions of contexts rise, unless it
// says reset, and nothing panics.
func FuzzEvents(f *testing.F) {
	f.Add(pushed(2)+pushed(3)+end, pushed(3)+pushed(4))
	f.Add("event: context\nid: 9223372036854775807\ndata: {\"revision\":-1}\n\n", "id: -1\ndata:\n\n")
	f.Add("event:agent\ndata:{}\n\nevent:pin\ndata:{}\n\n:\n\n", "\r\n\r\n")
	f.Fuzz(func(t *testing.T, first, second string) {
		s := &script{turns: []turn{{200, first, false}, {200, second, false}, {401, "{}", false}}}
		hub := client.New("http://hub", client.Options{Transport: s, Retry: 1})
		last := int64(0)
		for e, err := range hub.Events(t.Context(), client.EventOptions{}) {
			switch {
			case err != nil:
			case e.Reset != nil:
				last = 0
			case e.Context != nil:
				if e.Context.Revision <= last {
					t.Fatalf("revision %d after %d", e.Context.Revision, last)
				}
				last = e.Context.Revision
			case e.Pin == nil && e.Agent == nil:
				t.Fatalf("an event of nothing: %+v", e)
			}
		}
	})
}
