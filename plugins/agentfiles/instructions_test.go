package agentfiles_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"waymark/abi"
	guest "waymark/sdk-guest"
)

// fileRows shows resources as "path [status] description".
func fileRows(resp *guest.Response) string {
	var lines []string
	for _, r := range resp.Resources {
		line := r.Path
		if r.Status != "" {
			line += " [" + r.Status + ": " + r.Error + "]"
		}
		if r.Description != "" {
			line += " " + r.Description
		}
		if r.Kind != guest.InstructionFile || r.Content == nil || r.Content.File != r.Path {
			line += " WRONG KIND OR CONTENT"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

var instructionTree = fstest.MapFS{
	"AGENTS.md":     text("\n\n## Rules of the house ##\nMore"),
	"CLAUDE.md":     text("Plain"),
	".cursorrules":  text(""),
	"agents.md":     text("wrong case"),
	"sub/AGENTS.md": text("nested"),
	"CUSTOM.md":     text("# Custom"),
	"dir.md/x":      text("a directory named like a file"),
}

func TestInstructionsDirectoryRoots(t *testing.T) {
	all := ".cursorrules\nAGENTS.md Rules of the house ##\nCLAUDE.md Plain"
	tests := []struct {
		name, config string
		role         abi.Role
		want         string
		warnings     int
	}{
		{"default names", `{}`, "", all, 0},
		{"role", `{}`, abi.RoleInstructions, all, 0},
		{"another's role", `{}`, abi.RoleSkills, "", 0},
		{"own names, in their order", `{"file_names":["CUSTOM.md","AGENTS.md","CUSTOM.md"]}`, "", "CUSTOM.md Custom\nAGENTS.md Rules of the house ##", 0},
		{"one name", `{"file_names":"CUSTOM.md"}`, "", "CUSTOM.md Custom", 0},
		{"more names", `{"more_file_names":["CUSTOM.md","CLAUDE.md"]}`, "", "CUSTOM.md Custom\nCLAUDE.md Plain\n.cursorrules\nAGENTS.md Rules of the house ##", 0},
		{"more names, with the role", `{"more_file_names":"CUSTOM.md"}`, abi.RoleInstructions, "CUSTOM.md Custom\n" + all, 0},
		{"both", `{"file_names":["AGENTS.md"],"more_file_names":["CUSTOM.md"]}`, "", "AGENTS.md Rules of the house ##\nCUSTOM.md Custom", 0},
		{"no names", `{"file_names":[]}`, "", "", 0},
		{"not at the top level", `{"file_names":["sub/AGENTS.md","..","/AGENTS.md","","CLAUDE.md"]}`, "", "CLAUDE.md Plain", 4},
		{"a directory", `{"file_names":["dir.md","sub"]}`, "", "", 0},
		{"missing", `{"file_names":["NOPE.md"]}`, "", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := resolve(t, guest.Root{Name: "w", Role: tt.role}, tt.config, instructionTree)
			if got := fileRows(resp); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if len(resp.Warnings) != tt.warnings {
				t.Errorf("warnings: %q, want %d", resp.Warnings, tt.warnings)
			}
		})
	}
}

func TestInstructionsBadConfig(t *testing.T) {
	_, err := resolver.Resolve(&guest.Request{Config: config(t, `{"file_names":7}`)}, instructionTree)
	if err == nil || !strings.Contains(err.Error(), `"file_names" is a number`) {
		t.Errorf("got %v", err)
	}
}

func TestInstructionsFileRoots(t *testing.T) {
	tests := []struct {
		file string
		role abi.Role
		want string
	}{
		{"CLAUDE.md", "", "CLAUDE.md Plain"},
		{"CUSTOM.md", "", ""},
		{"CUSTOM.md", abi.RoleInstructions, "CUSTOM.md Custom"},
		{"CLAUDE.md", abi.RoleMCP, ""},
		{"MISSING.md", abi.RoleInstructions, ""},
	}
	for _, tt := range tests {
		resp := resolve(t, guest.Root{Name: "w", File: tt.file, Role: tt.role}, `{}`, instructionTree)
		if got := fileRows(resp); got != tt.want {
			t.Errorf("%s, role %q: got %q, want %q", tt.file, tt.role, got, tt.want)
		}
	}
}

func TestInstructionLinks(t *testing.T) {
	dir := t.TempDir()
	for name, target := range map[string]string{
		"to-file": "AGENTS.md", "to-dir": "sub", "broken": "nowhere", "loop": "loop",
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "AGENTS.md"), []byte("# Title\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	resp := resolve(t, guest.Root{}, `{"file_names":["AGENTS.md","to-file","to-dir","broken","loop","sub"]}`, os.DirFS(dir))
	want := "AGENTS.md Title\nto-file Title\nto-dir [invalid: a link to a directory, where a file belongs]\nbroken\nloop"
	if got := fileRows(resp); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestInstructionsDescription(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"byte order mark", "\ufeff# Title", "Title"},
		{"CRLF", "\r\n\r\nTitle\r\nMore", "Title"},
		{"no blank after the marks", "#Title", "Title"},
		{"only marks", "###\n\nText", "Text"},
		{"only blanks", " \n\t\n", ""},
		{"front matter is text", "---\na: b\n---\n", "---"},
		{"long", strings.Repeat("ä", 300), strings.Repeat("ä", 200) + "…"},
		{"exactly as long as allowed", strings.Repeat("ä", 200), strings.Repeat("ä", 200)},
		{"control characters", "a\x00b\x1bc", "a b c"},
		{"bad UTF-8", "a\xffb", "a b"},
		{"cut by the head", strings.Repeat("\n", 4095) + "ä", ""},
		{"beyond the head", strings.Repeat("\n", 5000) + "Title", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := resolve(t, guest.Root{}, `{}`, fstest.MapFS{"AGENTS.md": text(tt.text)})
			if len(resp.Resources) != 1 || resp.Resources[0].Description != tt.want {
				t.Errorf("got %+v, want %q", resp.Resources, tt.want)
			}
		})
	}
}

func FuzzFirstLine(f *testing.F) {
	f.Add([]byte("# Title\n"))
	f.Add([]byte("\xef\xbb\xbf\n\n \t#\xff\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		resp := resolve(t, guest.Root{}, `{}`, fstest.MapFS{"AGENTS.md": &fstest.MapFile{Data: data}})
		if len(resp.Resources) != 1 {
			t.Fatal("a file was not reported")
		}
		d := resp.Resources[0].Description
		if strings.ToValidUTF8(d, "") != d || strings.ContainsAny(d, "\n\r\x00") || strings.TrimSpace(d) != d || len(d) > 4*200+3 {
			t.Errorf("description %q", d)
		}
	})
}
