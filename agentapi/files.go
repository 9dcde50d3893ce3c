package agentapi

// FileLines answers GET /api/v0/read-file-lines, always with 200.
type FileLines struct {
	// Success says that the lines are there, and Error is not.
	Success bool `json:"success"`
	// FileSize is the size of the file, in bytes; left out for 0.
	FileSize int64 `json:"file_size,omitempty"`
	// TotalLines is how many lines the file has; behind a final newline one more is counted.
	TotalLines int `json:"total_lines,omitempty"`
	// LinesRead is how many of them are in Content.
	LinesRead int `json:"lines_read,omitempty"`
	// Content has the lines, each as its number, a tab and its text, with newlines between them.
	Content string `json:"content,omitempty"`
	// Error says why there are no lines, and what to do.
	Error string `json:"error,omitempty"`
}

// LineRange says which lines are wanted. Zero means the default: from line 1,
// 1 MiB, 1,024 bytes, 2,000 lines, 32 KiB.
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
	// Path has the names on the way to the directory.
	Path []string `json:"path" required:"false"`
	// Relativity is where the way begins: at the root of the file system, or in the home
	// directory. It is needed unless the query has the path.
	Relativity string `json:"relativity" enum:"root,home" required:"false"`
}

// Directory answers POST /api/v0/list-directory.
type Directory struct {
	// AbsolutePath has the names on the way to the directory, from the root.
	AbsolutePath []string `json:"absolute_path"`
	// AbsolutePathString is the same as one text.
	AbsolutePathString string `json:"absolute_path_string"`
	// Contents has directories first, then all else, both by name.
	Contents []DirectoryEntry `json:"contents"`
}

// DirectoryEntry is a name in a directory.
type DirectoryEntry struct {
	// Name is the name itself.
	Name string `json:"name"`
	// AbsolutePathString is its absolute path.
	AbsolutePathString string `json:"absolute_path_string"`
	// IsDir says that it is a directory. A link to one is none.
	IsDir bool `json:"is_dir"`
}

// EditFiles is the body of POST /api/v0/edit-files.
type EditFiles struct {
	// Files are those to be edited, with at most 1,000 edits together.
	Files []FileEdits `json:"files" minItems:"1" maxItems:"100"`
	// IncludeDiff asks for what has changed.
	IncludeDiff bool `json:"include_diff,omitempty" default:"false"`
}

// FileEdits are the edits of one file.
type FileEdits struct {
	// Path is the file, an absolute path.
	Path string `json:"path"`
	// Edits are made in this order, each on the result of the one before it.
	Edits []Edit `json:"edits" minItems:"1"`
}

// Edit replaces one text with another.
type Edit struct {
	// Search is the text that is there: exactly, or but for the blanks around its lines.
	Search string `json:"search" minLength:"1"`
	// Replace is the text in its place.
	Replace string `json:"replace"`
	// ReplaceAll replaces Search wherever it is. Otherwise more than one match is an error.
	ReplaceAll bool `json:"replace_all,omitempty" default:"false"`
}

// EditedFiles answers POST /api/v0/edit-files.
type EditedFiles struct {
	// Files, with `include_diff` only, are those of the request, in its order.
	Files []EditedFile `json:"files,omitempty"`
}

// EditedFile is a file with what has changed.
type EditedFile struct {
	// Path is as in the request.
	Path string `json:"path"`
	// Diff is unified, with three lines of context; empty where nothing changes.
	Diff string `json:"diff"`
}

// Written answers POST /api/v0/write-file.
type Written struct {
	// Message says what was written.
	Message string `json:"message"`
}
