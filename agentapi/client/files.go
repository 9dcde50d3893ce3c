package client

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"waymark/agentapi"
	"waymark/internal/httpapi/apiclient"
)

// Files are the calls about files. 404 says that there is none, 403 that it can't
// be had: by its permissions, by a fence, as a secret, or since a link leads out of
// the workspace.
type Files interface {
	// ReadFile returns a file's content, which the caller closes. A directory: 400.
	ReadFile(ctx context.Context, path string, part FileRange) (io.ReadCloser, error)
	// ReadFileLines returns lines with their numbers, for a model to read. What is
	// wrong with the file, or too much for an answer, is in Error of what it
	// returns.
	ReadFileLines(ctx context.Context, path string, lines agentapi.LineRange) (*agentapi.FileLines, error)
	// WriteFile replaces or makes a file, all of it or nothing. Directories on the
	// way are made, a link is followed, an existing file keeps its mode.
	WriteFile(ctx context.Context, path string, content io.Reader) error
	// ListDirectory lists a directory below "/" or the home directory.
	ListDirectory(ctx context.Context, directory agentapi.ListDirectory) (*agentapi.Directory, error)
	// EditFiles replaces texts in files. All edits are computed before any file is
	// written, and one that can't be made keeps all from being written; the error's
	// code is the highest of what is wrong. A text that isn't there, or more than
	// once without ReplaceAll: 400.
	EditFiles(ctx context.Context, edits agentapi.EditFiles) (*agentapi.EditedFiles, error)
}

// FileRange says which bytes of a file are wanted. The zero value wants all.
type FileRange struct {
	Offset int64
	Limit  int64 // 0 is no limit
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

func (a *agent) EditFiles(ctx context.Context, edits agentapi.EditFiles) (*agentapi.EditedFiles, error) {
	return apiclient.Fetch[agentapi.EditedFiles](ctx, a.api, post(agentapi.PathEditFiles, edits))
}

func (a *agent) ContextConfig(ctx context.Context) (*agentapi.ContextConfig, error) {
	return apiclient.Fetch[agentapi.ContextConfig](ctx, a.api, apiclient.Get(agentapi.PathContextConfig))
}
