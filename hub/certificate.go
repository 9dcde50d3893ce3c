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
	// certificateCheck is how often the files are read. That suffices because certificates
	// are renewed days ahead, and SIGHUP reads them at once.
	certificateCheck = 10 * time.Second
	// maxPEM limits a file, far above the size of a certificate chain.
	maxPEM = 1 << 20
)

// certificate is a pair of files that may be replaced at any time. It holds the last valid
// pair.
type certificate struct {
	certFile, keyFile string
	every             time.Duration // interval of reading them
	log               *slog.Logger
	current           atomic.Pointer[tls.Certificate]

	mu   sync.Mutex        // serializes reading, and guards seen
	seen [sha256.Size]byte // hash of the files' content at the last reading, valid or not
}

// openCertificate reads the pair, which must be valid.
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

// read reads the files. If they have changed or must is set, and the pair is valid, it
// takes over the pair.
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

// reload reads the files and logs the result. An invalid pair leaves the old one in force.
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

// watch reads the files regularly until ctx ends. It logs only once that they are missing.
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
		_ = c.reload(false) // reload logs the error
	}
}

// config returns the TLS configuration for the HTTP port. It excludes HTTP/2, because
// agents use WebSockets.
func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return c.current.Load(), nil
		},
	}
}
