package guest

// Level is the importance of a log line.
type Level int

// The levels of the Extism convention.
const (
	LevelTrace Level = iota
	LevelDebug
	LevelInfo
	LevelWarn
	LevelError
)

// Log hands one line to the host's log, up to a number of bytes per run; what
// a user should see belongs into Response.Warnings. Natively it writes to
// standard error.
func Log(level Level, message string) { log(level, message) }
