package desktop

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"net"
	"strings"
	"time"
)

// Messages and encodings of RFB 3.8 (RFC 6143), and those that TigerVNC adds.
const (
	rfbVersion = "RFB 003.008\n"

	msgPixelFormat, msgEncodings, msgRequest, msgKey, msgPointer, msgCutText = 0, 2, 3, 4, 5, 6
	msgContinuous, msgFence, msgSetSize, msgQEMU                             = 150, 248, 251, 255
	msgUpdate, msgColours, msgBell, msgServerCutText                         = 0, 1, 2, 3

	encRaw, encSize, encPosition = 0, -223, 0x574d5666 // the last two carry no pixels
)

// rfb is a connection to an RFB server on this machine, which presses keys, moves the
// pointer and takes pictures. It asks for raw pixels: over a Unix socket packing them costs
// more than sending them. One goroutine uses it at a time.
type rfb struct {
	conn    net.Conn
	in      *bufio.Reader
	size    image.Point
	buttons byte
	// moved is called with every position of the pointer that is known of.
	moved func(image.Point)
	// out gathers messages until they are sent together.
	out []byte
}

// dialRFB connects to a server's Unix socket.
func dialRFB(ctx context.Context, socket string, moved func(image.Point)) (*rfb, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	c := &rfb{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), moved: moved}
	if err := c.within(ctx, c.introduce); err != nil {
		return nil, fmt.Errorf("the X server doesn't speak RFB as it should: %w", err)
	}
	return c, nil
}

// within runs an exchange, which ends with ctx. After an error the connection is closed,
// because nobody knows how far the exchange got; the server then releases what is pressed.
func (c *rfb) within(ctx context.Context, do func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	err := do()
	if !stop() && err != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = c.conn.Close()
	}
	return err
}

func (c *rfb) introduce() error {
	var version [len(rfbVersion)]byte
	if _, err := io.ReadFull(c.in, version[:]); err != nil {
		return err
	}
	if !strings.HasPrefix(string(version[:]), "RFB 003.") || string(version[:]) < rfbVersion {
		return fmt.Errorf("it has version %q", version)
	}
	// The security type None, and a session that is shared with others.
	if _, err := c.conn.Write([]byte(rfbVersion)); err != nil {
		return err
	}
	n, err := c.in.ReadByte()
	if err != nil {
		return err
	}
	if _, err := c.in.Discard(int(n)); err != nil {
		return err
	}
	if _, err := c.conn.Write([]byte{1, 1}); err != nil {
		return err
	}
	var head struct {
		Security      uint32
		Width, Height uint16
		Format        [16]byte
		Name          uint32
	}
	if err := binary.Read(c.in, binary.BigEndian, &head); err != nil {
		return err
	}
	if head.Security != 0 {
		return errors.New("it wants a password")
	}
	if _, err := c.in.Discard(int(head.Name)); err != nil {
		return err
	}
	c.size = image.Pt(int(head.Width), int(head.Height))
	// Pixels of four bytes: red, green, blue and nothing, as image.RGBA has them.
	c.out = append(c.out, msgPixelFormat, 0, 0, 0, 32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 0, 8, 16, 0, 0, 0)
	encodings := [...]int32{encRaw, encSize, encPosition}
	c.out = append(c.out, msgEncodings, 0, 0, byte(len(encodings)))
	c.out, _ = binary.Append(c.out, binary.BigEndian, encodings)
	return c.sync()
}

// key presses or releases a key.
func (c *rfb) key(sym uint32, down bool) {
	pressed := byte(0)
	if down {
		pressed = 1
	}
	c.out = binary.BigEndian.AppendUint32(append(c.out, msgKey, pressed, 0, 0), sym)
}

// point moves the pointer, with c.buttons pressed.
func (c *rfb) point(p image.Point) {
	c.out = append(c.out, msgPointer, c.buttons)
	c.out, _ = binary.Append(c.out, binary.BigEndian, [2]uint16{uint16(p.X), uint16(p.Y)}) //nolint:gosec // within the screen
	c.moved(p)
}

// flush sends what is gathered.
func (c *rfb) flush() error {
	_, err := c.conn.Write(c.out)
	c.out = c.out[:0]
	return err
}

// sync returns when the server has done all that was sent before: it answers in order.
func (c *rfb) sync() error {
	c.request(image.Rect(0, 0, 1, 1))
	_, err := c.update(nil)
	return err
}

// request asks for a part of the screen.
func (c *rfb) request(r image.Rectangle) {
	c.out = append(c.out, msgRequest, 0)
	c.out, _ = binary.Append(c.out, binary.BigEndian, [4]uint16{uint16(r.Min.X), uint16(r.Min.Y), uint16(r.Dx()), uint16(r.Dy())}) //nolint:gosec // within the screen
}

