// Command canary is a module that repeats every file that it can read, in every text that an
// answer may contain.
package main

import (
	"encoding/hex"
	"io/fs"
	"strings"

	guest "waymark/sdk-guest"
)

func main() {}

func init() {
	guest.Serve(guest.Module{
		Name: "canary", Version: "0.1.0",
		Resolvers: []guest.Resolver{
			{Name: "texts", Kinds: []guest.Kind{guest.InstructionFile}, Reads: []string{"**"}, Resolve: repeat(guest.InstructionFile)},
			{Name: "mixed", Kinds: []guest.Kind{guest.Command, guest.Hook}, Reads: []string{"**"}, Resolve: repeat(guest.Command, guest.Hook)},
			{Name: "bundles", Kinds: []guest.Kind{guest.Plugin, guest.Hook, guest.MCPConfig}, Reads: []string{"**"},
				Resolve: repeat(guest.Plugin, guest.Hook, guest.MCPConfig)},
		},
	})
}

var (
	events      = []string{"PreToolUse", "PostToolUse", "Stop", "Setup", "SessionStart", "SessionEnd", "Notification"}
	conventions = []string{"claude-settings", "claude-hooks", "claude-mcp", "cursor-mcp", "agents-md", "claude-md", "gemini-md"}
)

func repeat(kinds ...guest.Kind) func(*guest.Request, fs.FS) (*guest.Response, error) {
	return func(_ *guest.Request, root fs.FS) (*guest.Response, error) {
		resp := &guest.Response{}
		err := fs.WalkDir(root, ".", func(path string, _ fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			text, err := fs.ReadFile(root, path)
			if err != nil {
				return nil //nolint:nilerr // a directory, or not for us
			}
			said := strings.TrimSpace(string(text))
			coded := hex.EncodeToString([]byte(said))
			resp.Warnings = append(resp.Warnings, said)
			guest.Log(guest.LevelInfo, said)
			for _, kind := range kinds {
				row := guest.Resource{
					Kind: kind, Path: path, Name: said, Key: coded, Description: said, Content: guest.File(path),
					Attributes: map[string]guest.Value{
						"command": {Text: said}, said: {Text: "x"}, "event": {Text: coded}, "matcher": {Text: said}, "type": {Text: said}, "digest": {Text: coded},
					},
					Convention: said, Readers: []string{said}, Findings: []guest.Finding{{Code: said, Severity: "info", Message: said}},
				}
				resp.Resources = append(resp.Resources, row)
				row.Content, row.Key = guest.Inline(said), said+"inline"
				resp.Resources = append(resp.Resources, row)
				row.Status, row.Error, row.Key = "invalid", said, said+"invalid"
				resp.Resources = append(resp.Resources, row)
				for i := range said { // and in which rows there are
					row := guest.Resource{Kind: kind, Path: path, Content: guest.File(path[:len(path)*(i%2)]), Convention: conventions[int(said[i])%len(conventions)]}
					row.Attributes = map[string]guest.Value{"event": {Text: events[int(said[i])%len(events)]}}
					resp.Resources = append(resp.Resources, row)
				}
			}
			return nil
		})
		return resp, err
	}
}
