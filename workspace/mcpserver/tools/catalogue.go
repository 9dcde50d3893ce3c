package tools

import (
	"bytes"
	"encoding/json"
	"strings"
)

// The tools about the tools of MCP servers.
const (
	FindTools  = "find_tools"
	CallTool   = "call_tool"
	ToolResult = "tool_result"
)

// AboutServers reports whether a tool is about the tools of MCP servers.
func AboutServers(name string) bool {
	return name == FindTools || name == CallTool || name == ToolResult
}

// ReadSkill is the tool that reads skills.
const ReadSkill = "read_skill"

// catalogue has the tools in the order in which they are offered. Their text is at the
// beginning of every chat and costs tokens there, so a description says only what models
// get wrong without it.
var catalogue = []Tool{
	{
		Name: "execute", Title: "Run a command", Scope: scopeProcesses, plan: true, run: (*call).execute,
		Description: "Run a shell command (sh -c) in the workspace. No terminal, no stdin. A command that isn't done within timeout runs on; process_output waits for it.",
		Annotations: Hints{Destructive: true, OpenWorld: true},
		InputSchema: schema(`"command":{"type":"string"},
				"workdir":{"type":"string","description":"Default: the workspace's directory."},
				"timeout":{"type":"string","description":"How long to wait, such as 30s or 5m. Default 10s, at most 4h."},
				"run_in_background":{"type":"boolean","description":"For servers and watchers: don't wait."}`, "command"),
	},
	{
		Name: "process_output", Title: "Show a process's output", Scope: scopeProcesses, plan: true, run: (*call).processOutput,
		Description: "Wait for a process to end and show its output: head and tail, or a page from offset on.",
		Annotations: Hints{ReadOnly: true, Idempotent: true},
		InputSchema: schema(`"process_id":{"type":"string"},
				"wait":{"type":"string","description":"How long to wait. Default 10s, at most 5m; 0s for what there is now."},
				"offset":{"type":"integer","minimum":0,"description":"In bytes; go on with next_offset."}`, "process_id"),
	},
	{
		Name: "process_list", Title: "List processes", Scope: scopeProcesses, plan: true, run: (*call).processList,
		Description: "List the processes that execute has started.",
		Annotations: Hints{ReadOnly: true, Idempotent: true},
		InputSchema: schema(""),
	},
	{
		Name: "process_signal", Title: "End a process", Scope: scopeProcesses, run: (*call).processSignal,
		Description: "End a process and its children.",
		Annotations: Hints{Destructive: true, Idempotent: true},
		InputSchema: schema(`"process_id":{"type":"string"},
				"signal":{"type":"string","enum":["terminate","kill","interrupt"],"description":"Default terminate."}`, "process_id"),
	},
	{
		Name: "read_file", Title: "Read a file", plan: true, run: (*call).readFile,
		Description: "Read lines of a text file, numbered. At most 2000 lines and 32 KiB at once.",
		Annotations: Hints{ReadOnly: true, Idempotent: true},
		InputSchema: schema(`"path":{"type":"string","description":"Absolute, or relative to the workspace."},
				"offset":{"type":"integer","minimum":1,"description":"First line."},
				"limit":{"type":"integer","minimum":1,"description":"Number of lines."}`, "path"),
	},
	{
		Name: "write_file", Title: "Write a file", Scope: scopeFiles, plan: true, run: (*call).writeFile,
		Description: "Make a file, or replace all of it. For changes use edit_files.",
		Annotations: Hints{Destructive: true, Idempotent: true},
		InputSchema: schema(`"path":{"type":"string"},"content":{"type":"string"}`, "path", "content"),
	},
	{
		Name: "edit_files", Title: "Edit files", Scope: scopeFiles, plan: true, run: (*call).editFiles,
		Description: "Replace texts in files: all edits or, if one fails, none. search must occur once, unless replace_all; take it from read_file without the line numbers. Answers with the diffs.",
		Annotations: Hints{Destructive: true},
		InputSchema: schema(`"files":{"type":"array","minItems":1,"items":{"type":"object","properties":{"path":{"type":"string"},
				"edits":{"type":"array","minItems":1,"items":{"type":"object","properties":{"search":{"type":"string"},"replace":{"type":"string"},
				"replace_all":{"type":"boolean"}},"required":["search","replace"]}}},"required":["path","edits"]}}`, "files"),
	},
	{
		Name: "list_directory", Title: "List a directory", plan: true, run: (*call).listDirectory,
		Description: "List a directory, not what is below it. Names of directories end with a slash.",
		Annotations: Hints{ReadOnly: true, Idempotent: true},
		InputSchema: schema(`"path":{"type":"string","description":"Default: the workspace's directory."},
				"offset":{"type":"integer","minimum":0,"description":"Go on with next_offset."}`),
	},
	{
		Name: "find_files", Title: "Find files", plan: true, run: (*call).findFiles,
		Description: "Find files by parts of their path or a glob (src/**/*.go), the 20 best first; without what git ignores.",
		Annotations: Hints{ReadOnly: true, Idempotent: true},
		InputSchema: schema(`"query":{"type":"string"},"path":{"type":"string"},"limit":{"type":"integer"},
				"ignored":{"type":"boolean","description":"Those, too."}`, "query"),
	},
	{
		Name: "search_files", Title: "Search in files", plan: true, run: (*call).searchFiles,
		Description: "Find lines in files by a text or, with regexp, RE2; without files that git ignores.",
		Annotations: Hints{ReadOnly: true, Idempotent: true},
		InputSchema: schema(`"pattern":{"type":"string"},"regexp":{"type":"boolean"},"ignore_case":{"type":"boolean"},
				"path":{"type":"string"},"glob":{"type":"string"},
				"context":{"type":"integer","description":"Lines around a match."},
				"output":{"type":"string","enum":["lines","files"],"description":"files: names and counts."},
				"ignored":{"type":"boolean"}`, "pattern"),
	},
	{
		Name: "git_diff", Title: "Show uncommitted changes", plan: true, run: (*call).gitDiff,
		Description: "Show what isn't committed in the workspace's git repositories, untracked files too.",
		Annotations: Hints{ReadOnly: true, Idempotent: true},
		InputSchema: schema(`"paths":{"type":"array","items":{"type":"string"},"description":"Only these files and directories. Ask so for what is too large beside others."}`),
	},
	{
		Name: "context_for", Title: "What applies to a file", plan: true, run: (*call).contextFor,
		Description: "Show the instructions and rules that apply to a file, nested ones too, nearest first. Call it before you edit in a part of the workspace that is new to you.",
		Annotations: Hints{ReadOnly: true, Idempotent: true},
		InputSchema: schema(`"path":{"type":"string","description":"The file need not exist."}`, "path"),
	},
	{
		Name: "computer", Title: "Use the computer", Scope: scopeDesktop, run: (*call).computer,
		Description: "Use the workspace's screen. Look with screenshot before and after you act. Programs that execute starts appear on it. Keys have X's names (Return, ctrl+l); type types text; of clicks text is keys held.",
		Annotations: Hints{Destructive: true, OpenWorld: true},
		InputSchema: schema(`"action":{"type":"string","enum":["screenshot","left_click","right_click","middle_click","double_click","triple_click",
				"mouse_move","left_click_drag","left_mouse_down","left_mouse_up","scroll","type","key","key_down","key_up","hold_key","wait","cursor_position"]},
				"coordinate":{"type":"array","items":{"type":"integer"},"description":"[x, y] in the screenshot."},
				"start_coordinate":{"type":"array","items":{"type":"integer"},"description":"Of left_click_drag."},
				"text":{"type":"string"},"duration":{"type":"integer","description":"Of wait and hold_key, in ms; default 1000."},
				"scroll_direction":{"type":"string","enum":["up","down","left","right"]},"scroll_amount":{"type":"integer"}`, "action"),
	},
	{
		Name: ReadSkill, Title: "Read a skill", plan: true, run: (*call).readSkill,
		Description: "Read one of the workspace's skills, or one of its files. Without name it lists them.",
		Annotations: Hints{ReadOnly: true, Idempotent: true},
		InputSchema: schema(`"name":{"type":"string"},
				"file":{"type":"string","description":"Relative to the skill. Default SKILL.md."}`),
	},
	{
		Name: FindTools, Title: "Find tools", Scope: scopeMCP, run: (*call).findTools,
		Description: "Find tools of the workspace's MCP servers, by words of what is to be done. call_tool calls them.",
		Annotations: Hints{ReadOnly: true, Idempotent: true},
		InputSchema: schema(`"query":{"type":"string"}`, "query"),
	},
	{
		Name: CallTool, Title: "Call a tool", Scope: scopeMCP, run: (*call).callTool,
		Description: "Call a tool that find_tools has shown.",
		Annotations: Hints{Destructive: true, OpenWorld: true},
		InputSchema: schema(`"name":{"type":"string","description":"server__tool"},
				"arguments":{"type":"object","description":"By the tool's own schema."}`, "name"),
	},
	{
		Name: ToolResult, Title: "Read a long result", Scope: scopeMCP, run: (*call).toolResult,
		Description: "Show a result of an MCP server's tool that was too long.",
		Annotations: Hints{ReadOnly: true, Idempotent: true},
		InputSchema: schema(`"result_id":{"type":"string"},
				"offset":{"type":"integer","minimum":0,"description":"Go on with next_offset."},
				"piece":{"type":"integer","minimum":1,"description":"Show this piece of its content, such as an image, as it is."}`, "result_id"),
	},
}

// schema is the JSON Schema of an object with properties. Its white space is left to Tools to
// remove: at the start of every process that would take 0.7 ms, and few need it.
func schema(properties string, required ...string) json.RawMessage {
	text := `{"type":"object","properties":{` + properties + `}`
	if len(required) > 0 {
		text += `,"required":["` + strings.Join(required, `","`) + `"]`
	}
	return json.RawMessage(text + `,"additionalProperties":false}`)
}

// compact returns a schema without white space.
func compact(schema json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if err := json.Compact(&b, schema); err != nil {
		panic(err) // it is a constant of this package
	}
	return b.Bytes()
}
