package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/hub/store"
	"waymark/snapshot"
)

var textTests = map[string]func(*testing.T, store.Store){
	"Text":       testText,
	"LongID":     testLongID,
	"AnyPayload": testAnyPayload,
}

// texts are what a database, a driver or JSON could mishandle. Text with NUL
// or broken UTF-8 is refused: see PushRefused.
var texts = map[string]string{
	"non-BMP":        "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 🧭🏴‍☠️ \U0010fffd",
	"not characters": "\ufffe\uffff\U0001ffff",
	"replacement":    "\ufffd",
	"bidi":           "\u202eabc\u2066def\u2069",
	"combining":      "e\u0301 is not \u00e9",
	"controls":       "\x01\x02\x1b[31m\x7f\t\r\n\u0085\u2028\u2029",
	"quotes":         `'; DROP TABLE agents; -- "\" $1 $tag$ {a,b} \u0000 %s ?`,
	"NULL":           "NULL",
	"blank":          " ",
	"4 KB":           strings.Repeat("é€😀x", 4096/10),
}

func testText(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	version := uint64(0)
	for name, text := range texts {
		version++
		p := whole(version, snapshot.Resource{
			Kind: abi.Kind(text), Source: text, Key: text, SourcePath: text, Name: text, Description: text,
			Status: snapshot.Status(text), Error: text, Resolver: text, Payload: []byte(text),
			ContentHash: []byte(text), Attributes: snapshot.Attributes{text: {Text: text}, "list": {List: []string{text, "", text}}},
			Convention: text, Readers: []string{text, ""}, Scope: snapshot.Scope(text),
			Findings: []snapshot.Finding{{Code: text, Severity: abi.Severity(text), Message: text}},
		})
		if name == "4 KB" { // longer than an id may be
			p.Snapshot.Resources[0].Source, p.Snapshot.Resources[0].Key, p.Snapshot.Resources[0].Kind = "/s", "", "skill"
		}
		p.Snapshot.SnapshotError, p.Snapshot.AggregateHash = text, []byte(text)
		p.Snapshot.Plugins = []snapshot.Plugin{{
			Name: text, Version: text, Digest: text, Path: text,
			State: snapshot.PluginState(text), Error: text, Resolvers: []string{text, text},
		}}
		p = fully(p)
		push(t, s, "a", g, p)
		want := p.Snapshot
		want.PayloadBytes = int64(len(text))
		if d := diff(want, read(t, s, "a").Snapshot); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		id := p.Snapshot.Resources[0].ID()
		if body, err := s.ResourceBody(t.Context(), of("a"), id); err != nil || string(body) != text {
			t.Errorf("%s: body is %q, %v", name, body, err)
		}
		version++ // and by its id in a delta
		if r := push(t, s, "a", g, delta(p.Update.Name, version, []string{id})); r.Removed != 1 {
			t.Errorf("%s: removed %+v", name, r)
		}
	}
}

// testLongID has ids of the greatest length, made of what doesn't compress, so
// that an index that compresses them can't hide their length.
func testLongID(t *testing.T, s store.Store) {
	id := strings.Repeat("a", 128)
	g := agent(t, s, id)
	var noise strings.Builder
	for i := 0; noise.Len() < store.MaxResourceID; i++ {
		sum := sha256.Sum256(fmt.Append(nil, i))
		noise.WriteString(hex.EncodeToString(sum[:]))
	}
	source := noise.String()[:store.MaxResourceID-len("skill:")]
	r := skill("x", "1")
	r.Source, r.Key = source, ""
	other := r
	other.Source = source[:len(source)-1] + "z"
	for v := range uint64(3) {
		r.Payload = fmt.Append(nil, v)
		push(t, s, id, g, whole(v+1, r, other))
	}
	if body, err := s.ResourceBody(t.Context(), store.Query{AgentID: id, Revision: 2}, r.ID()); err != nil || string(body) != "1" {
		t.Errorf("body is %q, %v", body, err)
	}
}

func testAnyPayload(t *testing.T, s store.Store) {
	g := agent(t, s, "a")
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	payloads := map[string][]byte{
		"empty": {}, "NUL": {0}, "invalid": {0xff, 0xfe}, "all": all, "escape": []byte(`\x00\\000`), "large": make([]byte, 300_000),
	}
	var list []snapshot.Resource
	for name, payload := range payloads {
		r := skill(name, "")
		r.Payload = payload
		list = append(list, r)
	}
	push(t, s, "a", g, whole(1, list...))
	for i := range list {
		body, err := s.ResourceBody(t.Context(), of("a"), list[i].ID())
		if err != nil || string(body) != string(payloads[list[i].Name]) || body == nil {
			t.Errorf("%s: %d bytes, %v", list[i].Name, len(body), err)
		}
	}
}
