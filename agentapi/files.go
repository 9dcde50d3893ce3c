package agentapi

// FileLines answers GET /api/v0/read-file-lines, always with 200.
type FileLines struct {
	// Success says that the request succeeded; otherwise Error is set.
	Success bool `json:"success"`
	// FileSize is the size of the file, in bytes; left out for 0.
	FileSize int64 `json:"file_size,omitempty"`
	// TotalLines is the number of lines in the file. A final newline counts as the start of
	// another line.
	TotalLines int `json:"total_lines,omitempty"`
	// LinesRead is the number of lines in Content.
	LinesRead int `json:"lines_read,omitempty"`
	// Content has the lines, each as its number, a tab and its text, with newlines between them.
	Content string `json:"content,omitempty"`
	// Error says why there are no lines, and what to do about it.
	Error string `json:"error,omitempty"`
}

// LineRange selects lines. Zero means the default: from line 1, files of at most 1 MiB,
// lines of at most 1,024 bytes, 2,000 lines, 32 KiB in total.
type LineRange struct {
	Offset           int64 // the first line, from 1
	Limit            int64 // how many lines
	MaxFileSize      int64 // bytes
	MaxLineBytes     int64
	MaxResponseLines int64
	MaxResponseBytes int64
}

// ListDirectory is the body of POST /api/v0/list-directory.
type ListDirectory struct {
	// Path has the path's names, in order.
	Path []string `json:"path" required:"false"`
	// Relativity says where the path begins: at the root of the file system or in the home
	// directory. It is required unless the query has the path.
	Relativity string `json:"relativity" enum:"root,home" required:"false"`
}

// Directory answers POST /api/v0/list-directory.
type Directory struct {
	// AbsolutePath has the names of the path from the root.
	AbsolutePath []string `json:"absolute_path"`
	// AbsolutePathString is the same path as one string.
	AbsolutePathString string `json:"absolute_path_string"`
	// Contents are the entries: directories first, then everything else, each ordered by
	// name.
	Contents []DirectoryEntry `json:"contents"`
}

// DirectoryEntry is an entry of a directory.
type DirectoryEntry struct {
	// Name is the entry's name.
	Name string `json:"name"`
	// AbsolutePathString is its absolute path.
	AbsolutePathString string `json:"absolute_path_string"`
	// IsDir says that the entry is a directory. A link to a directory isn't one.
	IsDir bool `json:"is_dir"`
}

// EditFiles is the body of POST /api/v0/edit-files.
type EditFiles struct {
	// Files are the files to edit. All together may have at most 1,000 edits.
	Files []FileEdits `json:"files" minItems:"1" maxItems:"100"`
	// IncludeDiff requests a diff of the changes.
	IncludeDiff bool `json:"include_diff,omitempty" default:"false"`
}

// FileEdits are the edits of one file.
type FileEdits struct {
	// Path is the absolute path of the file.
	Path string `json:"path"`
	// Edits are applied in this order, each to the result of the previous one.
	Edits []Edit `json:"edits" minItems:"1"`
}

// Edit replaces one text with another.
type Edit struct {
	// Search is the text to find: exactly, or ignoring white space around its lines.
	Search string `json:"search" minLength:"1"`
	// Replace is the new text, which must differ from Search.
	Replace string `json:"replace"`
	// ReplaceAll replaces every match. Without it, more than one match is an error.
	ReplaceAll bool `json:"replace_all,omitempty" default:"false"`
}

// EditedFiles answers POST /api/v0/edit-files.
type EditedFiles struct {
	// Files are the files in the order of the request; only with `include_diff`.
	Files []EditedFile `json:"files,omitempty"`
}

// EditedFile is an edited file with its diff.
type EditedFile struct {
	// Path is the path in the request.
	Path string `json:"path"`
	// Diff is a unified diff with three lines of context; empty if the edits undo one another.
	Diff string `json:"diff"`
}

// Written answers POST /api/v0/write-file.
type Written struct {
	// Message says what was written.
	Message string `json:"message"`
}

