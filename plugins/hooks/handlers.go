package hooks

import (
	"iter"
	"slices"
	"strings"

	"waymark/sdk-guest/jsonlite"
)

// handler is one hook of a file.
type handler struct {
	event, matcher string
	group, index   int // of the matcher in its event, and of the handler in it
	handler        jsonlite.Value
}

// handlers iterates over the hooks of a file, in every form that agents have:
//
//	{"hooks": {"Event": [{"matcher": "…", "hooks": [handler, …]}, …]}}   Claude Code, Codex, Gemini CLI, …
//	{"hooks": {"event": [handler, …]}}                                 Cursor, Copilot
//	{"Event": [{"hooks": [handler, …]}]}                               Devin, Factory; only in a file of hooks
//	{"hooks": [{"trigger": "Event", "action": handler}, …]}            Kiro, Kimi Code, deepagents
func handlers(v jsonlite.Value, bare bool) iter.Seq[handler] {
	return func(yield func(handler) bool) {
		hooks, ok := v.Get("hooks")
		switch {
		case !ok && bare:
			hooks = v
		case !ok:
			return
		case hooks.Kind() == jsonlite.Array:
			listed(hooks, yield)
			return
		}
		for event, groups := range hooks.Members() {
			if !ofEvent(event, groups, yield) {
				return
			}
		}
	}
}

// dropped says why no hook of a file can be read, although it has some; empty if it hasn't.
// Clients drop such a file whole.
func dropped(v jsonlite.Value, bare bool) string {
	hooks, ok := v.Get("hooks")
	switch {
	case !ok && bare:
		hooks = v
	case !ok:
		return ""
	}
	switch hooks.Kind() {
	case jsonlite.Array, jsonlite.Null:
		return ""
	case jsonlite.Object:
	default:
		return "hooks is " + string(hooks.Kind()) + ", where an object belongs: its client drops the file"
	}
	for event, groups := range hooks.Members() {
		if groups.Kind() != jsonlite.Array {
			if ok {
				return "what " + word(event) + " has is " + string(groups.Kind()) + ", where a list belongs: its client drops the file"
			}
			continue // $schema, version
		}
		for group := range groups.Elements() {
			list, nested := group.Get("hooks")
			if group.Kind() != jsonlite.Object || nested && list.Kind() != jsonlite.Array {
				return "what " + word(event) + " has are no hooks: its client drops the file"
			}
			for h := range list.Elements() {
				if h.Kind() != jsonlite.Object {
					return "what " + word(event) + " has are no hooks: its client drops the file"
				}
			}
		}
	}
	return ""
}

// ofEvent iterates over the groups of one event, or its handlers.
func ofEvent(event string, groups jsonlite.Value, yield func(handler) bool) bool {
	at := -1
	for group := range groups.Elements() {
		if group.Kind() != jsonlite.Object {
			continue
		}
		at++
		h := handler{event: word(event), matcher: textOf(group, "matcher"), group: at, handler: group}
		list, nested := group.Get("hooks")
		if !nested {
			if !yield(h) {
				return false
			}
			continue
		}
		for e := range list.Elements() {
			if e.Kind() != jsonlite.Object {
				continue
			}
			h.handler = e
			if !yield(h) {
				return false
			}
			h.index++
		}
	}
	return true
}

// listed iterates over hooks that name their events themselves.
func listed(list jsonlite.Value, yield func(handler) bool) {
	at := -1
	for e := range list.Elements() {
		if e.Kind() != jsonlite.Object {
			continue
		}
		at++
		h := handler{matcher: textOf(e, "matcher"), group: at, handler: e}
		for _, key := range []string{"action", "then"} {
			if action, ok := e.Get(key); ok && action.Kind() == jsonlite.Object {
				h.handler = action
			}
		}
		for _, event := range eventsOf(e) {
			h.event = word(event)
			if !yield(h) {
				return
			}
		}
	}
}

// eventsOf returns the events of a hook.
func eventsOf(e jsonlite.Value) (events []string) {
	for _, key := range []string{"event", "trigger", "when", "events"} {
		v, ok := e.Get(key)
		if !ok {
			continue
		}
		switch v.Kind() {
		case jsonlite.String:
			events = append(events, textOf(e, key))
		case jsonlite.Object:
			events = append(events, textOf(v, "type"))
		case jsonlite.Array:
			for one := range v.Elements() {
				if s, ok := one.Text(); ok {
					events = append(events, s)
				}
			}
		}
	}
	if len(events) == 0 {
		return []string{""}
	}
	return events
}

func textOf(v jsonlite.Value, key string) string {
	e, _ := v.Get(key)
	s, _ := e.Text()
	return s
}

// maxWord is longer than the name of any event, in bytes.
const maxWord = 64

// word returns the name of an event, or "unknown" if it can't be one, because it may then be
// anything.
func word(s string) string {
	if s == "" || len(s) > maxWord {
		return unknown
	}
	for i := range len(s) {
		c := s[i]
		if letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == ':'; !letter {
			return unknown
		}
	}
	return s
}

const unknown = "unknown"

// handlerType returns the type of a handler, which is one of a few words.
func handlerType(v jsonlite.Value) string {
	switch said := textOf(v, "type"); said {
	case "command", "http", "mcp_tool", "prompt", "agent", "askAgent", "runCommand", "function":
		return said
	case "":
		for _, kind := range []struct{ key, is string }{{"command", "command"}, {"bash", "command"}, {"powershell", "command"}, {"url", "http"}, {"prompt", "prompt"}} {
			if _, ok := v.Get(kind.key); ok {
				return kind.is
			}
		}
	}
	return unknown
}

// commandOf returns what a handler runs, as one text.
func commandOf(v jsonlite.Value) string {
	for _, key := range []string{"command", "bash", "powershell", "url", "prompt"} {
		e, _ := v.Get(key)
		if s, ok := e.Text(); ok {
			return s
		}
		var words []string
		for word := range e.Elements() {
			s, _ := word.Text()
			words = append(words, s)
		}
		if len(words) > 0 {
			return strings.Join(words, " ")
		}
	}
	return ""
}

// canonical encodes a value so that equal ones have equal bytes: without blanks, with sorted
// keys, of which the last one of a name counts.
func canonical(v jsonlite.Value) []byte {
	var w jsonlite.Writer
	write(&w, v)
	return w.Bytes()
}

func write(w *jsonlite.Writer, v jsonlite.Value) {
	switch v.Kind() {
	case jsonlite.Object:
		members := map[string]jsonlite.Value{}
		var keys []string
		for key, e := range v.Members() {
			if _, known := members[key]; !known {
				keys = append(keys, key)
			}
			members[key] = e
		}
		slices.Sort(keys)
		w.BeginObject()
		for _, key := range keys {
			w.Key(key)
			write(w, members[key])
		}
		w.EndObject()
	case jsonlite.Array:
		w.BeginArray()
		for e := range v.Elements() {
			write(w, e)
		}
		w.EndArray()
	case jsonlite.String:
		s, _ := v.Text()
		w.String(s)
	default:
		w.Raw(v.Raw())
	}
}
