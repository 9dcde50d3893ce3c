package sandbox

// LogLine is one line that a guest logged.
type LogLine struct {
	Level string // trace, debug, info, warn, error
	Text  string // one line of valid UTF-8, at most 1 KiB
}

// logKeeper keeps the log lines of one instance up to a number of bytes and
// counts what it drops. It is used by one goroutine, the one that runs the
// guest.
type logKeeper struct {
	max     int
	used    int
	lines   []LogLine
	dropped int
}

func (k *logKeeper) add(level, message string) {
	if k.used >= k.max {
		k.dropped++
		return
	}
	text := oneLine(message, guestTextMax)
	if k.used+len(text) > k.max {
		k.dropped++
		return
	}
	k.used += len(text) + 1 // the line break counts, so that empty lines end too
	k.lines = append(k.lines, LogLine{Level: level, Text: text})
}