// picture returns what the screen shows, with the pointer.
func (c *rfb) picture() (*image.RGBA, error) {
	for {
		img := image.NewRGBA(image.Rectangle{Max: c.size})
		c.request(img.Rect)
		n, err := c.update(img)
		switch {
		case err != nil:
			return nil, err
		case c.size != img.Rect.Max: // it has another size now
			continue
		case n >= c.size.X*c.size.Y:
			for i := 3; i < len(img.Pix); i += 4 {
				img.Pix[i] = 255
			}
			return img, nil
		}
	}
}

// update sends what is gathered, and reads until an update with pixels has come. It returns
// how many there were. They are stored in img, if that isn't nil.
func (c *rfb) update(img *image.RGBA) (pixels int, err error) {
	if err := c.flush(); err != nil {
		return 0, err
	}
	for pixels == 0 {
		kind, err := c.in.ReadByte()
		if err != nil {
			return 0, err
		}
		switch kind {
		case msgUpdate:
			if pixels, err = c.rectangles(img); err != nil {
				return 0, err
			}
		case msgBell:
		case msgServerCutText: // the clipboard is none of our business
			var head struct {
				_      [3]byte
				Length int32
			}
			if err := binary.Read(c.in, binary.BigEndian, &head); err != nil {
				return 0, err
			}
			if _, err := c.in.Discard(max(int(head.Length), -int(head.Length))); err != nil {
				return 0, err
			}
		default:
			return 0, fmt.Errorf("it has sent a message of kind %d", kind)
		}
	}
	return pixels, nil
}

// rectangles reads the rectangles of an update.
func (c *rfb) rectangles(img *image.RGBA) (pixels int, err error) {
	var head struct {
		_ byte
		N uint16
	}
	if err := binary.Read(c.in, binary.BigEndian, &head); err != nil {
		return 0, err
	}
	for range head.N {
		var r struct {
			X, Y, W, H uint16
			Encoding   int32
		}
		if err := binary.Read(c.in, binary.BigEndian, &r); err != nil {
			return 0, err
		}
		at := image.Rect(int(r.X), int(r.Y), int(r.X)+int(r.W), int(r.Y)+int(r.H))
		switch r.Encoding {
		case encSize:
			c.size, img = at.Size(), nil
		case encPosition:
			c.moved(at.Min)
		case encRaw:
			pixels += at.Dx() * at.Dy()
			if img == nil || !at.In(img.Rect) {
				if _, err := c.in.Discard(4 * at.Dx() * at.Dy()); err != nil {
					return 0, err
				}
				continue
			}
			for y := at.Min.Y; y < at.Max.Y; y++ {
				row := img.PixOffset(at.Min.X, y)
				if _, err := io.ReadFull(c.in, img.Pix[row:row+4*at.Dx()]); err != nil {
					return 0, err
				}
			}
		default:
			return 0, fmt.Errorf("it has sent pixels in the encoding %d", r.Encoding)
		}
	}
	return pixels, nil
}

// relay passes on what a client of RFB sends. If it only views, what would act is left out:
// keys, the pointer, the clipboard, the screen's size. acted is called for what acts, with the
// position of the pointer, or nil.
func relay(to io.Writer, from io.Reader, views bool, acted func(*image.Point)) error {
	in := bufio.NewReader(from)
	greeting := len(rfbVersion) + 2 // the security type, and whether the session is shared
	if version, err := in.Peek(len(rfbVersion)); err == nil && string(version) < "RFB 003.007\n" {
		greeting-- // the server chose the security type
	}
	if _, err := io.CopyN(to, in, int64(greeting)); err != nil {
		return err
	}
	for {
		var length int
		var acts bool
		var at *image.Point
		head, err := in.Peek(1)
		if err != nil {
			return err
		}
		// more returns bytes of a message that say how long it is.
		more := func(n int) (part []byte) {
			if part, err = in.Peek(n); err != nil {
				part = make([]byte, n)
			}
			return part
		}
		switch kind := head[0]; kind {
		case msgPixelFormat:
			length = 20
		case msgEncodings:
			length = 4 + 4*int(binary.BigEndian.Uint16(more(4)[2:]))
		case msgRequest, msgContinuous:
			length = 10
		case msgKey:
			length, acts = 8, true
		case msgPointer:
			length, acts = 6, true
			p := more(6)
			at = &image.Point{X: int(binary.BigEndian.Uint16(p[2:])), Y: int(binary.BigEndian.Uint16(p[4:]))}
		case msgCutText: // a negative length is one of the extended clipboard
			n := int(int32(binary.BigEndian.Uint32(more(8)[4:]))) //nolint:gosec // it is signed
			length, acts = 8+max(n, -n), true
		case msgFence:
			length = 9 + int(more(9)[8])
		case msgSetSize:
			length, acts = 8+16*int(more(8)[6]), true
		case msgQEMU:
			if more(2)[1] != 0 {
				return errors.New("a message that isn't known")
			}
			length, acts = 12, true
		default:
			return fmt.Errorf("a message of kind %d", kind)
		}
		if err != nil {
			return err
		}
		sink := to
		switch {
		case acts && views:
			sink = io.Discard
		case acts:
			acted(at)
		}
		if _, err := io.CopyN(sink, in, int64(length)); err != nil {
			return err
		}
	}
}
