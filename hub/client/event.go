package client

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// take makes an event of a frame, moves on to its position, and reports
// whether it is one that hasn't been yielded yet. Types that this client
// doesn't know are skipped: a newer hub may have more.
func (f *follower) take(raw frame) (e Event, fresh bool, err error) {
	at := f.at
	if raw.id != "" {
		if at, err = strconv.ParseInt(raw.id, 10, 64); err != nil || at < 0 {
			return Event{}, false, fmt.Errorf("the hub sends an event with the id %.40q, which is no revision", raw.id)
		}
	}
	e = Event{Type: raw.event, Revision: at}
	fresh = true
	switch raw.event {
	case EventContext:
		e.Context = new(ContextEvent)
		err = json.Unmarshal([]byte(raw.data), e.Context)
		if fresh = e.Context.Revision > f.shown; fresh && err == nil {
			f.shown = e.Context.Revision
		}
	case EventPin:
		e.Pin = new(Pin)
		err = json.Unmarshal([]byte(raw.data), e.Pin)
	case EventAgent:
		e.Agent = new(Agent)
		err = json.Unmarshal([]byte(raw.data), e.Agent)
	case EventReset:
		e.Reset = new(ResetEvent)
		err = json.Unmarshal([]byte(raw.data), e.Reset)
		if err == nil { // the only way back
			f.at, f.shown = at, min(f.shown, at)
		}
	default:
		fresh = false
	}
	if err != nil {
		return Event{}, false, fmt.Errorf("the hub's %s event can't be read: %w", raw.event, err)
	}
	f.at = max(f.at, at)
	return e, fresh, nil
}
