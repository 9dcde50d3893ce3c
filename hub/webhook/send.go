package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/google/uuid"

	"waymark/hub/store"
)

const (
	// tryTimeout is for one try, from its first to its last byte: receivers are to take a
	// message down and work on it afterwards.
	tryTimeout = 10 * time.Second
	// maxAnswer is how much of an answer's body is read, so that a connection ends well.
	maxAnswer = 4 << 10
	maxHeader = 16 << 10
)

// ErrInside says that a webhook's name leads to an address that isn't outside.
var ErrInside = errors.New("its address is this machine's or a private one; --private allows that")

// Sender sends messages. The zero value works.
type Sender struct {
	// TLS says which certificates are believed; nil are those of the system.
	TLS *tls.Config
	// Dial makes connections in place of a net.Dialer, and judges no address; it is for
	// tests, which have no network under testing/synctest.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Test has the webhook take a message of the type webhook.test, at once and by the same rules
// as all others. Its errors are those of Send.
func Test(ctx context.Context, w *store.Webhook, now time.Time) error {
	body, err := store.NewMessage(store.WebhookTest, now, nil)
	if err != nil {
		return err
	}
	return new(Sender).Send(ctx, w, &store.Message{ID: "msg_" + uuid.NewString(), Body: body, CreatedAt: now}, now)
}

// Send tries once to have the webhook take the message. The error is one line and has
// neither the URL, nor the secret, nor what was answered.
func (s *Sender) Send(ctx context.Context, w *store.Webhook, m *store.Message, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	if err := w.Check(); err != nil { // whoever has written to the database
		return err
	}
	signer, err := standardwebhooks.NewWebhook(w.Secret)
	if err != nil {
		return err
	}
	signature, err := signer.Sign(m.ID, now, m.Body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(m.Body))
	if err != nil {
		return errors.New("its URL is none")
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "waymark-hub")
	request.Header.Set(standardwebhooks.HeaderWebhookID, m.ID)
	request.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	request.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	// A transport of its own, so that no connection is used for a webhook that wasn't
	// made under its rules.
	transport := &http.Transport{
		DialContext: s.dialer(w.Private), TLSClientConfig: s.TLS, ForceAttemptHTTP2: true,
		DisableKeepAlives: true, MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
	}
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return plain(err)
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswer) // what it says doesn't matter
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return fmt.Errorf("it answers %d, and redirects aren't followed", code)
	default:
		return fmt.Errorf("it answers %d", code)
	}
}

// plain says what went wrong without the URL.
func plain(err error) error {
	var dns *net.DNSError
	var unknown *tls.CertificateVerificationError
	switch {
	case errors.Is(err, ErrInside):
		return ErrInside
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it doesn't answer within %s", tryTimeout)
	case errors.As(err, &dns):
		return errors.New("its name has no address")
	case errors.As(err, &unknown):
		return errors.New("its certificate is not one that is believed")
	case errors.Is(err, syscall.ECONNREFUSED):
		return errors.New("it takes no connections")
	}
	return errors.New("the connection doesn't work, or ends early")
}

func (s *Sender) dialer(private bool) func(ctx context.Context, network, address string) (net.Conn, error) {
	if s.Dial != nil {
		return s.Dial
	}
	d := &net.Dialer{Timeout: tryTimeout}
	if !private {
		// It gets the address that is about to be connected to, after all names.
		d.Control = func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil || !Outside(to.Addr()) {
				return ErrInside
			}
			return nil
		}
	}
	return d.DialContext
}

// inside are ranges that aren't outside beside those that netip knows: they lead to
// networks of an operator, to nowhere, or to other addresses by a gateway.
var inside = func() (list []netip.Prefix) {
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "5f00::/16", "fec0::/10",
	} {
		list = append(list, netip.MustParsePrefix(text))
	}
	return list
}()

// Outside reports whether an address belongs to the public Internet.
func Outside(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return a.IsGlobalUnicast() && !a.IsPrivate() && !slices.ContainsFunc(inside, func(p netip.Prefix) bool { return p.Contains(a) })
}
