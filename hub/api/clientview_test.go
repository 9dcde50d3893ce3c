package api_test

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"waymark/hub/api"
	"waymark/snapshot"
)

func answer(n int, name func(i int) string) api.ClientContext {
	a := api.ClientContext{Client: "codex", Name: "Codex", Version: "1", Root: "/w", Project: "/w", Items: []snapshot.ClientItem{}, Known: []api.KnownClient{{Client: "codex", Name: "Codex"}}, Withheld: 3}
	for i := range n {
		path := "/w/.agents/skills/" + name(i)
		a.Items = append(a.Items, snapshot.ClientItem{ID: "skill:" + path, Kind: "skill", Path: path + "/SKILL.md", Name: name(i), Bytes: 90, Tokens: 23, Included: i%3 > 0, Reason: "shortened"})
	}
	return a
}

// TestEncode: what fits comes back whole; of what doesn't, as much as fits, in order.
func TestEncode(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(int) string {
		b := make([]byte, 200)
		for i := range b {
			b[i] = byte(' ' + random.IntN(90))
		}
		return string(b)
	}
	for what, c := range map[string]struct {
		in    api.ClientContext
		whole bool
	}{
		"none":         {answer(0, nil), true},
		"many":         {answer(1500, func(i int) string { return fmt.Sprintf("skill-number-%d", i) }), true},
		"too many":     {answer(9000, func(i int) string { return fmt.Sprint(i) }), false},
		"noise":        {answer(500, noise), false},
		"a long name":  {answer(1, func(int) string { return strings.Repeat("x", 1<<20) }), false},
		"a long other": {api.ClientContext{Items: []snapshot.ClientItem{{Detail: strings.Repeat("é", 1<<20)}}, Known: []api.KnownClient{}}, false},
	} {
		body, err := api.EncodeClientContext(c.in)
		if err != nil || len(body) > api.MaxEncoded {
			t.Errorf("%s: %d bytes, %v", what, len(body), err)
			continue
		}
		got, err := api.DecodeClientContext(body)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if c.whole && !reflect.DeepEqual(*got, c.in) {
			t.Errorf("%s: it came back as something else", what)
		}
		if len(got.Items)+got.LeftOff != len(c.in.Items) || len(c.in.Items) > 0 && len(got.Items) == 0 {
			t.Errorf("%s: %d items and %d left off of %d", what, len(got.Items), got.LeftOff, len(c.in.Items))
		}
	}
	if r, err := api.DecodeClientRequest(api.EncodeClientRequest(api.ClientRequest{Client: "x"})); err != nil || r.Client != "x" {
		t.Errorf("a request: %+v, %v", r, err)
	}
}

func deflated(text string) []byte {
	var b bytes.Buffer
	w, _ := flate.NewWriter(&b, flate.BestCompression)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.Bytes()
}

// TestHostile: a peer's answer is bounded before it is taken.
func TestHostile(t *testing.T) {
	for what, body := range map[string][]byte{
		"nothing": nil, "no flate": []byte("\xff\xff"), "no JSON": deflated("{"), "another type": deflated(`{"items":1}`),
		"a bomb": deflated(`{"name":"` + strings.Repeat("x", 16<<20) + `"}`), "too long": make([]byte, api.MaxEncoded+1),
		"too many": deflated(`{"items":[` + strings.Repeat("{},", 5000) + `{}]}`), "cut": deflated(`{"name":"x"}`)[:5],
	} {
		if _, err := api.DecodeClientContext(body); !errors.Is(err, api.ErrFormat) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, body := range []string{"", "{", `{"client":1}`, strings.Repeat(" ", 2000) + "{}"} {
		if _, err := api.DecodeClientRequest([]byte(body)); !errors.Is(err, api.ErrFormat) {
			t.Errorf("a request %.20q: %v", body, err)
		}
	}
}

// FuzzDecode: what is decoded can be encoded, and is bounded.
func FuzzDecode(f *testing.F) {
	f.Add(deflated(`{"items":[{"path":"/x"}]}`))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := api.DecodeClientContext(body)
		if err != nil {
			return
		}
		if again, err := api.EncodeClientContext(*a); err != nil || len(a.Known) == 0 && len(again) > api.MaxEncoded && len(a.Items) > 0 && len(a.Name)+len(a.Root)+len(a.Project)+len(a.Version)+len(a.Client) < 1000 {
			t.Errorf("%d bytes, %v", len(again), err)
		}
	})
}
