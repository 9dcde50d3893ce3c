package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// MergeDocuments puts descriptions of services together, each of them a whole
// OpenAPI document: all paths, components and tags, and everything else of the
// first one. What several of them have must be the same in all, but for the
// methods of a path. One document alone is returned as it is.
func MergeDocuments(documents ...[]byte) ([]byte, error) {
	if len(documents) < 2 {
		return bytes.Clone(bytes.Join(documents, nil)), nil
	}
	merged, err := members(documents[0])
	if err != nil {
		return nil, err
	}
	for _, document := range documents[1:] {
		own, err := members(document)
		if err != nil {
			return nil, err
		}
		for _, m := range own {
			switch m.name {
			case "paths", "components": // paths and their methods, sections and their names
				merged, err = add(merged, m, 2)
			case "tags":
				merged, err = addTags(merged, m)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	whole := object(merged)
	return whole, whole.Indent()
}

// member is one member of a JSON object.
type member struct {
	name  string
	value jsontext.Value
}

// members takes an object apart, in its own order.
func members(object []byte) ([]member, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if start, err := dec.ReadToken(); err != nil || start.Kind() != '{' {
		return nil, errors.Join(errors.New("a document, or a part of one, is not an object"), err)
	}
	var list []member
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		m := member{name: name.String()}
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		m.value = value.Clone()
		list = append(list, m)
	}
	return list, nil
}

// object is the reverse of members.
func object(list []member) jsontext.Value {
	var buf bytes.Buffer
	enc := jsontext.NewEncoder(&buf)
	_ = enc.WriteToken(jsontext.BeginObject) // nothing of this fails: it has been read
	for _, m := range list {
		_ = enc.WriteToken(jsontext.String(m.name))
		_ = enc.WriteValue(m.value)
	}
	_ = enc.WriteToken(jsontext.EndObject)
	return buf.Bytes()
}

// add adds a member to an object. Where the object has it, the two are merged,
// down to as many levels.
func add(list []member, m member, levels int) ([]member, error) {
	i := slices.IndexFunc(list, func(have member) bool { return have.name == m.name })
	if i < 0 {
		return append(list, m), nil
	}
	if levels == 0 || list[i].value.Kind() != '{' || m.value.Kind() != '{' {
		if !same(list[i].value, m.value) {
			return nil, fmt.Errorf("two documents contradict each other about %q", m.name)
		}
		return list, nil
	}
	merged, err := members(list[i].value)
	if err != nil {
		return nil, err
	}
	more, err := members(m.value)
	if err != nil {
		return nil, err
	}
	for _, one := range more {
		if merged, err = add(merged, one, levels-1); err != nil {
			return nil, err
		}
	}
	list[i].value = object(merged)
	return list, nil
}

// addTags adds the elements of an array that the document hasn't got.
func addTags(list []member, m member) ([]member, error) {
	i := slices.IndexFunc(list, func(have member) bool { return have.name == m.name })
	if i < 0 {
		return append(list, m), nil
	}
	merged, err := elements(list[i].value)
	if err != nil {
		return nil, err
	}
	more, err := elements(m.value)
	if err != nil {
		return nil, err
	}
	for _, tag := range more {
		if !slices.ContainsFunc(merged, func(have []byte) bool { return same(have, tag) }) {
			merged = append(merged, tag)
		}
	}
	list[i].value = slices.Concat([]byte("["), bytes.Join(merged, []byte(",")), []byte("]"))
	return list, nil
}

// elements takes an array apart.
func elements(array jsontext.Value) (list [][]byte, err error) {
	dec := jsontext.NewDecoder(bytes.NewReader(array))
	if start, err := dec.ReadToken(); err != nil || start.Kind() != '[' {
		return nil, errors.Join(errors.New("tags are not an array"), err)
	}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		list = append(list, value.Clone())
	}
	return list, nil
}

// same reports whether two values mean the same.
func same(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	return a.Canonicalize() == nil && b.Canonicalize() == nil && bytes.Equal(a, b)
}
