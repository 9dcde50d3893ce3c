package client

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// maxEvent bounds one event and each of its lines: a hundred ids of 2304 bytes,
// escaped, come to less.
const maxEvent = 4 << 20

var errEventTooLarge = errors.New("the hub sends an event that is too large")

// frame is one event as it is sent.
type frame struct{ event, id, data string }

// readFrames calls handle with each complete event of r until r ends or handle
// says false. An event whose end is missing is none, as the standard has it:
// the last lines before a cut would otherwise be taken for a position that was
// never sent. (That is why no library is used: what there is hands them out.)
func readFrames(r io.Reader, handle func(frame) bool) error {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxEvent)
	var f frame
	var data []string
	size := 0
	for scanner.Scan() {
		line := strings.TrimSuffix(scanner.Text(), "\r")
		if size += len(line); size > maxEvent {
			return errEventTooLarge
		}
		if line == "" {
			f.data = strings.Join(data, "\n")
			if len(data) > 0 && !handle(f) {
				return nil
			}
			f, data, size = frame{}, nil, 0
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name { // a comment's is empty
		case "event":
			f.event = value
		case "id":
			f.id = value
		case "data":
			data = append(data, value)
		}
	}
	if err := scanner.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			err = errEventTooLarge
		}
		return err
	}
	return io.ErrUnexpectedEOF // a hub's stream has no end
}
