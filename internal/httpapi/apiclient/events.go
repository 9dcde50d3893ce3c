package apiclient

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// Event is one event of a text/event-stream, as sent.
type Event struct{ Type, ID, Data string }

// ErrEventTooLarge says that an event is longer than the caller accepts.
var ErrEventTooLarge = errors.New("it sends an event that is too large")

// ReadEvents calls handle with each complete event of r until handle returns false. No event
// and no line may be longer than limit bytes. If r ends first, it returns
// io.ErrUnexpectedEOF, because such a stream announces its end.
//
// It drops an event without an end, as the standard requires: the last lines before a cut
// could otherwise be taken for a position that was never sent. (Existing libraries deliver
// them, which is why none is used.)
func ReadEvents(r io.Reader, limit int, handle func(Event) bool) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, limit)
	var e Event
	var data []string
	size := 0
	for scanner.Scan() {
		line := strings.TrimSuffix(scanner.Text(), "\r")
		if size += len(line); size > limit {
			return ErrEventTooLarge
		}
		if line == "" {
			e.Data = strings.Join(data, "\n")
			if len(data) > 0 && !handle(e) {
				return nil
			}
			e, data, size = Event{}, nil, 0
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name { // a comment's is empty
		case "event":
			e.Type = value
		case "id":
			e.ID = value
		case "data":
			data = append(data, value)
		}
	}
	if err := scanner.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = ErrEventTooLarge
		}
		return err
	}
	return io.ErrUnexpectedEOF
}
