package consumer

import (
	"strconv"
	"time"
)

// Unknown keys of a query are ignored; values that can't be right are not.

// text returns a parameter that may be given once; "" when it isn't.
func (c *call) text(name string) (string, error) {
	switch list := c.query[name]; len(list) {
	case 0:
		return "", nil
	case 1:
		return list[0], nil
	}
	return "", badQuery(name + " is given more than once")
}

// number returns a parameter that is a number from 0; given is false when it
// isn't there.
func (c *call) number(name string) (n int64, given bool, err error) {
	text, err := c.text(name)
	if err != nil || text == "" {
		return 0, false, err
	}
	if n, err = parseNumber(text); err != nil {
		return 0, false, badQuery(name + " is not a whole number from 0")
	}
	return n, true, nil
}

// parseNumber is strict: digits alone.
func parseNumber(text string) (int64, error) {
	n, err := strconv.ParseUint(text, 10, 63)
	return int64(n), err
}

// duration returns a parameter that is a time to wait, at most limit.
func (c *call) duration(name string, limit time.Duration) (time.Duration, error) {
	text, err := c.text(name)
	if err != nil || text == "" {
		return 0, err
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, badQuery(name + " is not a time to wait: write one like 30s or 1m")
	}
	return min(d, limit), nil
}

// markdown reports whether an answer is wanted for a prompt.
func (c *call) markdown() (bool, error) {
	format, err := c.text("format")
	switch {
	case err != nil:
		return false, err
	case format == "" || format == "json":
		return false, nil
	case format == "markdown":
		return true, nil
	}
	return false, badQuery("format is not one of json, markdown")
}