// FindFiles is the body of POST /api/v0/find-files, only in Waymark.
type FindFiles struct {
	// Path is the absolute path of a directory. Default: the workspace's.
	Path string `json:"path,omitempty"`
	// Query is a part of a file's name or path, in any case; several words must all occur.
	// With any of the characters `*?[{` it is a glob: without a slash for names at any depth,
	// otherwise for the path from the directory on, with `**` for any number of directories.
	Query string `json:"query" minLength:"1" maxLength:"1024"`
	// Limit is the maximum number of files.
	Limit int `json:"limit,omitempty" minimum:"0" maximum:"200" default:"20"`
	// Ignored includes files that git ignores. What is in `.git` is never found.
	Ignored bool `json:"ignored,omitempty" default:"false"`
}

// FoundFiles answers POST /api/v0/find-files.
type FoundFiles struct {
	// Path is the directory, absolute and without links.
	Path string `json:"path"`
	// Files are relative to it, the best first.
	Files []string `json:"files"`
	// Omitted is the number of other files that match.
	Omitted int `json:"omitted,omitempty" minimum:"0"`
	// Incomplete says why not all files were looked at.
	Incomplete string `json:"incomplete,omitempty"`
}

// Values of SearchFiles.Output.
const (
	SearchOutputLines = "lines"
	SearchOutputFiles = "files"
)

// SearchFiles is the body of POST /api/v0/search-files, only in Waymark.
type SearchFiles struct {
	// Path is the absolute path of a directory or a file. Default: the workspace's directory.
	Path string `json:"path,omitempty"`
	// Pattern is a text, which occurs within a line.
	Pattern string `json:"pattern" minLength:"1" maxLength:"1024"`
	// Regexp says that it is a regular expression of RE2 instead.
	Regexp bool `json:"regexp,omitempty" default:"false"`
	// IgnoreCase matches letters in any case.
	IgnoreCase bool `json:"ignore_case,omitempty" default:"false"`
	// Glob restricts the files, as in FindFiles.
	Glob string `json:"glob,omitempty" maxLength:"1024"`
	// Context is the number of lines to show before and after each match.
	Context int `json:"context,omitempty" minimum:"0" maximum:"20" default:"0"`
	// Output selects what the answer has: matching lines, or only files with the numbers of
	// their matches.
	Output string `json:"output,omitempty" enum:"lines,files" default:"lines"`
	// Ignored includes files that git ignores. `.git` is never searched.
	Ignored bool `json:"ignored,omitempty" default:"false"`
}

// SearchedFiles answers POST /api/v0/search-files.
type SearchedFiles struct {
	// Path is the directory or file, absolute and without links.
	Path string `json:"path"`
	// Files are the files with matches, ordered by path; at most 200. Their texts have at
	// most 32 KiB together.
	Files []SearchedFile `json:"files"`
	// Matches is the number of matching lines in all files.
	Matches int `json:"matches" minimum:"0"`
	// Matching is the number of files with matches.
	Matching int `json:"matching_files" minimum:"0"`
	// Omitted is the number of matching files that aren't in Files.
	Omitted int `json:"omitted,omitempty" minimum:"0"`
	// Binary is the number of files that weren't searched because they aren't text.
	Binary int `json:"binary,omitempty" minimum:"0"`
	// Large is the number of files that weren't searched because they have more than 32 MiB.
	Large int `json:"large,omitempty" minimum:"0"`
	// Unread is the number of files that may not or can't be read.
	Unread int `json:"unread,omitempty" minimum:"0"`
	// Incomplete says why not all files were searched.
	Incomplete string `json:"incomplete,omitempty"`
}

// SearchedFile is a file with matches.
type SearchedFile struct {
	// Path is relative to the directory; empty if a file was searched.
	Path string `json:"path"`
	// Matches is the number of matching lines.
	Matches int `json:"matches" minimum:"1"`
	// Text has the lines, each with its number: `12:` before a match, `13-` before a line of
	// context, and `--` between parts that aren't adjacent.
	Text string `json:"text,omitempty"`
	// Cut says that Text doesn't have all matches.
	Cut bool `json:"cut,omitempty"`
}
