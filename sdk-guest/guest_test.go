package guest_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	jsonv2 "github.com/go-json-experiment/json"

	"waymark/abi"
	guest "waymark/sdk-guest"
)

// vectors are the ABI's, which the host is held to as well.
func vectors(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "abi", "testdata", "v1", dir, "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no vectors in %s (%v)", dir, err)
	}
	files := make(map[string][]byte)
	for _, name := range names {
		if files[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	delete(files, "index.json")
	return files
}

func equalJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := errors.Join(json.Unmarshal(a, &x), json.Unmarshal(b, &y)); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

// module is one with a single resolver under the name that the vectors use.
func module(resolve func(*guest.Request, fs.FS) (*guest.Response, error)) guest.Module {
	return guest.Module{Name: "test", Version: "1", Resolvers: []guest.Resolver{{
		Name: "cursor-rules", Kinds: []guest.Kind{guest.InstructionFile}, Resolve: resolve,
	}}}
}

const request = `{"abi":1,"resolver":"cursor-rules","root":{"name":"w","file":"","role":""},"config":{},"limits":{"max_resource_bytes":65536,"max_resources":500}}`

func TestRequestVectors(t *testing.T) {
	for name, text := range vectors(t, "request") {
		t.Run(name, func(t *testing.T) {
			var want abi.Request
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			var got *guest.Request
			out, err := module(func(req *guest.Request, _ fs.FS) (*guest.Response, error) {
				got = req
				return nil, nil
			}).HandleResolve(text, fstest.MapFS{})
			if err != nil || string(out) != `{"resources":[]}` {
				t.Fatalf("%s, %v", out, err)
			}
			if got.Resolver != want.Resolver || got.Root != want.Root || got.Limits != want.Limits {
				t.Errorf("got %+v, want %+v", got, want)
			}
			var config map[string]json.RawMessage
			if err := json.Unmarshal(want.Config, &config); err != nil {
				t.Fatal(err)
			}
			for key, raw := range config {
				if v, ok := got.Config.Value(key); !ok || !equalJSON(t, v.Raw(), raw) {
					t.Errorf("config key %s is %s, want %s", key, v.Raw(), raw)
				}
			}
		})
	}
	for name, text := range vectors(t, "request/invalid") {
		_, err := module(func(*guest.Request, fs.FS) (*guest.Response, error) {
			t.Errorf("%s: the resolver was called", name)
			return nil, nil
		}).HandleResolve(text, fstest.MapFS{})
		if !errors.Is(err, guest.ErrRequest) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestResponseVectors(t *testing.T) {
	for name, text := range vectors(t, "response") {
		t.Run(name, func(t *testing.T) {
			var resp abi.Response
			if err := json.Unmarshal(text, &resp); err != nil {
				t.Fatal(err)
			}
			want, err := json.Marshal(resp) // without unknown fields
			if err != nil {
				t.Fatal(err)
			}
			m := module(func(*guest.Request, fs.FS) (*guest.Response, error) {
				return &guest.Response{Resources: resp.Resources, Warnings: resp.Warnings}, nil
			})
			got, err := m.HandleResolve([]byte(request), fstest.MapFS{})
			if err != nil || !equalJSON(t, got, want) {
				t.Fatalf("got %s, %v\nwant %s", got, err, want)
			}
			again, _ := m.HandleResolve([]byte(request), fstest.MapFS{})
			if string(again) != string(got) {
				t.Error("equal responses are different bytes")
			}
		})
	}
}

func TestDescriptionVectors(t *testing.T) {
	for name, text := range vectors(t, "description") {
		var d abi.Description
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatal(err)
		}
		m := guest.Module{Name: d.Name, Version: d.Version}
		for _, r := range d.Resolvers {
			m.Resolvers = append(m.Resolvers, guest.Resolver{
				Name: r.Name, Kinds: r.Kinds, Summary: r.Summary, Reads: r.Reads, ReadsFromConfig: r.ReadsFromConfig, Ignores: r.Ignores,
				Resolve: func(*guest.Request, fs.FS) (*guest.Response, error) { return nil, nil },
			})
		}
		want, _ := json.Marshal(d)
		got, err := m.HandleDescribe()
		if err != nil || !equalJSON(t, got, want) {
			t.Errorf("%s: got %s, %v\nwant %s", name, got, err, want)
		}
	}
}

func TestValidate(t *testing.T) {
	none := func(*guest.Request, fs.FS) (*guest.Response, error) { return nil, nil }
	kinds := []guest.Kind{guest.Skill}
	ok := guest.Resolver{Name: "r", Kinds: kinds, Resolve: none}
	mod := func(rs ...guest.Resolver) guest.Module { return guest.Module{Name: "m", Version: "1", Resolvers: rs} }
	if err := mod(ok).Validate(); err != nil {
		t.Error(err)
	}
	tests := []struct {
		module guest.Module
		want   string
	}{
		{guest.Module{Version: "1", Resolvers: []guest.Resolver{ok}}, `module name "" is not`},
		{guest.Module{Name: "A", Version: "1", Resolvers: []guest.Resolver{ok}}, `module name "A" is not`},
		{guest.Module{Name: "a--b", Version: "1", Resolvers: []guest.Resolver{ok}}, `module name "a--b" is not`},
		{guest.Module{Name: "m", Resolvers: []guest.Resolver{ok}}, "has no version"},
		{mod(), "has no resolvers"},
		{mod(ok, ok), "two resolvers are named r"},
		{mod(guest.Resolver{Name: "-", Kinds: kinds, Resolve: none}), `resolver name "-" is not`},
		{mod(guest.Resolver{Name: "r", Resolve: none}), "declares no kinds"},
		{mod(guest.Resolver{Name: "r", Kinds: []guest.Kind{abi.KindMCPServer}, Resolve: none}), "declares mcp_server"},
		{mod(guest.Resolver{Name: "r", Kinds: kinds}), "has no Resolve function"},
	}
	for _, tt := range tests {
		_, err := tt.module.HandleDescribe()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("Serve took a module that isn't valid")
		}
	}()
	guest.Serve(mod())
}

func TestResolveErrors(t *testing.T) {
	boom := errors.New("boom")
	m := module(func(*guest.Request, fs.FS) (*guest.Response, error) { return nil, boom })
	if _, err := m.HandleResolve([]byte(request), nil); !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
	_, err := m.HandleResolve([]byte(strings.Replace(request, "cursor-rules", "other", 1)), nil)
	if want := `module test has no resolver "other"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = m.HandleResolve([]byte(strings.Replace(request, `"abi":1`, `"abi":7`, 1)), nil)
	if want := "bad request: it is of ABI version 7, this module speaks version 1"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = m.HandleResolve([]byte(`{"abi":1,"root":{"name":3}}`), nil)
	if want := "bad request: root.name is a number, not a string"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// FuzzRequest says that no input makes the decoder panic or accept what
// encoding/json refuses.
func FuzzRequest(f *testing.F) {
	f.Add([]byte(request))
	f.Add([]byte(`{"abi":1,"config":{"a":[1]},"limits":{"max_resources":1e3}}`))
	m := module(func(*guest.Request, fs.FS) (*guest.Response, error) { return nil, nil })
	f.Fuzz(func(t *testing.T, input []byte) {
		if _, err := m.HandleResolve(input, nil); errors.Is(err, guest.ErrRequest) {
			return
		}
		// Version 2 of the JSON package knows keys in their own case only, as
		// the SDK does; version 1 would read "ABI" as well.
		var req abi.Request
		if err := jsonv2.Unmarshal(input, &req); err != nil {
			t.Fatalf("%s was accepted; the oracle says: %v", input, err)
		}
	})
}
