package files

import (
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"time"

	"waymark/agentapi"
	"waymark/internal/defaults"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
	"waymark/internal/text"
	"waymark/workspace/access"
)

const (
	defaultMaxWrite = 1 << 30
	defaultMaxEdit  = 10 << 20
	// maxEditBody limits the JSON of edit-files. Models send a few KiB.
	maxEditBody = 16 << 20
	// maxFiles and maxEdits limit a call of edit-files. Each file takes two descriptors.
	maxFiles = 100
	maxEdits = 1000
	// maxParallel limits the calls of edit-files that compute at the same time, each with
	// its files in memory.
	maxParallel = 4
	// bodyTimeout allows for a large file over a slow connection.
	bodyTimeout = 10 * time.Minute
	// callTimeout limits calls that read: they may search many gigabytes for lines, or wait
	// for a lock.
	callTimeout = time.Minute
)

// Options configure a Service. The zero value works.
type Options struct {
	// Root returns the workspace's directory, absolute and without links; "" while it is
	// unknown. Nil means that it always is.
	Root func() string
	// Home is the user's home directory, for list-directory.
	Home string
	// Own returns the absolute paths of the agent's own places, which are inaccessible with
	// everything below. Nil means none.
	Own func() []string
	// Within restricts every call to the workspace.
	Within bool
	// MaxWrite limits the body of write-file, in bytes. Default 1 GiB.
	MaxWrite int64
	// MaxEdit limits the size of edited files, in bytes. Default 10 MiB.
	MaxEdit int64
	// Writing is called with the files that a call will replace, before the first
	// replacement, and Touched with those that were replaced. Both may be nil.
	Writing func(paths ...string)
	Touched agentapi.Touched
	// Logger receives problems that answers don't report, never contents. Nil means no log.
	Logger *slog.Logger
}

// Service serves files.
type Service struct {
	opts     Options
	locks    locks
	parallel chan struct{} // holds a token for each call that edits
	walks    chan struct{} // holds a token for each call that walks

	// exchange swaps two names in a directory. Tests replace it.
	exchange func(dir int, a, b string) error
}

// New returns a Service. It needs no Close.
func New(opts Options) *Service {
	opts = defaults.Or(opts, Options{
		Root: func() string { return "" }, Writing: func(...string) {}, Touched: func(agentapi.Caller, ...string) {},
		Logger: slog.New(slog.DiscardHandler), MaxWrite: defaultMaxWrite, MaxEdit: defaultMaxEdit,
	})
	return &Service{opts: opts, parallel: make(chan struct{}, maxParallel), walks: make(chan struct{}, maxWalks), exchange: exchange}
}

// readFileParams are the parameters of GET /api/v0/read-file.
type readFileParams struct {
	// The absolute path of the file.
	Path string `query:"path" example:"/home/me/project/main.go" required:"true"`
	// The first byte, from 0.
	Offset int64 `query:"offset" minimum:"0" default:"0"`
	// The number of bytes; 0 means all.
	Limit int64 `query:"limit" minimum:"0" default:"0"`
}

// readFileLinesParams are the parameters of GET /api/v0/read-file-lines.
type readFileLinesParams struct {
	// The absolute path of the file.
	Path string `query:"path" example:"/home/me/project/main.go" required:"true"`
	// The first line, from 1.
	Offset int64 `query:"offset" minimum:"0" default:"1"`
	// The number of lines; 0 means all.
	Limit int64 `query:"limit" minimum:"0" default:"0"`
	// The maximum size of the file, in bytes.
	MaxFileSize int64 `query:"max_file_size" minimum:"0" default:"1048576"`
	// The maximum length of a line, in bytes: a longer one is cut and ends with `...
	// [truncated]`.
	MaxLineBytes int64 `query:"max_line_bytes" minimum:"0" default:"1024"`
	// The maximum number of lines in the answer.
	MaxResponseLines int64 `query:"max_response_lines" minimum:"0" default:"2000"`
	// The maximum length of the answer, in bytes; at most 16 MiB.
	MaxResponseBytes int64 `query:"max_response_bytes" minimum:"0" default:"32768"`
}

// listDirectoryParams are the parameters of POST /api/v0/list-directory.
type listDirectoryParams struct {
	// The absolute path of the directory. It takes precedence over the body's path.
	Path string `query:"path"`
}

