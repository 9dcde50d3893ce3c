package guest_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing/fstest"

	guest "waymark/sdk-guest"
)

// A resolver is a function over a file system: test it like any other.
func Example() {
	resolve := func(req *guest.Request, root fs.FS) (*guest.Response, error) {
		name, err := req.Config.String("file_name", "ACME.md")
		if err != nil {
			return nil, err
		}
		head, err := guest.ReadHead(root, name, 80)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return &guest.Response{Resources: []guest.Resource{{
			Kind: guest.InstructionFile, Path: name, Content: guest.File(name), Description: string(head),
		}}}, nil
	}
	module := guest.Module{Name: "acme-rules", Version: "1.0.0", Resolvers: []guest.Resolver{{
		Name: "acme-rules", Kinds: []guest.Kind{guest.InstructionFile}, Reads: []string{"ACME.md"},
		ReadsFromConfig: []string{"file_name"}, Resolve: resolve,
	}}}
	out, err := module.HandleResolve(
		[]byte(`{"abi":1,"resolver":"acme-rules","root":{"name":"w"}}`),
		fstest.MapFS{"ACME.md": {Data: []byte("Be kind.")}})
	fmt.Println(string(out), err)
	// Output:
	// {"resources":[{"kind":"instruction_file","path":"ACME.md","content":{"file":"ACME.md"},"description":"Be kind."}]} <nil>
}
