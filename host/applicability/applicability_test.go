package applicability_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"waymark/abi"
	"waymark/host/applicability"
	"waymark/snapshot"
)

func find(path, base string, attributes snapshot.Attributes) applicability.Find {
	return applicability.Find{Path: path, Base: base, Resource: &snapshot.Resource{
		Kind: abi.KindInstructionFile, Source: path, Status: snapshot.StatusOK, SizeBytes: 5, Attributes: attributes,
	}}
}

func text(s string) snapshot.Attribute    { return snapshot.Attribute(abi.String(s)) }
func list(l ...string) snapshot.Attribute { return snapshot.Attribute(abi.Strings(l...)) }
func globs(l ...string) snapshot.Attributes {
	return snapshot.Attributes{"mode": text("glob"), "globs": list(l...)}
}
func in(dir, mode string) snapshot.Attributes {
	return snapshot.Attributes{"mode": text(mode), "directory": text(dir), "globs": list(dir + "/**")}
}

// TestOf: what a find says of itself decides, and what is wrong with it.
func TestOf(t *testing.T) {
	status := func(s snapshot.Status, why string) applicability.Find {
		f := find("/w/x", "/w", nil)
		f.Resource.Status, f.Resource.Error = s, why
		return f
	}
	server := find("/w/x", "/w", nil)
	server.Resource.Kind = abi.KindMCPConfig
	users := func(attributes snapshot.Attributes) applicability.Find {
		f := find("/.claude/x", "/", attributes) // of a home in which the workspace lies
		f.Resource.Scope = snapshot.ScopeUser
		return f
	}
	tests := []struct {
		name, path string
		find       applicability.Find
		want       string // "" for no item
	}{
		{"of the user", "/w/a/f.go", users(nil), "+ always, for all files: it is of /"},
		{"globs of the user", "/w/a/f.go", users(globs("a/*.go")), "+ a/*.go matches"},
		{"globs of the user aren't for the home", "/w/a/f.go", users(globs("w/a/*.go")), "- its glob doesn't match: w/a/*.go"},
		{"always", "/w/a/f.go", find("/w/x", "/w", nil), "+ always, for all files of the workspace"},
		{"another root", "/w/a/f.go", find("/h/x", "/h", nil), "+ always, for all files: it is of /h"},
		{"globs of another root", "/w/a/f.go", find("/h/x", "/h", globs("a/*.go")), "+ a/*.go matches"},
		{"the second glob", "/w/a/f.go", find("/w/x", "/w", globs("b/**", "./a/")), "+ ./a/ matches"},
		{"a glob in one text", "/w/a/f.go", find("/w/x", "/w", snapshot.Attributes{"mode": text("glob"), "globs": text("**/*.{ts,go}")}), "+ **/*.{ts,go} matches"},
		{"below the directory alone", "/w/a/f.go", find("/w/a/x", "/w/a", globs("*.go")), "+ *.go matches, below a"},
		{"a name alone isn't looked for further down", "/w/a/f.go", find("/w/x", "/w", globs("*.go")), "- its glob doesn't match: *.go"},
		{"no globs", "/w/f", find("/w/x", "/w", snapshot.Attributes{"mode": text("glob")}), "- it has no globs"},
		{"wrong globs", "/w/f", find("/w/x", "/w", globs("[", "", "../f", "f{")), "- no glob matches: [, , ../f, f{"},
		{"too many globs", "/w/f", find("/w/x", "/w", globs(strings.Repeat("{a,b}", 30), "g")), ""},
		{"unknown mode", "/w/f", find("/w/x", "/w", snapshot.Attributes{"mode": text("some\u202etimes")}), `- its mode "some\u202etimes" is not known`},
		{"model", "/w/f", find("/w/x", "/w", snapshot.Attributes{"mode": text("model")}), "- the model decides, by its description"},
		{"its directory", "/w/child/f", find("/w/child/x", "/w", in("child", "glob")), "+ child/** matches"},
		{"always in its directory", "/w/child/f", find("/w/child/x", "/w", in("child", "always")), "+ always, for files below child"},
		{"another directory", "/w/f", find("/w/child/x", "/w", in("child", "glob")), "- it is for files below child"},
		{"a directory that is none", "/w/f", find("/w/x", "/w", in("../w2", "always")), "+ always, for all files of the workspace"},
		{"no room", "/w/f", status(snapshot.StatusExcluded, "too much"), "+ always, for all files of the workspace"},
		{"invalid", "/w/f", status(snapshot.StatusInvalid, "no\nname"), "- invalid: no name"},
		{"unreadable", "/w/f", status(snapshot.StatusUnreadable, ""), "- unreadable"},
		{"nothing for a file", "/w/f", server, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := applicability.Of(t.Context(), applicability.Input{Path: tt.path, Root: "/w", Finds: []applicability.Find{tt.find}})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, i := range a.Items {
				got += map[bool]string{true: "+ ", false: "- "}[i.Applies] + i.Reason
				if i.Bytes != 5 || i.Tokens != 2 {
					t.Errorf("%d bytes are %d tokens", i.Bytes, i.Tokens)
				}
			}
			if tt.name == "too many globs" {
				tt.want = "- no glob matches: " + strings.Repeat("{a,b}", 29)
				got = got[:min(len(got), len(tt.want))]
			}
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

// TestOfEnds: a question ends with its context.
func TestOfEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := applicability.Of(ctx, applicability.Input{Path: "/w/f", Root: "/w", Finds: []applicability.Find{find("/w/x", "/w", nil)}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestMatchIgnored: globs as in .gitignore.
func TestMatchIgnored(t *testing.T) {
	for _, tt := range []struct {
		glob, file string
		want       bool
	}{
		{"*.txt", "a/b/x.TXT", true},
		{"X.txt", "a/x.txt", true},
		{"src", "a/src/b.go", true},
		{"src/", "src/b.go", true},
		{"/src", "a/src/b.go", false},
		{"a/src", "a/src/b.go", true},
		{"a/src", "b/a/src/c.go", false},
		{"src/**", "src/a/b.go", true},
		{"**/*.go", "b.go", true},
		{"*.go", "b.goo", false},
	} {
		if glob, ok := applicability.MatchIgnored(list(tt.glob), "/w", "/w/"+tt.file); ok != tt.want || ok && glob != tt.glob {
			t.Errorf("%s matches %s: %v, by %q", tt.glob, tt.file, ok, glob)
		}
	}
	if _, ok := applicability.MatchIgnored(list("*"), "/w/a", "/w/b"); ok {
		t.Error("a file elsewhere is matched")
	}
}
