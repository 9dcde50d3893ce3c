package approval_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"waymark/wire/approval"
)

var issued = time.Date(2026, 11, 22, 19, 0, 0, 0, time.UTC)

func definition(c string) string { return "sha256:" + strings.Repeat(c, 64) }

// newKey makes a pair that is the same at each run.
func newKey(seed byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
	return private.Public().(ed25519.PublicKey), private
}

func full() *approval.Approval {
	return &approval.Approval{
		ID: "db-2026", Name: "db <&> ü", Definition: definition("a"), Agents: []string{"9b2e8a4c-0000", "dev/alice"},
		Issued: issued, Expires: issued.Add(30 * 24 * time.Hour),
		Widening: approval.Widening{
			Read: []string{"/srv/data", "docs"}, Write: []string{"."}, Ports: []uint16{}, Unix: true, Env: []string{"PGHOST"},
		},
	}
}

func sign(t testing.TB, a *approval.Approval, key ed25519.PrivateKey) []byte {
	t.Helper()
	signed, err := approval.Sign(a, key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

func TestRound(t *testing.T) {
	t.Parallel()
	public, private := newKey(1)
	other, _ := newKey(2)
	least := &approval.Approval{Definition: definition("0"), Issued: issued.Add(time.Millisecond).In(time.FixedZone("", 3600)), Expires: issued.Add(time.Hour)}
	for name, a := range map[string]*approval.Approval{"full": full(), "least": least} {
		t.Run(name, func(t *testing.T) {
			signed := sign(t, a, private)
			if a.ID == "" {
				t.Error("no id")
			}
			got, err := approval.Verify(signed, []ed25519.PublicKey{nil, other, public})
			if err != nil || !reflect.DeepEqual(got, a) {
				t.Errorf("%+v, %v; want %+v", got, err, a)
			}
			var indented bytes.Buffer
			if err := json.Indent(&indented, signed, " ", "\t"); err != nil {
				t.Fatal(err)
			}
			indented.WriteString("\n\n")
			if _, err := approval.Verify(indented.Bytes(), []ed25519.PublicKey{public}); err != nil {
				t.Errorf("indented: %v", err)
			}
			for _, keys := range [][]ed25519.PublicKey{nil, {other}} {
				if _, err := approval.Verify(signed, keys); !errors.Is(err, approval.ErrKey) {
					t.Errorf("without the key: %v", err)
				}
			}
			claim, err := approval.Inspect(signed)
			if err != nil || claim.KeyID != approval.KeyID(public) || !reflect.DeepEqual(&claim.Approval, a) {
				t.Errorf("%+v, %v", claim, err)
			}
		})
	}
}

// TestEveryByte changes each byte of what is signed.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	public, private := newKey(1)
	signed := sign(t, full(), private)
	for i := range signed {
		for _, flip := range []byte{1, 0x20, 0x80} {
			bad := bytes.Clone(signed)
			bad[i] ^= flip
			if a, err := approval.Verify(bad, []ed25519.PublicKey{public}); err == nil {
				t.Fatalf("byte %d of %s: %+v", i, bad, a)
			}
		}
	}
}

// envelope writes one with any body, signed well.
func envelope(body string, private ed25519.PrivateKey, prefix string) []byte {
	public := private.Public().(ed25519.PublicKey)
	out, _ := json.Marshal(map[string]any{
		"v": 1, "body": []byte(body), "signature": ed25519.Sign(private, []byte(prefix+body)), "key_id": approval.KeyID(public),
	})
	// The order of fields is the one of documents, not that of the alphabet.
	var e struct {
		V         json.RawMessage `json:"v"`
		Body      json.RawMessage `json:"body"`
		Signature json.RawMessage `json:"signature"`
		KeyID     json.RawMessage `json:"key_id"`
	}
	_ = json.Unmarshal(out, &e)
	out, _ = json.Marshal(e)
	return out
}

const domain = "waymark-mcp-approval-v1\x00"

func TestRefused(t *testing.T) {
	t.Parallel()
	public, private := newKey(1)
	keys := []ed25519.PublicKey{public}
	body, err := json.Marshal(full())
	if err != nil {
		t.Fatal(err)
	}
	good := string(body)
	if _, err := approval.Verify(envelope(good, private, domain), keys); err != nil {
		t.Fatalf("what the others are made of: %v", err)
	}
	if _, err := approval.Verify(envelope(good, private, ""), keys); !errors.Is(err, approval.ErrSignature) {
		t.Errorf("signed for another purpose: %v", err)
	}
	replace := func(old, with string) string {
		if !strings.Contains(good, old) {
			t.Fatalf("no %q in %s", old, good)
		}
		return strings.Replace(good, old, with, 1)
	}
	for name, bad := range map[string]string{
		"empty":              "",
		"null":               "null",
		"an unknown field":   replace(`{"id"`, `{"unconfined":true,"id"`),
		"in the widening":    replace(`{"read"`, `{"unconfined":true,"read"`),
		"a field twice":      replace(`{"id":"db-2026"`, `{"id":"x","id":"db-2026"`),
		"other letters":      replace(`"definition"`, `"Definition"`),
		"another order":      replace(`"id":"db-2026","name":"db \u003c\u0026\u003e ü"`, `"name":"db","id":"db-2026"`),
		"something behind":   good + "{}",
		"no id":              replace(`"db-2026"`, `""`),
		"an id with a space": replace(`"db-2026"`, `"db 2026"`),
		"an escape":          replace(`"db \u003c\u0026\u003e ü"`, `"\u001b[2J"`),
		"what turns a line":  replace(`"db \u003c\u0026\u003e ü"`, "\"a\u202eb\""),
		"another digest":     replace("sha256:", "md5:"),
		"upper case":         replace(definition("a"), definition("A")),
		"an agent twice":     replace(`"9b2e8a4c-0000"`, `"dev/alice"`),
		"no agents":          replace(`["9b2e8a4c-0000","dev/alice"]`, `[]`),
		"another zone":       replace(`"2026-11-22T19:00:00Z"`, `"2026-11-22T20:00:00+01:00"`),
		"parts of a second":  replace(`"2026-11-22T19:00:00Z"`, `"2026-11-22T19:00:00.5Z"`),
		"two years":          replace(`"2026-12-22T`, `"2028-12-22T`),
		"before it begins":   replace(`"2026-12-22T`, `"2026-11-21T`),
		"no end":             replace(`,"expires":"2026-12-22T19:00:00Z"`, ""),
		"port 0":             replace(`"ports":[]`, `"ports":[0]`),
		"port 65536":         replace(`"ports":[]`, `"ports":[65536]`),
		"a way out":          replace(`"docs"`, `"../docs"`),
		"a long way out":     replace(`"docs"`, `"docs/../../x"`),
		"no path":            replace(`"docs"`, `""`),
		"a variable's value": replace(`"PGHOST"`, `"PGHOST=x"`),
	} {
		t.Run(name, func(t *testing.T) {
			signed := envelope(bad, private, domain)
			if a, err := approval.Verify(signed, keys); err == nil {
				t.Errorf("verified: %+v", a)
			}
			if a, err := approval.Inspect(signed); err == nil {
				t.Errorf("inspected: %+v", a)
			}
		})
	}
}

func TestRefusedEnvelopes(t *testing.T) {
	t.Parallel()
	public, private := newKey(1)
	signed := string(sign(t, full(), private))
	for name, bad := range map[string]string{
		"empty": "", "text": "approved", "a list": "[" + signed + "]", "two": signed + signed, "text behind": signed + " x",
		"version 2":         strings.Replace(signed, `"v":1`, `"v":2`, 1),
		"no version":        strings.Replace(signed, `"v":1,`, ``, 1),
		"an unknown field":  strings.Replace(signed, `"v":1`, `"v":1,"w":1`, 1),
		"long":              signed + strings.Repeat(" ", approval.MaxSigned),
		"a short signature": strings.Replace(signed, `"signature":"`, `"signature":"`+base64.StdEncoding.EncodeToString([]byte("x"))+`","x":"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			if a, err := approval.Verify([]byte(bad), []ed25519.PublicKey{public}); err == nil {
				t.Errorf("verified: %+v", a)
			}
		})
	}
	long := full()
	for i := range 200 {
		long.Widening.Read = append(long.Widening.Read, strings.Repeat("x", 100+i))
	}
	if _, err := approval.Sign(long, private); err == nil {
		t.Error("a long approval was signed")
	}
	if _, err := approval.Sign(full(), nil); err == nil {
		t.Error("signed without a key")
	}
}

func TestWhenAndFor(t *testing.T) {
	t.Parallel()
	a := full()
	for offset, want := range map[time.Duration]error{
		-approval.Skew - time.Second: approval.ErrNotYet, -approval.Skew: nil, 0: nil,
		30*24*time.Hour - 1: nil, 30 * 24 * time.Hour: approval.ErrExpired,
	} {
		if err := a.At(issued.Add(offset)); !errors.Is(err, want) || (err == nil) != (want == nil) {
			t.Errorf("%s after: %v, want %v", offset, err, want)
		}
	}
	for _, tc := range []struct {
		agents, ids []string
		want        bool
	}{
		{nil, nil, true}, {nil, []string{"a"}, true}, {[]string{"a", "b"}, []string{"b"}, true},
		{[]string{"a"}, nil, false}, {[]string{"a"}, []string{""}, false}, {[]string{"a"}, []string{"A", "b"}, false},
	} {
		a.Agents = tc.agents
		if got := a.For(tc.ids...); got != tc.want {
			t.Errorf("for %v, an agent %v: %v", tc.agents, tc.ids, got)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	public, private, err := approval.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	file, err := approval.MarshalPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := approval.ParsePrivateKey(file); err != nil || !got.Equal(private) {
		t.Errorf("private key: %v", err)
	}
	if got, err := approval.ParsePublicKey(" " + approval.FormatPublicKey(public) + "\n"); err != nil || !got.Equal(public) {
		t.Errorf("public key: %v", err)
	}
	// As openssl pkey -pubout writes it.
	const openssl = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n-----END PUBLIC KEY-----\n"
	if got, err := approval.ParsePublicKey(openssl); err != nil || approval.FormatPublicKey(got) != "Gb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=" {
		t.Errorf("PEM: %v", err)
	}
	for _, bad := range []string{"", "x", string(file), approval.FormatPublicKey(public[:31]), approval.FormatPublicKey(append(public, 0))} {
		if _, err := approval.ParsePublicKey(bad); err == nil {
			t.Errorf("a public key: %q", bad)
		}
		if _, err := approval.ParsePrivateKey([]byte(openssl + bad[:min(20, len(bad))])); err == nil {
			t.Errorf("a private key: %q", bad)
		}
	}
}

// FuzzVerify: whatever is verified is what was signed, and is written in one way.
func FuzzVerify(f *testing.F) {
	public, private := newKey(1)
	keys := []ed25519.PublicKey{public}
	body, _ := json.Marshal(full())
	f.Add(sign(f, full(), private), body)
	f.Add([]byte(`{"v":1}`), []byte(`{"id":"x"}`))
	f.Fuzz(func(t *testing.T, signed, body []byte) {
		if claim, err := approval.Inspect(signed); err == nil {
			if err := claim.Check(); err != nil {
				t.Errorf("inspected, and not good: %v", err)
			}
		}
		if a, err := approval.Verify(signed, keys); err == nil && a.ID != full().ID {
			t.Errorf("forged: %+v", a)
		}
		a, err := approval.Verify(envelope(string(body), private, domain), keys)
		if err != nil {
			return
		}
		again := sign(t, a, private)
		b, err := approval.Verify(again, keys)
		if err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%+v became %+v, %v", a, b, err)
		}
	})
}
