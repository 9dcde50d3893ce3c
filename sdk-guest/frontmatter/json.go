package frontmatter

import "waymark/sdk-guest/jsonlite"

// kinds are the words for the kinds of values.
var kinds = [...]string{Null: "null", Bool: "bool", Other: "other", String: "string", List: "list", Map: "map"}

// JSON reads a block as Parse does, and returns what a host answers with front_matter: its
// form is in abi/ABI.md, "Front matter".
func JSON(block []byte, o Options) []byte {
	var w jsonlite.Writer
	w.BeginObject()
	if v, err := Parse(block, o); err != nil {
		w.Key("error")
		w.String(err.Error())
	} else {
		write(&w, v)
	}
	w.EndObject()
	return w.Bytes()
}

func write(w *jsonlite.Writer, v Value) {
	w.Key("kind")
	w.String(kinds[v.Kind])
	w.Key("line")
	w.Int(int64(v.Line))
	if v.Text != "" {
		w.Key("text")
		w.String(v.Text)
	}
	if len(v.List)+len(v.Map) == 0 {
		return
	}
	w.Key("items")
	w.BeginArray()
	for _, item := range v.List {
		w.BeginObject()
		write(w, item)
		w.EndObject()
	}
	for _, m := range v.Map {
		w.BeginObject()
		w.Key("key")
		w.String(m.Key)
		write(w, m.Value)
		w.EndObject()
	}
	w.EndArray()
}
