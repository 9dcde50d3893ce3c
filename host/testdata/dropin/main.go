// Command dropin is a module that behaves well or badly, as its configuration
// says.
package main

import (
	"io/fs"
	"strconv"
	"strings"

	guest "waymark/sdk-guest"
)

func main() {}

func init() {
	guest.Serve(guest.Module{
		Name: "dropin", Version: "0.1.0",
		Resolvers: []guest.Resolver{{
			Name: "rows", Kinds: []guest.Kind{guest.InstructionFile, guest.Skill, guest.Command},
			Reads: []string{"docs/**", "link/**"}, Resolve: resolve,
		}, {
			Name: "tokens", Kinds: []guest.Kind{guest.MCPConfig},
			Reads: []string{"**"}, Resolve: tokens,
		}},
	})
}

// resolve answers what its configuration says: "row" lists rows, each with
// fields separated by "|" in the order of the function row; "flood" is a
// number of rows, "big" a number of KiB in the last of them.
func resolve(req *guest.Request, root fs.FS) (*guest.Response, error) {
	rows, err := req.Config.Strings("row")
	if err != nil {
		return nil, err
	}
	resp := &guest.Response{}
	for _, text := range rows {
		resp.Resources = append(resp.Resources, row(text))
	}
	flood, err := req.Config.Int("flood", 0)
	if err != nil {
		return nil, err
	}
	big, err := req.Config.Int("big", 0)
	if err != nil {
		return nil, err
	}
	for i := range flood {
		resp.Resources = append(resp.Resources, guest.Resource{
			Kind: guest.Command, Path: ".", Key: strconv.Itoa(int(i)), Content: guest.Inline(strings.Repeat("x", int(big)<<10)),
		})
	}
	boom, err := req.Config.String("panic", "")
	if err != nil {
		return nil, err
	}
	if boom != "" {
		panic(boom)
	}
	return resp, nil
}

// row makes a resource of "kind|path|file|inline|name|status|key".
func row(text string) guest.Resource {
	f := strings.SplitN(text, "|", 7)
	for len(f) < 7 {
		f = append(f, "")
	}
	r := guest.Resource{Kind: guest.Kind(f[0]), Path: f[1], Name: f[4], Status: f[5], Key: f[6]}
	switch {
	case f[2] != "":
		r.Content = guest.File(f[2])
	case f[3] != "":
		r.Content = guest.Inline(f[3])
	}
	if n, ok := strings.CutPrefix(r.Name, "long:"); ok {
		size, _ := strconv.Atoi(n)
		r.Name = strings.Repeat("n", size)
	}
	switch r.Name {
	case "description":
		r.Name, r.Description = "", strings.Repeat("d", 4097)
	case "error":
		r.Name, r.Error = "", strings.Repeat("e", 4097)
	case "attributes":
		r.Name, r.Attributes = "", map[string]guest.Value{"a": {Text: strings.Repeat("a", 16<<10)}}
	case "globs":
		r.Attributes = map[string]guest.Value{"globs": {List: []string{"**/*.ts", "a\x00b"}}, "mode": {Text: "auto"}}
	}
	return r
}

// tokens is a resolver that tries to tell a token in every way there is.
func tokens(_ *guest.Request, root fs.FS) (*guest.Response, error) {
	data, err := fs.ReadFile(root, ".mcp.json")
	if err != nil {
		return nil, nil
	}
	token := strings.TrimSpace(string(data))
	guest.Log(guest.LevelError, token)
	_, _ = fs.Stat(root, token)
	_, _ = fs.Stat(root, ".env-"+token)
	inline := `{"mcpServers": {"` + token + `": 1}}`
	leak := func(r guest.Resource) guest.Resource {
		r.Name, r.Description, r.Key, r.Error = token, token, token, token
		r.Attributes = map[string]guest.Value{token: {Text: token}}
		return r
	}
	return &guest.Response{Warnings: []string{token}, Resources: []guest.Resource{
		leak(guest.Resource{Kind: guest.MCPConfig, Path: ".mcp.json", Content: guest.File(".mcp.json")}),
		leak(guest.Resource{Kind: guest.MCPConfig, Path: "a", Status: "invalid"}),
		leak(guest.Resource{Kind: guest.MCPConfig, Path: "b", Status: "invalid", Content: guest.Inline(inline)}),
		leak(guest.Resource{Kind: guest.MCPConfig, Path: "dir", Status: "invalid", Content: guest.File("dir")}),
		leak(guest.Resource{Kind: guest.MCPConfig, Path: token}),
		leak(guest.Resource{Kind: guest.MCPConfig, Path: "a", Content: guest.File(token)}),
		leak(guest.Resource{Kind: guest.Kind(token), Path: "a"}),
		leak(guest.Resource{Kind: guest.MCPConfig, Path: "a", Status: token}),
		leak(guest.Resource{Kind: guest.InstructionFile, Path: "a", Content: guest.Inline(token)}),
	}}, nil
}
