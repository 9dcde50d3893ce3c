package redact

import "encoding/json"

// JSON returns a JSON document without values: in its strings, names of fields
// included, with their escapes undone, and in its numbers, which become strings. It
// stays as it is otherwise, layout and order too. What is no JSON, and a document
// that has a value across several strings, becomes one string.
func (r *Redactor) JSON(doc json.RawMessage) json.RawMessage {
	if r.empty() || len(doc) < MinValue {
		return doc
	}
	if !json.Valid(doc) {
		return quote(r.String(string(doc)))
	}
	var out []byte
	at := 0 // what is in out
	for i := 0; i < len(doc); {
		end := tokenEnd(doc, i)
		if clean, changed := r.token(doc[i:end]); changed {
			out = append(append(out, doc[at:i]...), clean...)
			at = end
		}
		i = end
	}
	if at > 0 {
		doc = append(out, doc[at:]...)
	}
	if len(r.find(string(doc))) > 0 {
		return quote(r.String(string(doc)))
	}
	return doc
}

// tokenEnd is where the string or number that begins at i ends, or the next byte.
func tokenEnd(doc []byte, i int) int {
	switch c := doc[i]; {
	case c == '"':
		for i++; doc[i] != '"'; i++ {
			if doc[i] == '\\' {
				i++
			}
		}
	case c == '-' || c >= '0' && c <= '9':
		for i+1 < len(doc) && isNumber(doc[i+1]) {
			i++
		}
	}
	return i + 1
}

func isNumber(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
}

// token redacts a string or a number; anything else is too short to be changed.
func (r *Redactor) token(token []byte) (clean []byte, changed bool) {
	if len(token) < MinValue {
		return nil, false
	}
	text := string(token)
	if token[0] == '"' {
		if err := json.Unmarshal(token, &text); err != nil {
			return quote(Mask), true // which valid JSON has none of
		}
	}
	if clean := r.String(text); clean != text {
		return quote(clean), true
	}
	return nil, false
}

// quote returns a text as a JSON string.
func quote(text string) json.RawMessage {
	data, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`"` + Mask + `"`) // no string is an error
	}
	return data
}
