package serverlog

import "encoding/json"

// JSON redacts a JSON document. It redacts strings and names of fields, after undoing their
// escapes, and numbers, which become strings. Everything else stays unchanged, including
// layout and order. Invalid JSON, and a document with a value across several strings,
// become one string.
func (r *Redactor) JSON(doc json.RawMessage) json.RawMessage {
	if r.empty() || len(doc) < MinValue {
		return doc
	}
	if !json.Valid(doc) {
		return quote(r.String(string(doc)))
	}
	var out []byte
	at := 0 // end of what has been copied to out
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

// tokenEnd returns the end of the string or number that begins at i; for anything else,
// i+1.
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

// token redacts a string or a number. Other tokens are too short to contain a value.
func (r *Redactor) token(token []byte) (clean []byte, changed bool) {
	if len(token) < MinValue {
		return nil, false
	}
	text := string(token)
	if token[0] == '"' {
		if err := json.Unmarshal(token, &text); err != nil {
			return quote(Mask), true // valid JSON contains none
		}
	}
	if clean := r.String(text); clean != text {
		return quote(clean), true
	}
	return nil, false
}

// quote encodes a text as a JSON string.
func quote(text string) json.RawMessage {
	data, err := json.Marshal(text)
	if err != nil {
		return json.RawMessage(`"` + Mask + `"`) // never happens: strings always marshal
	}
	return data
}
