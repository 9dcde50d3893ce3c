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
	// Replace is the new text.
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
	// Diff is a unified diff with three lines of context; empty if nothing has changed.
	Diff string `json:"diff"`
}

// Written answers POST /api/v0/write-file.
type Written struct {
	// Message says what was written.
	Message string `json:"message"`
}
