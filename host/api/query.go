package api

import (
	"net/http"
	"net/url"
	"time"
)

// query parses the query, and refuses what url.Values drops silently.
func query(r *http.Request) (url.Values, error) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, badQuery(err.Error())
	}
	return values, nil
}

// single returns a parameter that may be given once; "" when it isn't.
func single(values url.Values, name string) (string, error) {
	switch list := values[name]; len(list) {
	case 0:
		return "", nil
	case 1:
		return list[0], nil
	}
	return "", badQuery(name + " is given more than once")
}

// duration returns a parameter that is a time to wait, at most MaxWait; ok is
// false when it isn't given.
func (h *handler) duration(values url.Values, name string) (d time.Duration, ok bool, err error) {
	text, err := single(values, name)
	if err != nil || text == "" {
		return 0, false, err
	}
	if d, err = time.ParseDuration(text); err != nil || d < 0 {
		return 0, false, badQuery(name + " is not a time to wait: write one like 30s or 1m30s")
	}
	return min(d, h.opts.MaxWait), true, nil
}

func badQuery(detail string) error {
	return &Error{Code: http.StatusBadRequest, Message: "the query is not what it should be", Detail: detail}
}
