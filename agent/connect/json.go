package connect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"

	"waymark/internal/text"
)

// An edit puts one entry into a document, and takes it out. Its methods are pure.
type edit interface {
	// find returns the entry as it is there, decoded; nil where there is none.
	find(data []byte) (any, error)
	// own reports whether an entry that was found is one of ours.
	own(found any) bool
	// put returns the document with the entry, and how many of the objects around it had
	// to be made. The document has no such entry.
	put(data []byte) (out []byte, made int, err error)
	// cut returns the document without the entry, and without those objects around it
	// that are empty then, made of them at most.
	cut(data []byte, made int) ([]byte, error)
	// blank reports whether a document says nothing.
	blank(data []byte) bool
	// text is the entry as somebody would write it by hand.
	text() string
}

// errTwice is what no edit decides.
var errTwice = errors.New("it stands there twice: remove one of them")

// jsonEdit is an entry of a JSON document with or without comments: the member with the
// last name of the path; or, with ours, an element of the array that the path names.
type jsonEdit struct {
	path  []string
	value any
	// ours recognizes the element. It is nil for a member.
	ours func(element any) bool
}

func parseJSON(data []byte) (hujson.Value, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		data = []byte("{}\n")
	}
	v, err := hujson.Parse(bytes.Clone(data)) // the value keeps the bytes
	if err != nil {
		where := "it"
		if m := atPlace().FindString(err.Error()); m != "" {
			where = m
		}
		err = fmt.Errorf("%s isn't valid JSON", where)
	}
	return v, err
}

// atPlace is where the library's errors say that something is wrong. The rest of what they say
// may quote a file.
var atPlace = text.Lazy(`line \d+, column \d+`)

// decodeJSON returns what a client reads.
func decodeJSON(data []byte) (any, error) {
	v, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	v.Standardize()
	d := json.NewDecoder(bytes.NewReader(v.Pack()))
	d.UseNumber()
	var x any
	err = d.Decode(&x)
	return x, err
}

// member returns the place of a member; -1 where there is none.
func member(o *hujson.Object, name string) (int, error) {
	at := -1
	for i := range o.Members {
		if l, ok := o.Members[i].Name.Value.(hujson.Literal); ok && l.String() == name {
			if at >= 0 {
				return -1, fmt.Errorf("%q: %w", name, errTwice)
			}
			at = i
		}
	}
	return at, nil
}

// way returns the objects from the document's down to the last that is there along a path.
func way(v *hujson.Value, path []string) (objects []*hujson.Object, err error) {
	for i := 0; ; i++ {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			if i == 0 {
				return nil, errors.New("it isn't an object")
			}
			return nil, fmt.Errorf("%q isn't an object", strings.Join(path[:i], "."))
		}
		objects = append(objects, o)
		if i == len(path) {
			return objects, nil
		}
		at, err := member(o, path[i])
		if err != nil || at < 0 {
			return objects, err
		}
		v = &o.Members[at].Value
	}
}

// around is the path of the objects around the entry or its array.
func (e *jsonEdit) around() []string { return e.path[:len(e.path)-1] }

func (e *jsonEdit) name() string { return e.path[len(e.path)-1] }

// array returns the array of an element that is there; nil where there is none.
func (e *jsonEdit) array(o *hujson.Object) (*hujson.Array, error) {
	at, err := member(o, e.name())
	if err != nil || at < 0 {
		return nil, err
	}
	a, ok := o.Members[at].Value.Value.(*hujson.Array)
	if !ok {
		return nil, fmt.Errorf("%q isn't an array", strings.Join(e.path, "."))
	}
	return a, nil
}

func (e *jsonEdit) find(data []byte) (any, error) {
	v, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	objects, err := way(&v, e.around())
	if err != nil || len(objects) <= len(e.around()) {
		return nil, err
	}
	o := objects[len(objects)-1]
	if e.ours == nil {
		at, err := member(o, e.name())
		if err != nil || at < 0 {
			return nil, err
		}
		return decodeJSON(o.Members[at].Value.Pack())
	}
	a, err := e.array(o)
	if err != nil || a == nil {
		return nil, err
	}
	_, found, err := e.element(a)
	return found, err
}

