package transport

import (
	"cmp"
	"time"

	"waymark/wire"
)

// Limits limit what agents and other peers may cost. 0 means the default.
type Limits struct {
	// Connections limits the agents' connections. Default MaxConnections.
	Connections int
	// Unauthenticated limits the connections of each listener without a token, in addition
	// to Connections; beyond it the oldest is dropped. Default 1024: as many agents as
	// reconnect in the time that showing a token takes.
	Unauthenticated int
	// SessionsPerToken limits the connections of a token; beyond it the oldest is dropped,
	// because a reconnecting agent may have left dead ones. Default 8: with plain DRPC an
	// agent has two, one of them for the reverse channel.
	SessionsPerToken int
	// Streams limits the concurrent calls on a WebSocket. Default 16: an agent makes a
	// handful.
	Streams int
	// Large limits the messages over 64 KiB that are received, checked and stored at a
	// time; others wait. Default 16, of which a token has at most 1.
	Large int
	// Rate and Burst limit the calls and connections of a token per second. Defaults 50 and
	// 200: what an agent needs whose files change all the time.
	Rate  float64
	Burst int
	// TotalRate and TotalBurst are the same for all tokens together. Defaults 5000 and
	// 10000, more than a database can write.
	TotalRate  float64
	TotalBurst int
	// Handshake limits how long a new connection may take to show a token, and an HTTP
	// request to arrive. Default 10 s.
	Handshake time.Duration
	// Read limits how long a message may take to arrive, and a stream to begin with one.
	// Default 30 s: 4 MiB over a slow connection.
	Read time.Duration
	// Stall is how far a large message may fall behind 32 KiB per second while it is
	// received, because others wait for its slot. Default 5 s.
	Stall time.Duration
	// Write limits how long the peer may not read, and how long it may take to close a
	// stream after its answer. Default 10 s.
	Write time.Duration
	// Farewell is how long a peer has to read why its connection ends, if there is a
	// reason. Default 1 s.
	Farewell time.Duration
	// Ping is the interval of pings on a WebSocket; a peer that doesn't answer within Write
	// is disconnected. Default 30 s.
	Ping time.Duration
	// Recheck is the interval of checking the tokens of open connections again. Default 1
	// s.
	Recheck time.Duration
}

// MaxConnections is the default of Limits.Connections: enough for thousands of agents at some
// 100 KiB each, and below the usual limits of open files.
const MaxConnections = 4096

func (l *Limits) setDefaults() {
	l.Connections = cmp.Or(l.Connections, MaxConnections)
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
	// smallCall is what a call may send before it has shown its token, and without a slot
	// for large messages. Most deltas are smaller.
	smallCall = 64 << 10
	// framing is more than DRPC adds to the longest message: 65 frames, the method and the
	// metadata.
	framing = 32 << 10
	// maxCall limits the total size of a call.
	maxCall = wire.MaxMessage + framing
	// largePerToken prevents a few agents from taking all slots.
	largePerToken = 1
	// MinUpload is the minimum rate of a large message with a slot, in bytes per second:
	// that of a slow connection, but above that of a peer that sends slowly to keep the
	// slot.
	MinUpload = 32 << 10
	// expensiveParts is the number of parts above which a message is expensive to decode:
	// some 30 times its size.
	expensiveParts = 20_000
	// expensiveDecodes limits how many of those are decoded at a time.
	expensiveDecodes = 2
)
