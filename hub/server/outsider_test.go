package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// outsider is a consumer that was written against the OpenAPI document alone:
// it knows the names of operations and what the document says of them, and
// nothing of this repository. It follows one agent and reads each revision.
type outsider struct {
	token string
	// base returns the URL of a hub, another one when the last didn't do.
	base func() string
	// paths are those of the document, by operationId.
	paths map[string]string

	last   string // id of the last event
	resets []string
	// revisions are in the order in which they came; texts are what the one
	// resource held.
	revisions []int64
	texts     map[int64]string
}

// learn reads the document.
func (o *outsider) learn(ctx context.Context) error {
	data, err := o.get(ctx, o.base()+"/api/v0/openapi.json", nil)
	if err != nil {
		return err
	}
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return err
	}
	o.paths = map[string]string{}
	for path, item := range document.Paths {
		for _, raw := range item {
			var operation struct {
				ID string `json:"operationId"`
			}
			if json.Unmarshal(raw, &operation) == nil && operation.ID != "" {
				o.paths[operation.ID] = path
			}
		}
	}
	return nil
}

func (o *outsider) request(ctx context.Context, url string, headers map[string]string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+o.token)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	return http.DefaultClient.Do(request)
}

func (o *outsider) get(ctx context.Context, url string, headers map[string]string) ([]byte, error) {
	response, err := o.request(ctx, url, headers)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, data)
	}
	return data, err
}

// follow goes on, over any number of connections, until ctx ends. took is
// called with each revision.
func (o *outsider) follow(ctx context.Context, agentID string, took func(int64)) error {
	for ctx.Err() == nil {
		err := o.connection(ctx, agentID, took)
		if wrong := (*wrongError)(nil); errors.As(err, &wrong) {
			return err
		}
		select { // what "retry" says
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil
}

// wrongError is what must not happen, as opposed to a lost connection.
type wrongError struct{ text string }

func (e *wrongError) Error() string { return e.text }

func (o *outsider) connection(ctx context.Context, agentID string, took func(int64)) error {
	base := o.base()
	headers := map[string]string{}
	query := "?agent_id=" + agentID
	if o.last == "" {
		query += "&after=0"
	} else {
		headers["Last-Event-ID"] = o.last
	}
	response, err := o.request(ctx, base+o.paths["follow"]+query, headers)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("follow: %s", response.Status)
	}
	fields := map[string]string{}
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if line := lines.Text(); line != "" {
			name, value, _ := strings.Cut(line, ":")
			fields[name] = strings.TrimPrefix(value, " ")
			continue
		}
		if err := o.take(ctx, base, fields, took); err != nil {
			return err
		}
		fields = map[string]string{}
	}
	return nil
}

// take takes one event in.
func (o *outsider) take(ctx context.Context, base string, fields map[string]string, took func(int64)) error {
	switch fields["event"] {
	case "context":
		var data map[string]any
		if err := json.Unmarshal([]byte(fields["data"]), &data); err != nil {
			return &wrongError{err.Error()}
		}
		revision := int64(data["revision"].(float64))
		path := strings.ReplaceAll(o.paths["showResource"], "{id}", data["agent_id"].(string))
		path = strings.ReplaceAll(path, "{rid}", data["changed"].([]any)[0].(string))
		text, err := o.get(ctx, fmt.Sprint(base, path, "?revision=", revision), nil)
		if err != nil {
			return err // the hub went away: the event comes again
		}
		o.revisions = append(o.revisions, revision)
		o.texts[revision] = string(text)
		defer took(revision)
	case "reset":
		o.resets = append(o.resets, fields["data"])
	}
	if id := fields["id"]; id != "" {
		o.last = id
	}
	return nil
}
