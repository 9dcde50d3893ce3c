package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"waymark/agentapi"
	"waymark/internal/httpapi/apiclient"
)

// Files has the calls about files. 404 says that a file doesn't exist, 403 that access is
// denied: by its permissions, by a fence, by the secret list, or because a link leads out
// of the workspace.
type Files interface {
	// ReadFile returns a file's content, which the caller closes. 400 says that it is a
	// directory.
	ReadFile(ctx context.Context, path string, part FileRange) (io.ReadCloser, error)
	// ReadFileLines returns lines with their numbers, for a model. A problem with the file,
	// or a result that would be too long, is reported in the Error field of the result.
	ReadFileLines(ctx context.Context, path string, lines agentapi.LineRange) (*agentapi.FileLines, error)
	// WriteFile creates or replaces a file atomically. It creates missing directories,
	// follows a link, and keeps the mode of an existing file.
	WriteFile(ctx context.Context, path string, content io.Reader) error
	// ListDirectory lists a directory below "/" or the home directory.
	ListDirectory(ctx context.Context, directory agentapi.ListDirectory) (*agentapi.Directory, error)
	// FindFiles finds files by their names. 400 says that the question is wrong.
	FindFiles(ctx context.Context, ask agentapi.FindFiles) (*agentapi.FoundFiles, error)
	// SearchFiles finds lines in files. 400 says that the question is wrong.
	SearchFiles(ctx context.Context, ask agentapi.SearchFiles) (*agentapi.SearchedFiles, error)
	// EditFiles replaces texts in files. It computes all edits before it writes any file;
	// if one edit fails, nothing is written, and the error has the highest of the codes.
	// 400 says that a text was not found, or was found more than once without ReplaceAll.
	EditFiles(ctx context.Context, edits agentapi.EditFiles) (*agentapi.EditedFiles, error)
}

// FileRange selects bytes of a file. The zero value selects all.
type FileRange struct {
	Offset int64
	Limit  int64 // 0 means no limit
}

func (a *agent) ReadFile(ctx context.Context, path string, part FileRange) (io.ReadCloser, error) {
	r := apiclient.Get(agentapi.PathReadFile)
	r.Query = url.Values{"path": {path}}
	setNumber(r.Query, "offset", part.Offset)
	setNumber(r.Query, "limit", part.Limit)
	return a.api.Stream(ctx, r)
}

func setNumber(query url.Values, name string, n int64) {
	if n != 0 {
		query.Set(name, strconv.FormatInt(n, 10))
	}
}

func (a *agent) ReadFileLines(ctx context.Context, path string, lines agentapi.LineRange) (*agentapi.FileLines, error) {
	r := apiclient.Get(agentapi.PathReadFileLines)
	r.Query = url.Values{"path": {path}}
	setNumber(r.Query, "offset", lines.Offset)
	setNumber(r.Query, "limit", lines.Limit)
	setNumber(r.Query, "max_file_size", lines.MaxFileSize)
	setNumber(r.Query, "max_line_bytes", lines.MaxLineBytes)
	setNumber(r.Query, "max_response_lines", lines.MaxResponseLines)
	setNumber(r.Query, "max_response_bytes", lines.MaxResponseBytes)
	return apiclient.Fetch[agentapi.FileLines](ctx, a.api, r)
}

func (a *agent) WriteFile(ctx context.Context, path string, content io.Reader) error {
	return a.api.Send(ctx, apiclient.Request{
		Method: http.MethodPost, Path: agentapi.PathWriteFile, Query: url.Values{"path": {path}}, Content: content,
	})
}

func (a *agent) ListDirectory(ctx context.Context, directory agentapi.ListDirectory) (*agentapi.Directory, error) {
	return apiclient.Fetch[agentapi.Directory](ctx, a.api, post(agentapi.PathListDirectory, directory))
}

// maxSearch limits how long the agent may take to walk through files.
const maxSearch = 30 * time.Second

func (a *agent) FindFiles(ctx context.Context, ask agentapi.FindFiles) (*agentapi.FoundFiles, error) {
	r := post(agentapi.PathFindFiles, ask)
	r.Wait = maxSearch
	return apiclient.Fetch[agentapi.FoundFiles](ctx, a.api, r)
}

func (a *agent) SearchFiles(ctx context.Context, ask agentapi.SearchFiles) (*agentapi.SearchedFiles, error) {
	r := post(agentapi.PathSearchFiles, ask)
	r.Wait = maxSearch
	return apiclient.Fetch[agentapi.SearchedFiles](ctx, a.api, r)
}

func (a *agent) EditFiles(ctx context.Context, edits agentapi.EditFiles) (*agentapi.EditedFiles, error) {
	return apiclient.Fetch[agentapi.EditedFiles](ctx, a.api, post(agentapi.PathEditFiles, edits))
}

func (a *agent) ContextConfig(ctx context.Context) (*agentapi.ContextConfig, error) {
	return apiclient.Fetch[agentapi.ContextConfig](ctx, a.api, apiclient.Get(agentapi.PathContextConfig))
}
