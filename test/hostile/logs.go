package hostile

import (
	"sync"
)

// logBuffer collects the engine's log.
type logBuffer struct {
	mu   sync.Mutex // guards text
	text []byte
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.text) < 4*maxLogged {
		l.text = append(l.text, p...)
	}
	return len(p), nil
}

func (l *logBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	text := string(l.text)
	l.text = l.text[:0]
	return text
}
