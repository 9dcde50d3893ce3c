package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"

	"waymark/abi"
)

// aggregateVersion opens the encoding and changes with it. A hash that silently changed its
// meaning would mark every pinned chat as dirty.
const aggregateVersion = "waymark-context-v1"

// Aggregate returns the SHA-256 of what a chat would pin. Two snapshots with the same hash
// look the same to a chat. Peers compare it and never recompute it.
//
// It leaves out resources of the kinds mcp_config and mcp_server, whose changes peers follow
// without asking. It leaves out fields that say how a resource was found (source path,
// resolver, staleness, size, error text). It also leaves out what comes from the table of
// conventions (convention, readers, scope, findings): that changes with each release, and every
// pin would drift.
//
// # Encoding
//
// The hash is over the following bytes. A number is 8 bytes, big-endian, unsigned. A string
// is its length in bytes as a number, then its bytes.
//
//	aggregate = string "waymark-context-v1"
//	            number of resources
//	            resource*                    in byte order of their ids
//	resource  = string kind
//	            string source
//	            string key                   "" when there is none
//	            string status
//	            string name
//	            string description
//	            number of attributes
//	            attribute*                   in byte order of their names
//	            string content hash          32 bytes, or "" when there is none
//	attribute = string name
//	            byte 't', string             one string
//	          | byte 'l', number, string*    a list of strings
//
// Every part states its own length, so no two lists have the same encoding.
func Aggregate(resources []Resource) Hash {
	pinned := make([]*Resource, 0, len(resources))
	for i := range resources {
		if k := resources[i].Kind; k != abi.KindMCPConfig && k != abi.KindMCPServer {
			pinned = append(pinned, &resources[i])
		}
	}
	if !slices.IsSortedFunc(pinned, compareIDs) { // as in a snapshot
		slices.SortStableFunc(pinned, compareIDs)
	}

	sum := sha256.New()
	enc := appendNumber(appendText(make([]byte, 0, 2*encodedAtOnce), aggregateVersion), len(pinned))
	for _, r := range pinned {
		if enc = appendPinned(enc, r); len(enc) > encodedAtOnce {
			sum.Write(enc)
			enc = enc[:0]
		}
	}
	sum.Write(enc)
	return sum.Sum(nil)
}

// encodedAtOnce is how many bytes are hashed together.
const encodedAtOnce = 8 << 10

func appendPinned(enc []byte, r *Resource) []byte {
	enc = appendText(enc, string(r.Kind))
	enc = appendText(enc, r.Source)
	enc = appendText(enc, r.Key)
	enc = appendText(enc, string(r.Status))
	enc = appendText(enc, r.Name)
	enc = appendText(enc, r.Description)
	enc = appendAttributes(enc, r.Attributes)
	return appendText(enc, string(r.ContentHash))
}

func appendAttributes(enc []byte, attrs Attributes) []byte {
	enc = appendNumber(enc, len(attrs))
	if len(attrs) == 0 {
		return enc
	}
	for _, name := range slices.Sorted(maps.Keys(attrs)) {
		enc = appendText(enc, name)
		value := attrs[name]
		if value.List == nil {
			enc = appendText(append(enc, 't'), value.Text)
			continue
		}
		enc = appendNumber(append(enc, 'l'), len(value.List))
		for _, item := range value.List {
			enc = appendText(enc, item)
		}
	}
	return enc
}

func appendText(enc []byte, s string) []byte {
	return append(appendNumber(enc, len(s)), s...)
}

func appendNumber(enc []byte, n int) []byte {
	return binary.BigEndian.AppendUint64(enc, uint64(n)) //nolint:gosec // a length, never negative
}
