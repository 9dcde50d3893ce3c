package workspace

// FileLines answers GET /api/v0/read-file-lines, always with 200.
type FileLines struct {
	Success    bool   `json:"success"`
	FileSize   int64  `json:"file_size,omitempty"`
	TotalLines int    `json:"total_lines,omitempty"`
	LinesRead  int    `json:"lines_read,omitempty"`
	Content    string `json:"content,omitempty"` // lines "N\ttext"
	Error      string `json:"error,omitempty"`
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

// ListDirectory is the body of POST /api/v0/list-directory. Relativity is "root"
// or "home".
type ListDirectory struct {
	Path       []string `json:"path"`
	Relativity string   `json:"relativity"`
}

// Directory answers it.
type Directory struct {
	AbsolutePath       []string         `json:"absolute_path"`
	AbsolutePathString string           `json:"absolute_path_string"`
	Contents           []DirectoryEntry `json:"contents"`
}

// DirectoryEntry is a name in it.
type DirectoryEntry struct {
	Name               string `json:"name"`
	AbsolutePathString string `json:"absolute_path_string"`
	IsDir              bool   `json:"is_dir"`
}

// EditFiles is the body of POST /api/v0/edit-files.
type EditFiles struct {
	Files       []FileEdits `json:"files"`
	IncludeDiff bool        `json:"include_diff,omitempty"`
}

// FileEdits are the edits of one file, in the order in which they are made.
type FileEdits struct {
	Path  string `json:"path"`
	Edits []Edit `json:"edits"`
}

// Edit replaces one text with another.
type Edit struct {
	Search     string `json:"search"`
	Replace    string `json:"replace"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

// EditedFiles answers it, in the order of the request.
type EditedFiles struct {
	Files []EditedFile `json:"files,omitempty"`
}

// EditedFile is a file with what has changed: a unified diff, "" for no change.
type EditedFile struct {
	Path string `json:"path"`
	Diff string `json:"diff"`
}

// Written answers POST /api/v0/write-file.
type Written struct {
	Message string `json:"message"`
}