func (e *jsonEdit) own(found any) bool { return e.ours != nil || starts(found) }

// element finds the element; -1 where there is none.
func (e *jsonEdit) element(a *hujson.Array) (at int, found any, err error) {
	at = -1
	for i := range a.Elements {
		x, err := decodeJSON(a.Elements[i].Pack())
		if err != nil {
			return -1, nil, err
		}
		if e.ours(x) {
			if at >= 0 {
				return -1, nil, errTwice
			}
			at, found = i, x
		}
	}
	return at, found, nil
}

// layout is how a document is written.
type layout struct {
	unit string // of indentation
	line string // what ends a line
}

func layoutOf(data []byte, root *hujson.Object) layout {
	l := layout{unit: "  ", line: "\n"}
	if bytes.Contains(data, []byte("\r\n")) {
		l.line = "\r\n"
	}
	if len(root.Members) > 0 {
		if indent, own := indentOf(root.Members[0].Name.BeforeExtra); own && indent != "" {
			l.unit = indent
		}
	}
	return l
}

// indentOf returns what stands before something on its line, and whether it has begun one.
func indentOf(extra hujson.Extra) (string, bool) {
	_, last, ok := cutLast(extra, '\n')
	return string(last), ok && len(bytes.TrimSpace(last)) == 0
}

func cutLast(b []byte, sep byte) (before, after []byte, found bool) {
	i := bytes.LastIndexByte(b, sep)
	if i < 0 {
		return nil, b, false
	}
	return b[:i], b[i+1:], true
}

// split parts what stands before a closing bracket: comments, and white space.
func split(extra hujson.Extra) (comments, space hujson.Extra) {
	comments = bytes.TrimRight(extra, " \t\r\n")
	return comments, extra[len(comments):]
}

// list is what a new member or element is added to.
type list struct {
	last     *hujson.Value // of the last one; nil in an empty list
	lastGap  hujson.Extra  // before it
	after    *hujson.Extra // before the closing bracket
	indented string        // what stands before the list's own line
	l        layout
}

// gap makes the room for one more, and says what stands before it, what after it, whether
// it is written on several lines and how these are indented.
func (s *list) gap() (before, after hujson.Extra, several bool, indent string) {
	comments, space := split(*s.after)
	indent, several = s.indented+s.l.unit, true
	if s.last != nil {
		var own string
		if own, several = indentOf(s.lastGap); several {
			indent = own
		}
	}
	if bytes.Contains(comments, []byte("//")) || bytes.ContainsRune(space, '\n') {
		several = true
	}
	before = bytes.Clone(comments)
	switch {
	case several:
		before = append(before, s.l.line+indent...)
		if !bytes.ContainsRune(space, '\n') {
			space = hujson.Extra(s.l.line + s.indented)
		}
	case s.last != nil:
		before = append(before, ' ')
	}
	if s.last != nil && s.last.AfterExtra != nil { // there is a comma, and shall be one
		after = hujson.Extra{}
	}
	*s.after = bytes.Clone(space)
	return before, after, several, indent
}

// render writes a value.
func render(value any, several bool, indent string, l layout) (hujson.ValueTrimmed, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(b.Bytes())
	if several {
		var pretty bytes.Buffer
		if err := json.Indent(&pretty, text, indent, l.unit); err != nil {
			return nil, err
		}
		text = bytes.ReplaceAll(pretty.Bytes(), []byte("\n"), []byte(l.line))
	}
	v, err := hujson.Parse(text)
	return v.Value, err
}

