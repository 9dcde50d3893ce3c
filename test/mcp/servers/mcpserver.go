package servers

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/png"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Main is a program that serves on standard input and output, and exits.
func Main() {
	name := flag.String("name", "mcpserver", "what it calls itself")
	hint := flag.String("hint", "", "more of the description of the tool echo")
	extra := flag.Bool("extra", false, "have the tool extra, too")
	page := flag.Int("page", 0, "list as many tools a page")
	broken := flag.Bool("broken", false, "end at once, with a word on standard error")
	_ = flag.String("token", "", "is given back by the tool secret, as all arguments are")
	flag.Parse()
	if *broken {
		_, _ = fmt.Fprintln(os.Stderr, "it is broken")
		os.Exit(1)
	}
	_, _ = fmt.Fprintln(os.Stderr, "mcpserver serves")
	if err := New(Options{Name: *name, Hint: *hint, Extra: *extra, Page: *page}).Run(context.Background(), &mcp.StdioTransport{}); err != nil && !errors.Is(err, context.Canceled) {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Options say what a server is like.
type Options struct {
	Name string
	// Hint is more of the description of the tool echo; Extra adds a tool.
	Hint  string
	Extra bool
	// Page is how many tools a page lists; 0 is what the SDK has.
	Page int
}

type echoed struct {
	Message string `json:"message" jsonschema:"what is to be said"`
}

type sum struct {
	A int `json:"a"`
	B int `json:"b"`
}

type total struct {
	Sum int `json:"sum"`
}

type steps struct {
	Count int `json:"count"`
}

type size struct {
	Bytes int `json:"bytes"`
}

// New makes a server.
func New(opts Options) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: opts.Name, Title: "A server for tests", Version: "1.2.3"}, &mcp.ServerOptions{
		Instructions: "Use echo for what is to be said.", PageSize: opts.Page,
	})
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: strings.TrimSpace("Say what it is told. " + opts.Hint)}, func(_ context.Context, _ *mcp.CallToolRequest, in echoed) (*mcp.CallToolResult, any, error) {
		return text(in.Message), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "add", Title: "Add two numbers"}, func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, total, error) {
		return nil, total{in.A + in.B}, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "fail", Description: "Fail, as tools do."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return nil, nil, errors.New("it has failed")
	})
	mcp.AddTool(s, &mcp.Tool{Name: "steps", Description: "Take some steps, and tell of each."}, takeSteps)
	mcp.AddTool(s, &mcp.Tool{Name: "picture", Description: "Answer with a picture."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
			return nil, nil, err
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "a picture"}, &mcp.ImageContent{Data: b.Bytes(), MIMEType: "image/png"}}}, nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "long", Description: "Answer with as many bytes."}, func(_ context.Context, _ *mcp.CallToolRequest, in size) (*mcp.CallToolResult, any, error) {
		return text("begin " + strings.Repeat("x", in.Bytes) + " end"), nil, nil
	})
	mcp.AddTool(s, &mcp.Tool{Name: "secret", Description: "Give back what it was given."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return text(os.Getenv("MCPSERVER_SECRET") + " " + strings.Join(os.Args[1:], " ")), nil, nil
	})
	if opts.Extra {
		mcp.AddTool(s, &mcp.Tool{Name: "extra", Description: "Be there."}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return text("extra"), nil, nil
		})
	}
	return s
}

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func takeSteps(ctx context.Context, r *mcp.CallToolRequest, in steps) (*mcp.CallToolResult, any, error) {
	for i := range in.Count {
		token := r.Params.GetProgressToken()
		if token == nil {
			continue
		}
		err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
			ProgressToken: token, Progress: float64(i + 1), Total: float64(in.Count), Message: fmt.Sprintf("step %d", i+1),
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return text("all steps are taken"), nil, nil
}
