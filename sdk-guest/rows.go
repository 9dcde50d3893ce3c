package guest

import (
	"errors"
	"unsafe"

	"waymark/abi"
	"waymark/sdk-guest/jsonlite"
)

// Rows are resources in the form of a response: JSON, separated by commas. It is the best
// form to keep between runs, because writing a row costs more than copying it. The zero value
// holds none.
type Rows struct {
	text string
	// In a sandbox they can lie in a kernel block instead, with a comma before them; block is
	// where they begin there, or 0.
	block uint64
	size  int // of text, which is not loaded if it is empty
}

// Encode makes Rows.
func Encode(list ...Resource) Rows {
	var w jsonlite.Writer
	for i := range list {
		w.Grow(rowSize + len(list[i].Description))
		writeResource(&w, &list[i])
	}
	text := textOf(w.Bytes()) // nobody else has them
	return Rows{text: text, size: len(text)}
}

// textOf returns a string that shares memory with b, which must not change any more.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) } //nolint:gosec // as strings.Builder does

// Len is what the rows take of a response, in bytes; 0 for none.
func (r Rows) Len() int { return r.size }

// String returns the rows in the form of a response.
func (r Rows) String() string {
	if r.text == "" && r.size > 0 {
		return string(load(r.block, r.size))
	}
	return r.text
}

// rowSize is what most rows have without their description.
const rowSize = 320

// ErrRows says that Rows weren't made by Encode.
var ErrRows = errors.New("not encoded resources")

// Decode returns the resources.
func (r Rows) Decode() ([]Resource, error) {
	doc, err := jsonlite.Parse([]byte("["+r.String()+"]"), jsonlite.Options{})
	if err != nil {
		return nil, ErrRows
	}
	var d decoder
	var list []Resource
	for v := range doc.Elements() {
		list = append(list, d.resource(v))
	}
	if d.err != nil {
		return nil, ErrRows
	}
	return list, nil
}

func (d *decoder) resource(v jsonlite.Value) (r Resource) {
	for k, f := range d.object("resource", v).Members() {
		switch k {
		case "kind":
			r.Kind = abi.Kind(d.text(k, f))
		case "path":
			r.Path = d.text(k, f)
		case "key":
			r.Key = d.text(k, f)
		case "name":
			r.Name = d.text(k, f)
		case "description":
			r.Description = d.text(k, f)
		case "status":
			r.Status = d.text(k, f)
		case "error":
			r.Error = d.text(k, f)
		case "content":
			r.Content = d.content(k, f)
		case "attributes":
			r.Attributes = d.attributes(k, f)
		case "convention":
			r.Convention = d.text(k, f)
		case "readers":
			for e := range f.Elements() {
				r.Readers = append(r.Readers, d.text(k, e))
			}
		case "findings":
			for e := range f.Elements() {
				r.Findings = append(r.Findings, d.finding(k, e))
			}
		}
	}
	return r
}

func (d *decoder) finding(key string, v jsonlite.Value) (found Finding) {
	for k, f := range d.object(key, v).Members() {
		switch k {
		case "code":
			found.Code = d.text(k, f)
		case "severity":
			found.Severity = abi.Severity(d.text(k, f))
		case "message":
			found.Message = d.text(k, f)
		}
	}
	return found
}

func (d *decoder) content(key string, v jsonlite.Value) *Content {
	content := new(Content)
	for k, f := range d.object(key, v).Members() {
		switch k {
		case "inline":
			text := d.text(k, f)
			content.Inline = &text
		case "file":
			content.File = d.text(k, f)
		case "withheld":
			content.Withheld = true // it is written for nothing else
		}
	}
	return content
}

func (d *decoder) attributes(key string, v jsonlite.Value) map[string]Value {
	attributes := make(map[string]Value)
	for k, f := range d.object(key, v).Members() {
		if f.Kind() != jsonlite.Array {
			attributes[k] = abi.String(d.text(k, f))
			continue
		}
		list := []string{}
		for e := range f.Elements() {
			list = append(list, d.text(k, e))
		}
		attributes[k] = abi.Strings(list...)
	}
	return attributes
}
