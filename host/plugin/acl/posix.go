package acl

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The extended attribute in which Linux shows a POSIX list: a version, and
// entries of 8 bytes; all numbers little-endian.
const (
	posixVersion = 2
	posixEntry   = 8

	tagUserObj  = 0x01
	tagUser     = 0x02
	tagGroupObj = 0x04
	tagGroup    = 0x08
	tagMask     = 0x10
	tagOther    = 0x20

	permWrite = 2
	permAll   = 7
)

// ParsePOSIX reads the attribute system.posix_acl_access. A list without
// entries is none: has is false, and the mode's bits say all.
func ParsePOSIX(data []byte) (writers []Writer, has bool, err error) {
	const head = 4
	if len(data) < head || (len(data)-head)%posixEntry != 0 {
		return nil, true, fmt.Errorf("the list has an impossible length of %d bytes", len(data))
	}
	if version := binary.LittleEndian.Uint32(data); version != posixVersion {
		return nil, true, fmt.Errorf("the list has version %d, known is %d", version, posixVersion)
	}
	if len(data) == head {
		return nil, false, nil
	}
	seen := map[uint16]int{}
	masked := []Writer{}
	mask := uint16(permAll)
	for entry := data[head:]; len(entry) > 0; entry = entry[posixEntry:] {
		tag, perm := binary.LittleEndian.Uint16(entry), binary.LittleEndian.Uint16(entry[2:])
		id := binary.LittleEndian.Uint32(entry[4:])
		seen[tag]++
		if perm > permAll {
			return nil, true, fmt.Errorf("the list has an entry with the permissions %#x", perm)
		}
		writes := perm&permWrite != 0
		switch {
		case tag == tagMask:
			mask = perm
		case tag == tagOther && writes:
			writers = append(writers, Writer{Kind: Everyone})
		case tag == tagGroupObj && writes:
			masked = append(masked, Writer{Kind: OwningGroup})
		case tag == tagUser && writes:
			masked = append(masked, Writer{Kind: User, ID: id})
		case tag == tagGroup && writes:
			masked = append(masked, Writer{Kind: Group, ID: id})
		case tag != tagUserObj && tag != tagUser && tag != tagGroupObj && tag != tagGroup && tag != tagOther:
			return nil, true, fmt.Errorf("the list has an entry of the unknown sort %#x", tag)
		}
	}
	if seen[tagUserObj] != 1 || seen[tagGroupObj] != 1 || seen[tagOther] != 1 || seen[tagMask] > 1 ||
		seen[tagMask] == 0 && seen[tagUser]+seen[tagGroup] > 0 {
		return nil, true, errors.New("the list lacks entries, or has some twice")
	}
	if mask&permWrite != 0 {
		writers = append(writers, masked...)
	}
	return writers, true, nil
}