func (e *jsonEdit) put(data []byte) ([]byte, int, error) {
	v, err := parseJSON(data)
	if err != nil {
		return nil, 0, err
	}
	objects, err := way(&v, e.around())
	if err != nil {
		return nil, 0, err
	}
	o := objects[len(objects)-1]
	l := layoutOf(data, objects[0])
	indented := ""
	for i := range len(objects) - 1 { // of the line on which the object stands
		at, _ := member(objects[i], e.path[i])
		if own, ok := indentOf(objects[i].Members[at].Name.BeforeExtra); ok {
			indented = own
		}
	}
	missing := e.path[len(objects)-1:] // of the objects, and the entry or its array
	value := e.value
	if e.ours != nil {
		var a *hujson.Array
		if len(missing) == 1 {
			if a, err = e.array(o); err != nil {
				return nil, 0, err
			}
		}
		if a != nil {
			at, _ := member(o, e.name())
			if own, ok := indentOf(o.Members[at].Name.BeforeExtra); ok {
				indented = own
			}
			return e.checked(data, &v, 0, appendElement(a, value, indented, l))
		}
		value = []any{value}
	}
	made := len(missing) - 1
	if e.ours != nil {
		made++
	}
	for i := len(missing) - 1; i > 0; i-- {
		value = map[string]any{missing[i]: value}
	}
	return e.checked(data, &v, made, appendMember(o, missing[0], value, indented, l))
}

func appendMember(o *hujson.Object, name string, value any, indented string, l layout) error {
	s := list{after: &o.AfterExtra, indented: indented, l: l}
	if n := len(o.Members); n > 0 {
		s.last, s.lastGap = &o.Members[n-1].Value, o.Members[n-1].Name.BeforeExtra
	}
	before, after, several, indent := s.gap()
	trimmed, err := render(value, several, indent, l)
	if err != nil {
		return err
	}
	o.Members = append(o.Members, hujson.ObjectMember{
		Name:  hujson.Value{BeforeExtra: before, Value: hujson.String(name)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" "), Value: trimmed, AfterExtra: after},
	})
	return nil
}

func appendElement(a *hujson.Array, value any, indented string, l layout) error {
	s := list{after: &a.AfterExtra, indented: indented, l: l}
	if n := len(a.Elements); n > 0 {
		s.last, s.lastGap = &a.Elements[n-1], a.Elements[n-1].BeforeExtra
	}
	before, after, several, indent := s.gap()
	trimmed, err := render(value, several, indent, l)
	if err != nil {
		return err
	}
	a.Elements = append(a.Elements, hujson.Value{BeforeExtra: before, Value: trimmed, AfterExtra: after})
	return nil
}

// checked packs a document with a new entry. It first checks that a client will read the entry
// there, and everything else as before.
func (e *jsonEdit) checked(before []byte, v *hujson.Value, made int, err error) ([]byte, int, error) {
	if err != nil {
		return nil, 0, err
	}
	out := v.Pack()
	found, err := e.find(out)
	if err != nil {
		return nil, 0, err
	}
	want, err := decoded(e.value)
	if err != nil {
		return nil, 0, err
	}
	back, err := e.remove(out, made)
	if err != nil {
		return nil, 0, err
	}
	was, err := decodeJSON(before)
	if err != nil {
		return nil, 0, err
	}
	is, err := decodeJSON(back)
	if err != nil {
		return nil, 0, err
	}
	if !reflect.DeepEqual(found, want) || !reflect.DeepEqual(was, is) {
		return nil, 0, errUnsafe
	}
	return out, made, nil
}

// errUnsafe says that the document would say something else than it should.
var errUnsafe = errors.New("it can't be changed without changing more than the entry")

func decoded(value any) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return decodeJSON(data)
}

func (e *jsonEdit) cut(data []byte, made int) ([]byte, error) {
	out, err := e.remove(data, made)
	if err != nil {
		return nil, err
	}
	if left, err := e.find(out); err != nil || left != nil {
		return nil, errors.Join(err, errUnsafe)
	}
	return out, nil
}

