package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// file is one generated file; its name is slash-separated and relative to the
// module's root.
type file struct {
	name    string
	content []byte
}

// plugin is a code generator that go.mod pins, with its parameter.
type plugin struct {
	tool      string
	parameter string
}

func protoNames() []string {
	return []string{"wire/coder/agent.proto", "wire/waymark/context.proto", "wire/waymark/reverse.proto"}
}

func plugins() []plugin {
	return []plugin{
		{"protoc-gen-go", "paths=source_relative"},
		// json=false: nothing here speaks DRPC's JSON form, and the agent
		// need not link protojson for it.
		{"protoc-gen-go-drpc", "paths=source_relative,protolib=google.golang.org/protobuf,json=false"},
	}
}

// protoFiles compiles the protos below root and returns what the plugins make
// of them, in a fixed order.
func protoFiles(ctx context.Context, root string) ([]file, error) {
	request, err := compile(ctx, root)
	if err != nil {
		return nil, err
	}
	var files []file
	for _, p := range plugins() {
		out, err := runPlugin(ctx, root, p, request)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.tool, err)
		}
		files = append(files, out...)
	}
	return files, nil
}

// compile makes the request that protoc would send to a plugin, still without
// a parameter.
func compile(ctx context.Context, root string) (*pluginpb.CodeGeneratorRequest, error) {
	compiler := protocompile.Compiler{
		Resolver: protocompile.WithStandardImports(&protocompile.SourceResolver{
			ImportPaths: []string{root},
		}),
		SourceInfoMode: protocompile.SourceInfoStandard, // for the comments
	}
	compiled, err := compiler.Compile(ctx, protoNames()...)
	if err != nil {
		return nil, err
	}
	request := &pluginpb.CodeGeneratorRequest{FileToGenerate: protoNames()}
	seen := map[string]bool{}
	for _, f := range compiled {
		request.ProtoFile = appendFile(request.ProtoFile, seen, f)
	}
	return request, nil
}

// appendFile appends f after everything it imports, as plugins expect.
func appendFile(list []*descriptorpb.FileDescriptorProto, seen map[string]bool, f protoreflect.FileDescriptor) []*descriptorpb.FileDescriptorProto {
	if seen[f.Path()] {
		return list
	}
	seen[f.Path()] = true
	for i := range f.Imports().Len() {
		list = appendFile(list, seen, f.Imports().Get(i).FileDescriptor)
	}
	return append(list, protoutil.ProtoFromFileDescriptor(f))
}

// runPlugin runs one plugin in root, where go.mod pins it.
func runPlugin(ctx context.Context, root string, p plugin, request *pluginpb.CodeGeneratorRequest) ([]file, error) {
	request = proto.CloneOf(request)
	request.Parameter = &p.parameter
	in, err := proto.Marshal(request)
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "tool", p.tool)
	cmd.Dir, cmd.Stdin, cmd.Stderr = root, bytes.NewReader(in), &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return nil, err
	}
	if response.Error != nil {
		return nil, errors.New(response.GetError())
	}
	var files []file
	for _, f := range response.File {
		files = append(files, file{name: path.Clean(f.GetName()), content: []byte(f.GetContent())})
	}
	return files, nil
}

// protos generates the Go code of the protos, and writes what changed.
func protos(ctx context.Context) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	files, err := protoFiles(ctx, root)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := write(filepath.Join(root, f.name), f.content); err != nil {
			return err
		}
	}
	return nil
}

// moduleRoot returns the directory of the nearest go.mod, going up from the
// working directory: go generate and go test both start below it.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod above the working directory; run it inside the repository")
		}
		dir = parent
	}
}
