package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/agentapi"
	"waymark/agentapi/client"
	"waymark/cmd/internal/cli"
)

// mcpCallSettings are the flags of call.
type mcpCallSettings struct {
	args         []string
	output       string
	full, asJSON bool
	timeout      time.Duration
}

func (a *app) mcpCallCommand(conn *connection) *cobra.Command {
	var s mcpCallSettings
	var chat chatFlag
	cmd := &cobra.Command{
		Use:   "call SERVER__TOOL [JSON]",
		Short: "Call a tool of a server, as chats do",
		Long: `Call calls a tool, and starts its server if it doesn't run. The arguments are a JSON
object; "-" reads it from standard input. --arg adds single arguments. A value is a
string if the tool's schema says so, otherwise JSON if possible.

Text is printed; other content is written whole to the file that --output names. Progress
messages of the server go to standard error. A long result is cut in the middle; --full
prints all of it.

The exit code is 1 if the tool reports a failure, or the server doesn't answer, and 3 if
there is no such server, or no agent runs.`,
		Example: `  agent mcp call everything__echo '{"message": "hello"}'
  agent mcp call everything__echo --arg message=hello
  agent mcp call browser__screenshot --output page.png
  jq -n '{path: "."}' | agent mcp call files__list_directory -`,
		Args: cli.Named("SERVER__TOOL", "[JSON]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if s.timeout < 0 {
				return cli.Usage("--timeout %s: use a duration from 0", s.timeout)
			}
			if s.asJSON && s.output != "" {
				return cli.Usage("--json prints all of a result: leave --output out")
			}
			object, err := readArguments(args[1:])
			if err != nil {
				return err
			}
			c, err := processClient(conn.client, &chat)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if s.timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("%s wasn't answered within %s, as --timeout says", args[0], s.timeout))
				defer cancel()
			}
			return causeOf(ctx, a.callMCP(ctx, c, args[0], object, &s))
		},
		ValidArgsFunction: cli.InOrder(false, mcpToolNames, noFiles),
	}
	f := cmd.Flags()
	f.StringArrayVar(&s.args, "arg", nil, "an argument, `NAME=VALUE`; may be repeated")
	f.StringVarP(&s.output, "output", "o", "", "write content other than text to this `file`; several pieces to FILE, FILE.2 and so on")
	f.BoolVar(&s.full, "full", false, "print all of a long result")
	f.DurationVar(&s.timeout, "timeout", 0, "give up after this `time`, such as 30s, even if the agent would wait longer (default call_timeout in [mcp] of the configuration, as often as the server reports progress)")
	f.BoolVar(&s.asJSON, "json", false, "print JSON: the whole answer")
	chat.add(f, "call it for a chat")
	return cmd
}

// causeOf says whose time was up, if an error is only that it was.
func causeOf(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.Is(err, context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// noFiles completes nothing.
func noFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// maxArguments is the most that is read of arguments, in bytes: more than the agent
// accepts.
const maxArguments = 16 << 20

// readArguments reads the arguments' JSON object.
func readArguments(args []string) (object map[string]json.RawMessage, err error) {
	text := strings.Join(args, "")
	if text == "-" {
		data, err := io.ReadAll(io.LimitReader(os.Stdin, maxArguments))
		if err != nil {
			return nil, err
		}
		text = string(data)
	}
	if len(args) == 0 || strings.TrimSpace(text) == "" && args[0] == "-" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, cli.Usage("the arguments are not a JSON object, such as '{\"message\": \"hello\"}'")
	}
	return object, nil
}

func (a *app) callMCP(ctx context.Context, c client.Client, name string, object map[string]json.RawMessage, s *mcpCallSettings) error {
	object, err := s.withArguments(ctx, c, name, object)
	if err != nil {
		return err
	}
	call := agentapi.CallMCPTool{ToolName: name}
	if len(object) > 0 {
		if call.Arguments, err = json.Marshal(object); err != nil {
			return err
		}
	}
	result, err := c.CallMCPTool(ctx, call, a.mcpProgress)
	if err != nil {
		return err
	}
	if result.Truncated != nil && result.Truncated.ResultID != "" && (s.full || s.output != "") {
		whole, err := client.WholeMCPResult(ctx, c, result.Truncated.ResultID)
		switch {
		case err != nil:
			return err
		case s.full:
			result = whole
		default: // files are never cut
			isFile := func(piece agentapi.MCPContent) bool { return piece.Data != "" }
			result.Content = slices.DeleteFunc(result.Content, isFile)
			for _, piece := range whole.Content {
				if isFile(piece) {
					result.Content = append(result.Content, piece)
				}
			}
		}
	}
	if s.asJSON {
		err = cli.JSON(a.stdout, result)
	} else {
		err = a.printResult(result, s)
	}
	if err == nil && result.IsError {
		err = &cli.Error{Code: cli.CodeFailed} // the tool has said why
	}
	return err
}

// withArguments adds the arguments of --arg.
func (s *mcpCallSettings) withArguments(ctx context.Context, c client.Client, name string, object map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	if len(s.args) == 0 {
		return object, nil
	}
	types, err := argumentTypes(ctx, c, name)
	if err != nil {
		return nil, err
	}
	object = maps.Clone(object)
	if object == nil {
		object = map[string]json.RawMessage{}
	}
	for _, arg := range s.args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || key == "" {
			return nil, cli.Usage("--arg: use NAME=VALUE")
		}
		if !types[key] && json.Valid([]byte(value)) {
			object[key] = json.RawMessage(value)
			continue
		}
		if object[key], err = json.Marshal(value); err != nil {
			return nil, err
		}
	}
	return object, nil
}

