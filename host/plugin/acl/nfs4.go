package acl

import (
	"encoding/binary"
	"errors"
)

// The extended attribute in which Linux shows a list of NFS version 4: as it is
// on the wire (RFC 7530, 6.2.1), the number of entries, and of each the type,
// flags, mask and length of its name, and the name, filled up to four bytes.
const (
	nfsAllow = 0
	// nfsWrites are the rights to change a file's content, a directory's, or
	// who may: WRITE_DATA, APPEND_DATA, DELETE_CHILD, WRITE_ACL, WRITE_OWNER.
	nfsWrites = 0x2 | 0x4 | 0x40 | 0x40000 | 0x80000
	// nfsInheritOnly marks an entry that is for what is made later.
	nfsInheritOnly = 0x8
)

// ParseNFS4 reads the attribute system.nfs4_acl. An entry that denies isn't
// taken into account: in doubt somebody may write.
func ParseNFS4(data []byte) (writers []Writer, has bool, err error) {
	errShort := errors.New("the list of NFS ends early")
	word := func() (n uint32, ok bool) {
		if len(data) < 4 {
			return 0, false
		}
		n, data = binary.BigEndian.Uint32(data), data[4:]
		return n, true
	}
	entries, ok := word()
	if !ok {
		return nil, true, errShort
	}
	for range entries {
		var head [4]uint32 // type, flags, mask, length of the name
		for i := range head {
			if head[i], ok = word(); !ok {
				return nil, true, errShort
			}
		}
		padded := (uint64(head[3]) + 3) &^ 3
		if padded > uint64(len(data)) {
			return nil, true, errShort
		}
		name := string(data[:head[3]])
		data = data[padded:]
		if head[0] != nfsAllow || head[1]&nfsInheritOnly != 0 || head[2]&nfsWrites == 0 {
			continue
		}
		switch name {
		case "OWNER@":
		case "GROUP@":
			writers = append(writers, Writer{Kind: OwningGroup})
		case "EVERYONE@":
			writers = append(writers, Writer{Kind: Everyone})
		default:
			writers = append(writers, Writer{Kind: Principal, Name: name})
		}
	}
	if len(data) > 0 {
		return nil, true, errors.New("the list of NFS has more than its entries")
	}
	return writers, true, nil
}
