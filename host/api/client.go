package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"syscall"
	"time"

	"waymark/host/snapshot"
)

// ErrNotRunning says that no agent serves the socket.
var ErrNotRunning = errors.New("no agent is running")

// maxAnswer bounds what a client reads: a snapshot has at most 1,000
// resources of some KiB.
const maxAnswer = 64 << 20

// Client talks to the agent behind one socket.
type Client struct {
	path string
	http *http.Client
}

// NewClient makes a client; it connects with each call.
func NewClient(socket string) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}
	return &Client{path: socket, http: &http.Client{
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true},
		Timeout:   30 * time.Second,
	}}
}

// Status asks for the agent's status. It is ErrNotRunning when nobody
// answers.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	return get[Status](ctx, c, "/api/v0/status")
}

// Snapshot asks for the newest snapshot, without payloads.
func (c *Client) Snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	return get[snapshot.Snapshot](ctx, c, "/api/v0/context/snapshot")
}

func get[T any](ctx context.Context, c *Client, route string) (*T, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://agent"+route, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%w (nothing serves %s): start one with 'agent run'", ErrNotRunning, c.path)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	dec := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode != http.StatusOK {
		var e Error
		if dec.Decode(&e) != nil || e.Message == "" {
			e.Message = resp.Status
		}
		return nil, &e
	}
	v := new(T)
	if err := dec.Decode(v); err != nil {
		return nil, fmt.Errorf("the agent's answer can't be read: %w", err)
	}
	return v, nil
}