// argumentTypes returns which of a tool's arguments can only be strings. For an unknown
// tool it returns nothing: the call reports the error.
func argumentTypes(ctx context.Context, c client.Client, name string) (map[string]bool, error) {
	all, err := c.ListMCPTools(ctx, client.MCPToolOptions{})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all.Tools, func(t agentapi.MCPTool) bool { return t.Name == name })
	if i < 0 {
		return nil, nil
	}
	var properties map[string]struct {
		Type any `json:"type"`
	}
	_ = json.Unmarshal(all.Tools[i].Schema, &properties) // a malformed schema says nothing
	texts := map[string]bool{}
	for key, p := range properties {
		texts[key] = p.Type == "string"
	}
	return texts, nil
}

// mcpProgress prints the progress of a call.
func (a *app) mcpProgress(p agentapi.MCPProgress) {
	text := strconv.FormatFloat(p.Progress, 'g', -1, 64)
	if p.Total > 0 {
		text += " of " + strconv.FormatFloat(p.Total, 'g', -1, 64)
	}
	if p.Message != "" {
		text += ": " + p.Message
	}
	a.side("progress: %s", cli.Visible(text))
}

// printResult prints text, and writes other content to files.
func (a *app) printResult(result *agentapi.MCPToolResult, s *mcpCallSettings) error {
	out := a.stdout
	if cli.IsTerminal(a.stdout) {
		out = &visible{w: a.stdout}
	}
	files := 0
	for i := range result.Content {
		piece := &result.Content[i]
		if piece.Data != "" {
			files++
			if err := a.writePiece(piece, s.output, files); err != nil {
				return err
			}
			continue
		}
		text := piece.Text
		if text == "" && piece.URI != "" {
			text = strings.TrimSpace(piece.URI + " " + piece.Name)
		}
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		if _, err := io.WriteString(out, text); err != nil {
			return err
		}
	}
	if len(result.Content) == 0 && len(result.Structured) > 0 {
		if err := cli.JSON(out, result.Structured); err != nil {
			return err
		}
	}
	if t := result.Truncated; t != nil {
		hint := ""
		if t.ResultID != "" {
			hint = ": --full prints all of it"
		}
		a.side("agent: %d of %d bytes are shown%s", t.RetainedBytes, t.OriginalBytes, hint)
	}
	return nil
}

// writePiece writes the nth piece of other content to a file.
func (a *app) writePiece(piece *agentapi.MCPContent, file string, n int) error {
	data, err := base64.StdEncoding.DecodeString(piece.Data)
	if err != nil {
		return fmt.Errorf("the server's %s is not what it says: %w", piece.Type, err)
	}
	what := fmt.Sprintf("%s %s, %s", piece.Type, piece.MediaType, cli.Size(int64(len(data))))
	if file == "" {
		a.side("agent: %s: --output writes it to a file", cli.Visible(what))
		return nil
	}
	if n > 1 {
		file += "." + strconv.Itoa(n)
	}
	if err := os.WriteFile(file, data, 0o644); err != nil { //nolint:gosec // as a redirection makes files
		return err
	}
	a.side("agent: %s: written to %s", cli.Visible(what), cli.Visible(file))
	return nil
}

func (a *app) mcpSearchCommand(conn *connection) *cobra.Command {
	var asJSON bool
	var opts client.MCPSearchOptions
	cmd := &cobra.Command{
		Use:   "search WORD…",
		Short: "Find tools by words of their names, descriptions and arguments",
		Long: `Search lists the matching tools, the best first, as many as fit into --tokens. The limit
matters because the descriptions of a hundred tools fill a model's context.

The exit code is 3 if no agent runs.`,
		Example: `  agent mcp search create issue
  agent mcp search screenshot --tokens 2000 --json`,
		Args: cli.Named("WORD…"),
		RunE: func(cmd *cobra.Command, words []string) error {
			if opts.Tokens < 0 || opts.Limit < 0 {
				return cli.Usage("--tokens and --limit: use whole numbers from 0")
			}
			c, err := conn.reader()
			if err != nil {
				return err
			}
			found, err := c.SearchMCPTools(cmd.Context(), strings.Join(words, " "), opts)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.JSON(a.stdout, found)
			}
			if err := a.printMCPTools(found.Tools, "no tool matches"); err != nil {
				return err
			}
			if found.Omitted > 0 {
				a.side("%d more don't fit into %s", found.Omitted, cli.Count(max(opts.Tokens, found.Tokens), "token"))
			}
			a.mcpPending(found.Phase)
			return nil
		},
		ValidArgsFunction: noFiles,
	}
	f := cmd.Flags()
	f.IntVar(&opts.Tokens, "tokens", 0, "about how many `tokens` the tools may take (default the agent's own limit)")
	f.IntVar(&opts.Limit, "limit", 0, "list at most this `many` (default the agent's own limit)")
	f.BoolVar(&asJSON, "json", false, "print JSON: the tools with their schemas")
	return cmd
}
