package push

import (
	"context"
	"errors"
	"io"

	"storj.io/drpc"
	"storj.io/drpc/drpcconn"
	"storj.io/drpc/drpcmanager"
	"storj.io/drpc/drpcstream"
	"storj.io/drpc/drpcwire"

	"waymark/wire"
)

// Errors that a Dialer wraps when a peer refuses a connection for a reason
// that trying again at once won't mend.
var (
	ErrUnauthorized   = errors.New("the peer refuses the token")
	ErrVersionRefused = errors.New("the peer refuses this version of the API")
)

// Dialer makes connections to one peer.
type Dialer interface {
	// Dial makes one. The connection outlives ctx.
	Dial(ctx context.Context) (drpc.Conn, error)
}

// DialFunc is a function as a Dialer.
type DialFunc func(ctx context.Context) (drpc.Conn, error)

// Dial implements Dialer.
func (f DialFunc) Dial(ctx context.Context) (drpc.Conn, error) { return f(ctx) }

// keptBuffer is the largest message, in bytes, for which a connection keeps the
// memory that it was encoded in. A delta fits; a full push is rare, and large.
const keptBuffer = 64 << 10

// NewConn speaks DRPC over transport, which it owns from then on.
func NewConn(transport io.ReadWriteCloser) drpc.Conn {
	return drpcconn.NewWithOptions(transport, drpcconn.Options{Manager: drpcmanager.Options{
		Reader: drpcwire.ReaderOptions{MaximumBufferSize: wire.MaxMessage},
		Stream: drpcstream.Options{MaximumBufferSize: keptBuffer},
	}})
}