// writeFileParams are the parameters of POST /api/v0/write-file.
type writeFileParams struct {
	agentapi.CallerParams

	// The absolute path of the file.
	Path string `query:"path" example:"/home/me/project/main.go" required:"true"`
}

// Service returns the routes. Writing requires a token with access.ScopeFiles. What reading
// shows depends on the grant, too.
func (s *Service) Service() httpapi.Service {
	about := httpapi.AgentAbout("files", "What chats read, write and edit. Paths, fields, codes and limits are those of Coder's agent. Paths are absolute and may lie outside of the workspace, unless the agent is configured to stay in it. A link in the workspace doesn't lead out of it; the agent's own directories and what is on the secret list are refused, as is what isn't a file, below `/proc` for one.")
	about.Errors = map[int]string{
		http.StatusBadRequest: "The request can't be understood, the path is relative or is no file, or an edit doesn't fit; `detail` says which and why.",
		http.StatusForbidden:  "The system, the secret list, a fence or the configuration doesn't allow it.",
		http.StatusNotFound:   "There is no such file.",
		http.StatusConflict:   "Somebody else kept changing the file or the way to it.",
	}
	return httpapi.Service{
		About: about,
		Routes: []httpapi.Route{
			{Method: http.MethodGet, Pattern: agentapi.PathReadFile, Handle: bodiless(s.readFile), Failed: "the file was not read",
				Operation: &httpapi.Operation{
					ID: "readFile", Summary: "The bytes of a file",
					Text:    "As they are, streamed, with the media type that the name's end says.",
					Params:  readFileParams{},
					Answers: []httpapi.Answer{httpapi.OK("The bytes.", httpapi.Content("*/*"))},
					Errors:  []int{http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound},
				}},
			{Method: http.MethodGet, Pattern: agentapi.PathReadFileLines, Handle: bodiless(s.readFileLines), Failed: "the file was not read", Timeout: callTimeout,
				Operation: &httpapi.Operation{
					ID: "readFileLines", Summary: "Lines of a file, numbered",
					Text:   "Whatever the file is, the answer is 200 and says in `success` and `error` what came of it. What is over a budget is an error and never a part: read less at a time with `offset` and `limit`. An empty file has no lines, and behind a final newline one more is counted. 0 as a number means its default.",
					Params: readFileLinesParams{},
					Answers: []httpapi.Answer{{Code: http.StatusOK, Text: "The lines, or why there are none.", Body: agentapi.FileLines{},
						Example: agentapi.FileLines{Success: true, FileSize: 12, TotalLines: 3, LinesRead: 2, Content: "1\thello\n2\tworld"}}},
					Errors: []int{http.StatusBadRequest},
				}},
			{Method: http.MethodPost, Pattern: agentapi.PathListDirectory, Effect: httpapi.Reads, Handle: s.listDirectory, Failed: "the directory was not listed", Timeout: callTimeout,
				Untyped: true,
				Operation: &httpapi.Operation{
					ID: "listDirectory", Summary: "What is in a directory",
					Text:    "Directories first, then by name; a link is no directory. At most 100,000 names, without those that aren't UTF-8.",
					Params:  listDirectoryParams{},
					Body:    agentapi.ListDirectory{},
					Example: agentapi.ListDirectory{Path: []string{"project", "src"}, Relativity: "home"},
					Answers: []httpapi.Answer{httpapi.OK("The entries.", agentapi.Directory{})},
					Errors:  []int{http.StatusForbidden, http.StatusNotFound},
				}},
			{Method: http.MethodPost, Pattern: agentapi.PathFindFiles, Effect: httpapi.Reads, Handle: s.findFiles, Failed: "no files were looked for", Timeout: callTimeout,
				Operation: &httpapi.Operation{
					ID: "findFiles", Summary: "Files with a name",
					Text:    "Regular files below a directory whose name or path has a text, or matches a glob; the best first, then those that are least deep. Left out are `.git`, what git ignores (`.gitignore`, `.git/info/exclude`, `.ignore`), links, and what can't be read through this API. At most 1,000,000 names and 10 seconds; `incomplete` says that a limit was reached.",
					Body:    agentapi.FindFiles{},
					Example: agentapi.FindFiles{Query: "handler.go"},
					Answers: []httpapi.Answer{httpapi.OK("The files.", agentapi.FoundFiles{})},
					Errors:  []int{http.StatusForbidden, http.StatusNotFound},
				}},
			{Method: http.MethodPost, Pattern: agentapi.PathSearchFiles, Effect: httpapi.Reads, Handle: s.searchFiles, Failed: "nothing was searched", Timeout: callTimeout,
				Operation: &httpapi.Operation{
					ID: "searchFiles", Summary: "Lines with a text",
					Text:    "Lines in files below a directory, or in one file, that contain a text or match an RE2 expression, with their numbers and context. The files are those of find-files. Files that aren't text, that have more than 32 MiB or that can't be read are counted, and not searched. At most 2 GiB, 1,000,000 names and 10 seconds; `incomplete` says that a limit was reached.",
					Body:    agentapi.SearchFiles{},
					Example: agentapi.SearchFiles{Pattern: `func \w+Handler`, Regexp: true, Glob: "*.go", Context: 1},
					Answers: []httpapi.Answer{httpapi.OK("The lines.", agentapi.SearchedFiles{})},
					Errors:  []int{http.StatusForbidden, http.StatusNotFound},
				}},
			{Method: http.MethodPost, Pattern: agentapi.PathWriteFile, Scope: string(access.ScopeFiles), Effect: httpapi.Fenced, Handle: s.writeFile, Failed: "the file was not written",
				MaxBody: s.opts.MaxWrite, BodyTimeout: bodyTimeout, Timeout: bodyTimeout + callTimeout,
				Operation: &httpapi.Operation{
					ID: "writeFile", Summary: "Write a file",
					Text:    "The body becomes the file, as a whole: a body that breaks off leaves what was there. Directories that are missing are made with mode 0755; a link is followed and stays a link; mode, owner and attributes are kept as far as the agent may. At most 1 GiB, within 10 minutes.",
					Params:  writeFileParams{},
					Body:    httpapi.Content("*/*"),
					Answers: []httpapi.Answer{httpapi.OK("It is written.", agentapi.Written{})},
					Errors:  []int{http.StatusBadRequest, http.StatusNotFound, http.StatusConflict, http.StatusRequestEntityTooLarge},
				}},
			{Method: http.MethodPost, Pattern: agentapi.PathEditFiles, Scope: string(access.ScopeFiles), Effect: httpapi.Fenced, Handle: s.editFiles, Failed: "nothing was edited",
				MaxBody: maxEditBody, BodyTimeout: callTimeout, Timeout: 2 * callTimeout, Untyped: true,
				Operation: &httpapi.Operation{
					ID: "editFiles", Summary: "Replace texts in files",
					Text:    "All edits are computed first, each on the result of the one before it, and the files are exchanged when all are written. If anything fails nothing is edited, and the answer has the highest of the codes that the failures have. A file that somebody else saves meanwhile is read again. Files of at most 10 MiB; 1,000 edits in 100 files at once.\n\nA search is tried exactly, then by lines without blanks at their ends, then without those before them, too. More than one match needs `replace_all`.",
					Params:  agentapi.CallerParams{},
					Body:    agentapi.EditFiles{},
					Example: agentapi.EditFiles{IncludeDiff: true, Files: []agentapi.FileEdits{{Path: "/home/me/project/main.go", Edits: []agentapi.Edit{{Search: "old()", Replace: "new()"}}}}},
					Answers: []httpapi.Answer{httpapi.OK("All is edited.", agentapi.EditedFiles{})},
					Errors:  []int{http.StatusNotFound, http.StatusConflict},
				}},
		},
	}
}

// bodiless refuses a body. If it stayed unread, net/http wouldn't notice that the client
// disconnects.
func bodiless(next httpapi.Handler) httpapi.Handler {
	return func(c *httpapi.Call) error {
		if c.ContentLength != 0 {
			return &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: c.Method + " takes no body"}
		}
		return next(c)
	}
}

// onlyParameters refuses unknown parameters.
func onlyParameters(c *httpapi.Call, known ...string) error {
	query, err := c.Query()
	if err != nil {
		return err
	}
	for name := range query {
		if !slices.Contains(known, name) {
			return httpapi.BadQuery("unknown parameter " + strconv.Quote(text.Truncate(name, maxShown)))
		}
	}
	return nil
}

// maxShown limits how much of an unknown name an error shows, in bytes.
const maxShown = 60

// caller returns the chat that a call is made for.
func caller(c *httpapi.Call) (agentapi.Caller, error) {
	who, err := agentapi.CallerOf(c.Header)
	if err != nil {
		return who, &problem.Error{Code: http.StatusBadRequest, Message: c.Failed(), Detail: err.Error()}
	}
	return who, nil
}
