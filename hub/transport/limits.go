package transport

import (
	"cmp"
	"time"

	"waymark/wire"
)

// Limits bound what agents, and whoever else connects, may cost. A field that is 0
// has its default.
type Limits struct {
	// Connections bounds the agents' connections. Default 4096: enough for
	// thousands of agents at some 100 KiB each, and below the usual limits of
	// open files.
	Connections int
	// Unauthenticated bounds the connections on which no token has been shown
	// yet, on each listener, in addition to Connections; above it the oldest is
	// dropped. Default 1024: as many agents as come back in the moment that
	// showing a token takes.
	Unauthenticated int
	// SessionsPerToken bounds the connections of one token; above it the
	// oldest is dropped, since an agent that comes back may have left dead
	// ones behind. Default 8: with plain DRPC an agent has two, one of them for
	// the reverse channel.
	SessionsPerToken int
	// Streams bounds the calls at a time on one WebSocket. Default 16: an
	// agent makes a handful.
	Streams int
	// Large bounds the messages over 64 KiB that are received, checked and
	// stored at a time; others wait. Default 16, of which one token has at
	// most 1.
	Large int
	// Rate and Burst bound the calls and connections of one token per second.
	// Defaults 50 and 200: what an agent of ours can do whose files change
	// all the time.
	Rate  float64
	Burst int
	// TotalRate and TotalBurst are the same for all together. Defaults 5000
	// and 10000, more than one database writes.
	TotalRate  float64
	TotalBurst int
	// Handshake is how long a new connection has to show a token, and an HTTP
	// request to arrive. Default 10 s.
	Handshake time.Duration
	// Read is how long a message may take to arrive, and a stream to begin
	// with one. Default 30 s: 4 MiB over a slow line.
	Read time.Duration
	// Stall is by how much a large message may lag behind 32 KiB per second
	// while it is received: others wait for its slot. Default 5 s.
	Stall time.Duration
	// Write is how long the peer may refuse to read, and to close a stream on
	// which it has its answer. Default 10 s.
	Write time.Duration
	// Farewell is how long a peer has to read why its connection ends, where
	// that is said. Default 1 s.
	Farewell time.Duration
	// Ping is how often a WebSocket's peer is pinged; one that doesn't answer
	// within Write is dropped. Default 30 s.
	Ping time.Duration
	// Recheck is how often the tokens of open connections are looked up
	// again, so that a revoked one ends them. Default 1 s.
	Recheck time.Duration
}

func (l *Limits) setDefaults() {
	l.Connections = cmp.Or(l.Connections, 4096)
	l.Unauthenticated = cmp.Or(l.Unauthenticated, 1024)
	l.SessionsPerToken = cmp.Or(l.SessionsPerToken, 8)
	l.Streams = cmp.Or(l.Streams, 16)
	l.Large = cmp.Or(l.Large, 16)
	l.Rate = cmp.Or(l.Rate, 50)
	l.Burst = cmp.Or(l.Burst, 200)
	l.TotalRate = cmp.Or(l.TotalRate, 5000)
	l.TotalBurst = cmp.Or(l.TotalBurst, 10000)
	l.Handshake = cmp.Or(l.Handshake, 10*time.Second)
	l.Read = cmp.Or(l.Read, 30*time.Second)
	l.Stall = cmp.Or(l.Stall, 5*time.Second)
	l.Write = cmp.Or(l.Write, 10*time.Second)
	l.Farewell = cmp.Or(l.Farewell, time.Second)
	l.Ping = cmp.Or(l.Ping, 30*time.Second)
	l.Recheck = cmp.Or(l.Recheck, time.Second)
}

const (
	// smallCall is what a call may send before it has shown its token, and
	// without a slot for large messages. Most deltas are smaller.
	smallCall = 64 << 10
	// framing is more than what DRPC puts around the longest message: 65
	// frames, the method and the metadata.
	framing = 32 << 10
	// maxCall bounds what a call may send in all.
	maxCall = wire.MaxMessage + framing
	// largePerToken keeps a few agents from having all slots.
	largePerToken = 1
	// MinUpload is how many bytes per second of a large message have to come
	// while it has a slot: a slow line's, and not those of a peer that dribbles
	// to keep the slot.
	MinUpload = 32 << 10
	// expensiveParts is how many parts make a message one that takes much to
	// decode: some 30 times its bytes.
	expensiveParts = 20_000
	// expensiveDecodes bounds how many of those are decoded at a time.
	expensiveDecodes = 2
)