func (e *jsonEdit) remove(data []byte, made int) ([]byte, error) {
	v, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	objects, err := way(&v, e.around())
	if err != nil || len(objects) <= len(e.around()) {
		return data, err
	}
	o := objects[len(objects)-1]
	removed := true
	if e.ours != nil {
		a, err := e.array(o)
		if err != nil || a == nil {
			return data, err
		}
		at, _, err := e.element(a)
		if err != nil || at < 0 {
			return data, err
		}
		removeElement(a, at)
		removed = made > 0 && len(a.Elements) == 0 && !hasComment(a.AfterExtra)
		made--
	}
	for i := len(objects) - 1; removed; i-- {
		at, err := member(objects[i], e.path[i])
		if err != nil || at < 0 {
			return data, err
		}
		removeMember(objects[i], at)
		removed = made > 0 && i > 0 && len(objects[i].Members) == 0 && !hasComment(objects[i].AfterExtra)
		made--
	}
	return v.Pack(), nil
}

func hasComment(extra hujson.Extra) bool { return len(bytes.TrimSpace(extra)) > 0 }

func removeMember(o *hujson.Object, at int) {
	m := o.Members[at]
	var prev *hujson.Value
	if at > 0 {
		prev = &o.Members[at-1].Value
	}
	next := &o.AfterExtra
	last := at == len(o.Members)-1
	if !last {
		next = &o.Members[at+1].Name.BeforeExtra
	}
	inner := append(bytes.Clone(m.Name.AfterExtra), m.Value.BeforeExtra...)
	*next = closeGap(m.Name.BeforeExtra, inner, m.Value.AfterExtra, *next, prev, last)
	o.Members = append(o.Members[:at], o.Members[at+1:]...)
}

func removeElement(a *hujson.Array, at int) {
	e := a.Elements[at]
	var prev *hujson.Value
	if at > 0 {
		prev = &a.Elements[at-1]
	}
	next := &a.AfterExtra
	last := at == len(a.Elements)-1
	if !last {
		next = &a.Elements[at+1].BeforeExtra
	}
	*next = closeGap(e.BeforeExtra, nil, e.AfterExtra, *next, prev, last)
	a.Elements = append(a.Elements[:at], a.Elements[at+1:]...)
}

// closeGap returns what stands in the place of one that is removed: the comments before it
// and behind it, and what stands before the next one.
func closeGap(before, inner, after, next hujson.Extra, prev *hujson.Value, last bool) hujson.Extra {
	comments, _ := split(before)
	gap := bytes.Clone(comments)
	for _, extra := range [][]byte{inner, after} {
		if text := bytes.TrimSpace(extra); len(text) > 0 {
			gap = append(append(gap, ' '), text...)
		}
	}
	if last && prev != nil {
		switch {
		case after == nil && prev.AfterExtra != nil:
			// The comma behind the one before goes, and what stood before that moves.
			gap = append(bytes.Clone(prev.AfterExtra), gap...)
			prev.AfterExtra = nil
		case after != nil && prev.AfterExtra == nil:
			prev.AfterExtra = hujson.Extra{}
		}
	}
	if at := bytes.LastIndexByte(gap, '\n'); bytes.Contains(gap[at+1:], []byte("//")) && !bytes.HasPrefix(bytes.TrimLeft(next, " \t\r"), []byte("\n")) {
		gap = append(gap, '\n')
	}
	return append(gap, next...)
}

func (e *jsonEdit) blank(data []byte) bool {
	v, err := parseJSON(data)
	if err != nil {
		return false
	}
	o, ok := v.Value.(*hujson.Object)
	return ok && len(o.Members) == 0 && !hasComment(o.AfterExtra) && !hasComment(v.BeforeExtra) && !hasComment(v.AfterExtra)
}

func (e *jsonEdit) text() string {
	value := e.value
	if e.ours != nil {
		value = []any{value}
	}
	for i := len(e.path) - 1; i >= 0; i-- {
		value = map[string]any{e.path[i]: value}
	}
	b, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return ""
	}
	return string(b) + "\n"
}
