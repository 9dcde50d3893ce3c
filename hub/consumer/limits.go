package consumer

import (
	"cmp"
	"time"
)

// Limits bound what readers may cost a hub. A field that is 0 has its default.
type Limits struct {
	// Streams bounds the streams and waiting requests of all readers. Default
	// 1024: each costs a connection and some 20 KiB.
	Streams int
	// StreamsPerToken is for one token. Default 64: a chat server has one token
	// for many chats, but can share a stream among them.
	StreamsPerToken int
	// Heavy bounds the comparisons and renderings at a time; others wait.
	// Default 4: each holds two snapshots with their payloads.
	Heavy int
	// MaxWait is how long a request waits at most, whatever it asks for.
	// Default 1 minute, which proxies usually allow.
	MaxWait time.Duration
	// Heartbeat is how often a silent stream says that it is alive. Default
	// 15 s.
	Heartbeat time.Duration
	// Write is how long a reader may take to read what is sent. Default 30 s.
	Write time.Duration
	// Recheck is how often the tokens and sessions of streams are looked up
	// again. Default 1 s: it is one question for all of them.
	Recheck time.Duration
	// Presence is how soon a stream tells that an agent has connected or
	// disconnected. Default 500 ms.
	Presence time.Duration
}

func (l *Limits) setDefaults() {
	l.Streams = cmp.Or(l.Streams, 1024)
	l.StreamsPerToken = cmp.Or(l.StreamsPerToken, 64)
	l.Heavy = cmp.Or(l.Heavy, 4)
	l.MaxWait = cmp.Or(l.MaxWait, time.Minute)
	l.Heartbeat = cmp.Or(l.Heartbeat, 15*time.Second)
	l.Write = cmp.Or(l.Write, 30*time.Second)
	l.Recheck = cmp.Or(l.Recheck, time.Second)
	l.Presence = cmp.Or(l.Presence, 500*time.Millisecond)
}
