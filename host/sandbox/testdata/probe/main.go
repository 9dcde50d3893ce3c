// Command probe is a resolver module that does what a test asks of it. Its
// config says what: see the types below. It tries every way to the host that
// a guest has, without the SDK's own file system in between.
package main

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"waymark/sdk-guest"
)

// ask is the config of both resolvers.
type ask struct {
	// Op is a file operation (read, list, stat, lstat, readlink, each with
	// Path) or one of the misdeeds in misdeed.
	Op string
	// Path is in hexadecimal, since paths need not be UTF-8.
	Path   string
	Off, N int64
}

func readAsk(c guest.Config) (a ask, err error) {
	var errs [4]error
	a.Op, errs[0] = c.String("op", "")
	a.Path, errs[1] = c.String("path", "")
	a.Off, errs[2] = c.Int("off", 0)
	a.N, errs[3] = c.Int("n", 0)
	return a, errors.Join(errs[:]...)
}

// answer is the only warning of the response.
type answer struct {
	Errno string   `json:"errno"`
	Data  string   `json:"data"` // hexadecimal
	List  []string `json:"list"` // hexadecimal name, blank, type
	Type  string   `json:"type"`
	Size  int64    `json:"size"`
}

func main() {}

func init() {
	resolver := func(name string, do func(ask) answer) guest.Resolver {
		return guest.Resolver{
			Name: name, Kinds: []guest.Kind{guest.InstructionFile}, Reads: []string{"**"},
			Resolve: func(req *guest.Request, _ fs.FS) (*guest.Response, error) {
				a, err := readAsk(req.Config)
				if err != nil {
					return nil, err
				}
				if resp, err, done := misdeed(a.Op); done {
					return resp, err
				}
				text, err := json.Marshal(do(a))
				return &guest.Response{Warnings: []string{string(text)}}, err
			},
		}
	}
	guest.Serve(guest.Module{
		Name: "probe", Version: "1.0.0",
		Resolvers: []guest.Resolver{
			resolver("wasi", viaWASI), resolver("fs", viaFS),
			{Name: "units", Kinds: []guest.Kind{guest.InstructionFile}, Reads: []string{"**"}, Resolve: units},
			{
				Name: "tokens", Kinds: []guest.Kind{guest.MCPConfig}, Reads: []string{".mcp.json"},
				Resolve: func(_ *guest.Request, root fs.FS) (*guest.Response, error) {
					text, err := fs.ReadFile(root, ".mcp.json")
					if err != nil {
						return nil, err
					}
					guest.Log(guest.LevelError, string(text))
					if strings.Contains(string(text), "panic") {
						panic(string(text))
					}
					return nil, errors.New(string(text))
				},
			},
		},
	})
}

// calls survives from one run to the next if anything does.
var calls int

// misdeed does what op names and a good resolver never does. The last result is false if op
// names nothing of the kind.
func misdeed(op string) (*guest.Response, error, bool) {
	say := func(lines ...string) (*guest.Response, error, bool) {
		return &guest.Response{Warnings: lines}, nil, true
	}
	switch op {
	case "loop":
		for {
			calls++
		}
	case "panic":
		panic("probe: this is the panic text")
	case "print":
		_, _ = os.Stdout.WriteString("on stdout\n")
		_, _ = os.Stderr.WriteString("on stderr\n")
		_, _ = os.Stdout.WriteString("and on stdout again\n")
		return say()
	case "flood":
		for i := range 40_000 {
			_, _ = os.Stdout.WriteString(strconv.Itoa(i) + " of a flood\n")
		}
		panic("after the flood")
	case "library":
		return say(strings.Repeat("x", -len(op)))
	case "error":
		return nil, errors.New("probe: this is the error text"), true
	case "exit":
		os.Exit(0)
	case "sleep":
		time.Sleep(time.Hour)
		return say("woke up")
	case "memory":
		var blocks [][]byte
		for {
			blocks = append(blocks, make([]byte, 1<<20))
			runtime.KeepAlive(blocks)
		}
	case "output":
		return say(strings.Repeat("x", 2<<20))
	case "logs":
		for range 5_000 {
			guest.Log(guest.LevelInfo, "a line of a flood")
		}
		return say()
	case "calls":
		calls++
		return say(string(rune('0' + calls)))
	case "world":
		return say(world()...)
	case "write":
		return say(writes()...)
	}
	return nil, nil, false
}

// world reports what a guest can learn besides its root.
func world() []string {
	dir, _ := os.Getwd()
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	stdin := make([]byte, 1)
	n, _ := os.Stdin.Read(stdin)
	return []string{
		"args " + strings.Join(os.Args, ","), "env " + strings.Join(os.Environ(), ","), "cwd " + dir, "host " + host,
		"stdin " + hex.EncodeToString(stdin[:n]), "random " + hex.EncodeToString(random()), "time " + time.Now().UTC().Format(time.RFC3339),
	}
}

// writes tries to change files and says how it failed.
func writes() []string {
	_, create := os.Create("/new")
	_, appendTo := os.OpenFile("/file", os.O_APPEND|os.O_WRONLY, 0)
	errs := []error{
		create, appendTo, os.Mkdir("/dir", 0o700), os.Remove("/file"), os.Rename("/file", "/other"),
		os.Symlink("file", "/link"), os.Link("/file", "/hard"), os.Truncate("/file", 0),
		os.Chtimes("/file", time.Unix(0, 0), time.Unix(0, 0)),
	}
	lines := make([]string, len(errs))
	for i, err := range errs {
		lines[i] = errnoName(err)
	}
	return lines
}
