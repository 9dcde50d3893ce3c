package desktop

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"time"
)

// Xvnc gives each character that its layout hasn't got a key that is free, for good, and
// drops what comes when none is left: after a word in a script that isn't Latin. So keys are
// given to the characters here, in turn, by two requests of X's core protocol.
type keymap struct {
	// slots are the keycodes that nobody misses, the longest unused first; nil until
	// they are needed.
	slots []slot
}

// slot is a keycode with the key that it stands for now.
type slot struct {
	code byte
	key  uint32
	used time.Time
}

// mapPause is how long programs may take to look up what a keycode stands for, before it
// stands for something else.
const mapPause = time.Second

// foreign reports whether a key isn't on the layout, which has ASCII and what has a name.
func foreign(key uint32) bool { return key > 0x7e && (key < 0xfe00 || key > 0xffff) }

// fit makes keys available, and returns how many of them: as many as there are keycodes for
// now, and at least one.
func (m *keymap) fit(ctx context.Context, d *session, keys []uint32) (n int, err error) {
	if !slices.ContainsFunc(keys, foreign) {
		return len(keys), nil
	}
	x, err := dialX(ctx, d)
	if err != nil {
		return 0, err
	}
	defer func() { _ = x.Close() }()
	if m.slots == nil {
		if m.slots, err = x.spare(); err != nil {
			return 0, err
		}
	}
	var changed []slot
	for ; n < len(keys); n++ {
		if !foreign(keys[n]) {
			continue
		}
		i := max(0, slices.IndexFunc(m.slots, func(s slot) bool { return s.key == keys[n] }))
		s := m.slots[i]
		if s.key != keys[n] {
			if wait := time.Until(s.used.Add(mapPause)); wait > 0 && n > 0 {
				break
			} else if err := rest(ctx, wait); err != nil {
				return 0, err
			}
			s.key = keys[n]
			changed = append(changed, s)
		}
		s.used = time.Now()
		m.slots = append(slices.Delete(m.slots, i, i+1), s)
	}
	if len(changed) == 0 {
		return n, nil
	}
	return n, x.change(changed)
}

// xconn is a connection to the X server, with the range of its keycodes.
type xconn struct {
	net.Conn
	least, most byte
}

// dialX connects to the session's display.
func dialX(ctx context.Context, d *session) (*xconn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", "/tmp/.X11-unix/X"+d.display[1:])
	if err != nil {
		return nil, err
	}
	if at, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(at)
	}
	hello := []byte{'l', 0, 11, 0, 0, 0, byte(len(cookieName)), 0, byte(len(d.cookie)), 0, 0, 0} //nolint:gosec // 18 and 16
	hello = append(padded(append(hello, cookieName...)), d.cookie...)
	var head [8]byte
	if _, err = conn.Write(padded(hello)); err == nil {
		_, err = io.ReadFull(conn, head[:])
	}
	setup := make([]byte, 4*int(binary.LittleEndian.Uint16(head[6:])))
	if err == nil {
		_, err = io.ReadFull(conn, setup)
	}
	if err == nil && (head[0] != 1 || len(setup) < 32) {
		err = fmt.Errorf("the X server refuses its own cookie: %q", setup)
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &xconn{conn, setup[26], setup[27]}, nil
}

func padded(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }

// spare returns the keycodes that nobody misses.
func (x *xconn) spare() (list []slot, err error) {
	const getKeyboardMapping = 101
	count := int(x.most) - int(x.least) + 1
	if _, err := x.Write([]byte{getKeyboardMapping, 0, 2, 0, x.least, x.most - x.least + 1, 0, 0}); err != nil {
		return nil, err
	}
	body, per, err := x.reply()
	if err != nil || len(body) < 4*per*count {
		return nil, fmt.Errorf("the X server doesn't tell its keys: %w", err)
	}
	for i := range count {
		taken := false
		for j := range per { // keys of keyboards with a button for the mail are nobody's
			key := binary.LittleEndian.Uint32(body[4*(per*i+j):])
			taken = taken || key != 0 && key>>8 != 0x1008ff
		}
		if !taken {
			list = append(list, slot{code: x.least + byte(i)})
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("the X server's layout has no spare key")
	}
	return list, nil
}

// maxReply bounds an answer of the X server; that about its keys has some 10 KiB.
const maxReply = 1 << 20

// reply reads the answer to a request, with the byte in its head; events are dropped.
func (x *xconn) reply() (body []byte, detail int, err error) {
	for {
		var head [32]byte
		if _, err := io.ReadFull(x, head[:]); err != nil {
			return nil, 0, err
		}
		switch head[0] {
		case 0:
			return nil, 0, fmt.Errorf("error %d of the X server", head[1])
		case 1:
			n := binary.LittleEndian.Uint32(head[4:])
			if n > maxReply/4 {
				return nil, 0, fmt.Errorf("an answer of the X server has more than %d bytes", maxReply)
			}
			body = make([]byte, 4*n)
			_, err = io.ReadFull(x, body)
			return body, int(head[1]), err
		}
	}
}

// change has keycodes stand for their keys, the same with shift and without. It returns when
// that is done.
func (x *xconn) change(slots []slot) error {
	const changeKeyboardMapping, getInputFocus = 100, 43
	var out []byte
	for _, s := range slots {
		out = append(out, changeKeyboardMapping, 1, 4, 0, s.code, 2, 0, 0)
		out, _ = binary.Append(out, binary.LittleEndian, [2]uint32{s.key, s.key})
	}
	if _, err := x.Write(append(out, getInputFocus, 0, 1, 0)); err != nil {
		return err
	}
	_, _, err := x.reply()
	return err
}
