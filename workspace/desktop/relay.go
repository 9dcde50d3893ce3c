package desktop

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// heads are the messages of RFB's clients (RFC 6143, and what TigerVNC adds), with the length
// of their fixed part. Those in acting would act: keys, the clipboard, the pointer, the
// screen's size, keys as QEMU has them.
var (
	heads  = map[byte]int{0: 20, 2: 4, 3: 10, 4: 8, 5: 6, 6: 8, 150: 10, 248: 9, 251: 8, 255: 12}
	acting = "\x04\x05\x06\xfb\xff"
)

// view passes on what a client of RFB sends, without what would act.
func view(to io.Writer, from io.Reader) error {
	in := bufio.NewReader(from)
	greeting := len("RFB 003.008\n") + 2 // the security type, and whether the session is shared
	if version, err := in.Peek(12); err == nil && string(version) < "RFB 003.007\n" {
		greeting-- // the server chose the security type
	}
	if _, err := io.CopyN(to, in, int64(greeting)); err != nil {
		return err
	}
	for {
		kind, err := in.ReadByte()
		if err != nil {
			return err
		}
		head := make([]byte, max(1, heads[kind]))
		if head[0] = kind; len(head) == 1 {
			return fmt.Errorf("a message of kind %d", kind)
		}
		if _, err := io.ReadFull(in, head[1:]); err != nil {
			return err
		}
		more := 0
		switch kind {
		case 2:
			more = 4 * int(binary.BigEndian.Uint16(head[2:]))
		case 6: // a negative length is one of the extended clipboard
			more = int(int32(binary.BigEndian.Uint32(head[4:]))) //nolint:gosec // it is signed
			more = max(more, -more)
		case 248:
			more = int(head[8])
		case 251:
			more = 16 * int(head[6])
		}
		sink := to
		if strings.IndexByte(acting, kind) >= 0 {
			sink = io.Discard
		}
		if _, err := sink.Write(head); err != nil {
			return err
		}
		if _, err := io.CopyN(sink, in, int64(more)); err != nil {
			return err
		}
	}
}
