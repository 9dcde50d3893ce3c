package hub

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// certificateCheck is how often the files are read: whoever renews
	// certificates does so days ahead, and can send SIGHUP.
	certificateCheck = 10 * time.Second
	// maxPEM is far above what a chain of certificates takes.
	maxPEM = 1 << 20
)

// certificate is a pair of files that may be replaced at any time. It holds
// the last pair that was good.
type certificate struct {
	certFile, keyFile string
	every             time.Duration // from one reading of them to the next
	log               *slog.Logger
	current           atomic.Pointer[tls.Certificate]

	mu   sync.Mutex        // one reading at a time; guards seen
	seen [sha256.Size]byte // of what the files held at the last reading, good or not
}

// openCertificate reads the pair, which must be good.
func openCertificate(certFile, keyFile string, every time.Duration, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, every: every, log: log}
	if _, err := c.read(true); err != nil {
		return nil, err
	}
	if info, err := os.Stat(keyFile); err == nil && info.Mode().Perm()&0o007 != 0 {
		log.Warn("everybody on this machine can read the TLS key; chmod 600 it", slog.String("file", keyFile))
	}
	return c, nil
}

// read reads the files and, when they have changed or must is set, takes the
// pair in them if it is good.
func (c *certificate) read(must bool) (changed bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cert, err := readPEM(c.certFile)
	if err != nil {
		return false, fmt.Errorf("read TLS certificate: %w", err)
	}
	key, err := readPEM(c.keyFile)
	if err != nil {
		return false, fmt.Errorf("read TLS key: %w", err)
	}
	sum := sha256.Sum256(append(append(cert, 0), key...))
	if sum == c.seen && !must {
		return false, nil
	}
	c.seen = sum
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return false, fmt.Errorf("TLS certificate %s and key %s: %w; they must be PEM files that belong together", c.certFile, c.keyFile, err)
	}
	if now := time.Now(); now.After(pair.Leaf.NotAfter) || now.Before(pair.Leaf.NotBefore) {
		c.log.Warn("the TLS certificate isn't valid now; agents will refuse it", slog.String("file", c.certFile),
			slog.Time("from", pair.Leaf.NotBefore), slog.Time("until", pair.Leaf.NotAfter))
	}
	c.current.Store(&pair)
	return true, nil
}

func readPEM(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPEM))
	return data, err
}

// reload reads the files and logs what came of it. A pair that is no good leaves
// the old one in force.
func (c *certificate) reload(must bool) error {
	changed, err := c.read(must)
	switch {
	case err != nil:
		c.log.Error("TLS certificate not replaced; the old one stays in force", slog.Any("error", err),
			slog.Time("until", c.expires()))
	case changed:
		c.log.Info("TLS certificate loaded", slog.String("file", c.certFile), slog.Time("until", c.expires()))
	}
	return err
}

func (c *certificate) expires() time.Time { return c.current.Load().Leaf.NotAfter }

// watch reads the files from time to time until ctx ends. It logs once that they
// are missing.
func (c *certificate) watch(ctx context.Context) {
	ticker := time.NewTicker(c.every)
	defer ticker.Stop()
	missing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		_, err := os.Stat(c.certFile)
		if _, keyErr := os.Stat(c.keyFile); err == nil {
			err = keyErr
		}
		if err != nil && missing {
			continue
		}
		missing = err != nil
		_ = c.reload(false) // it has logged the error
	}
}

// config is for the HTTP port. There is no HTTP/2: agents turn their
// connections into WebSockets, which it doesn't have.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}
