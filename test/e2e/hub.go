package e2e

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/sqlite"
)

// Hub is a hub in this process, with a real database.
type Hub struct {
	// URL leads to it over a socket, Web over a WebSocket.
	URL, Web string
	// Stored has every push.
	Stored *Record

	dir  string
	hub  *hub.Hub
	web  *http.Server
	runs sync.WaitGroup
}

// StartHub starts a hub that keeps its files in dir. A hub may be started again
// there after Close.
func StartHub(ctx context.Context, dir string, log *slog.Logger) (*Hub, error) {
	st, err := sqlite.Open(ctx, filepath.Join(dir, "hub.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	h := &Hub{dir: dir, Stored: &Record{Store: st}}
	if h.hub, err = hub.New(hub.Options{Store: h.Stored, Logger: log}); err != nil {
		return nil, errors.Join(err, st.Close())
	}
	if err := h.serve(ctx); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

func (h *Hub) serve(ctx context.Context) error {
	var lc net.ListenConfig
	socket := filepath.Join(h.dir, "hub.sock")
	plain, err := lc.Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	h.runs.Go(func() { _ = h.hub.ServeDRPC(context.WithoutCancel(ctx), plain) })
	h.URL = "unix:" + socket
	web, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	h.Web = "http://" + web.Addr().String()
	h.web = &http.Server{Handler: h.hub.Handler(), ReadHeaderTimeout: 10 * time.Second}
	h.runs.Go(func() { _ = h.web.Serve(web) })
	return nil
}

// Token makes a token for an agent and returns the file that holds it.
func (h *Hub) Token(ctx context.Context, agentID string) (file string, err error) {
	text, _, err := hub.CreateToken(ctx, h.Stored, store.NewToken{Role: store.RoleAgent, AgentID: agentID})
	if err != nil {
		return "", err
	}
	file = filepath.Join(h.dir, agentID+".token")
	return file, os.WriteFile(file, []byte(text+"\n"), 0o600)
}

// Close ends everything. The database stays.
func (h *Hub) Close() error {
	var errs []error
	if h.web != nil {
		errs = append(errs, h.web.Close())
	}
	errs = append(errs, h.hub.Close())
	h.runs.Wait()
	return errors.Join(append(errs, h.Stored.Close())...)
}
