package desktop

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"io"
	"math"
	"net"
	"slices"
	"time"

	"github.com/jezek/xgb"
	"github.com/jezek/xgb/screensaver"
	"github.com/jezek/xgb/xfixes"
	"github.com/jezek/xgb/xproto"
	"github.com/jezek/xgb/xtest"
)

// display is a client of the X server, which presses keys, moves the pointer and takes
// pictures. One goroutine uses it at a time.
type display struct {
	*xgb.Conn

	raw  net.Conn
	root xproto.Window
	// size and pointer are as they were when look was called.
	size, pointer image.Point
	// keys says how keys are pressed.
	keys map[xproto.Keysym]press
	// spare are the keycodes that stand for nothing, the longest unused first.
	spare []slot
}

// press is a keycode of the layout, and whether it needs shift.
type press struct {
	code    byte
	shifted bool
}

// slot is a spare keycode, with the key that it stands for now.
type slot struct {
	code byte
	key  xproto.Keysym
	used time.Time
}

// mapPause is how long programs may take to look up what a keycode stands for, before it
// stands for something else.
const mapPause = time.Second

// nudgePause is for what a program does between making its window and asking that it be shown.
const nudgePause = time.Second

// greeted is a connection whose greeting has the cookie of our display: xgb has only those of
// the agent's environment.
type greeted struct {
	net.Conn

	cookie []byte
}

func (c *greeted) Write(p []byte) (int, error) {
	if c.cookie == nil {
		return c.Conn.Write(p)
	}
	hello := append([]byte{'l', 0, 11, 0, 0, 0, byte(len(cookieName)), 0, byte(len(c.cookie)), 0, 0, 0}, cookieName...) //nolint:gosec // 18 and 16
	_, err := c.Conn.Write(append(append(hello, 0, 0), c.cookie...))                                                    // padded to 4 bytes
	c.cookie = nil
	return len(p), err
}

// dial connects to an X server on this machine.
func dial(ctx context.Context, number string, cookie []byte) (*display, error) {
	raw, err := (&net.Dialer{}).DialContext(ctx, "unix", "/tmp/.X11-unix/X"+number)
	if err != nil {
		return nil, err
	}
	xgb.Logger.SetOutput(io.Discard) //nolint:forbidigo // it tells of every end of a connection
	x := &display{raw: raw}
	return x, x.within(ctx, func() error {
		if x.Conn, err = xgb.NewConnNet(&greeted{raw, cookie}); err != nil {
			return err
		}
		go x.listen()
		// Their Init would also write into maps that all connections read, without a lock.
		for _, name := range []string{"XTEST", "XFIXES", "MIT-SCREEN-SAVER"} {
			extension, err := xproto.QueryExtension(x.Conn, uint16(len(name)), name).Reply() //nolint:gosec // short
			if err != nil || !extension.Present {
				return errors.Join(err, fmt.Errorf("the X server has no %s", name))
			}
			x.ExtLock.Lock()
			x.Extensions[name] = extension.MajorOpcode
			x.ExtLock.Unlock()
		}
		x.root = xproto.Setup(x.Conn).DefaultScreen(x.Conn).Root
		xproto.ChangeWindowAttributes(x.Conn, x.root, xproto.CwEventMask, []uint32{xproto.EventMaskSubstructureNotify})
		xtest.GrabControl(x.Conn, true) // nobody who has the server to himself keeps us from it
		_, err := xfixes.QueryVersion(x.Conn, 5, 0).Reply()
		return err
	})
}

// listen reads what the server tells, until the connection ends: of new layouts, and of windows.
func (x *display) listen() {
	for event, err := x.WaitForEvent(); event != nil || err != nil; event, err = x.WaitForEvent() {
		if _, created := event.(xproto.CreateNotifyEvent); created {
			time.AfterFunc(nudgePause, x.nudge)
		}
	}
}

// nudge makes an event for the window manager that means nothing: openbox may overlook a
// window that is to be shown until the next one comes.
func (x *display) nudge() {
	xproto.ChangeProperty(x.Conn, xproto.PropModeAppend, x.root, xproto.AtomCutBuffer7, xproto.AtomString, 8, 0, nil)
}

// within runs an exchange. Where it goes on for a second after the end of ctx, in which
// everything is released that it has pressed, or fails, the connection is closed.
func (x *display) within(ctx context.Context, do func() error) error {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-done:
		case <-time.After(time.Second):
			_ = x.raw.Close()
		}
	})
	err := do()
	close(done)
	if !stop() && err != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = x.raw.Close()
	}
	return err
}

// sync returns when the server has done all that was sent before: it answers in order.
func (x *display) sync() error {
	_, err := xproto.GetInputFocus(x.Conn).Reply()
	return err
}

// look asks for the screen's size and the pointer's position.
func (x *display) look() error {
	x.nudge()
	screen, err := xproto.GetGeometry(x.Conn, xproto.Drawable(x.root)).Reply()
	if err != nil {
		return err
	}
	pointer, err := xproto.QueryPointer(x.Conn, x.root).Reply()
	if err != nil {
		return err
	}
	x.size, x.pointer = image.Pt(int(screen.Width), int(screen.Height)), image.Pt(int(pointer.RootX), int(pointer.RootY))
	return nil
}

// quiet returns for how long nobody has pressed or moved anything.
func (x *display) quiet() (time.Duration, error) {
	input, err := screensaver.QueryInfo(x.Conn, xproto.Drawable(x.root)).Reply()
	if err != nil {
		return 0, err
	}
	return time.Duration(input.MsSinceUserInput) * time.Millisecond, nil
}

// picture returns what the screen shows, with the pointer.
func (x *display) picture() (*image.RGBA, error) {
	all, err := xproto.GetImage(x.Conn, xproto.ImageFormatZPixmap, xproto.Drawable(x.root), 0, 0, uint16(x.size.X), uint16(x.size.Y), math.MaxUint32).Reply() //nolint:gosec // X has no larger ones
	if err != nil {
		return nil, err
	}
	arrow, err := xfixes.GetCursorImage(x.Conn).Reply()
	if err != nil {
		return nil, err
	}
	img := &image.RGBA{Pix: all.Data, Stride: 4 * x.size.X, Rect: image.Rectangle{Max: x.size}}
	if len(img.Pix) < img.Stride*x.size.Y {
		return nil, fmt.Errorf("the X server has sent %d bytes for %v pixels", len(img.Pix), x.size)
	}
	for i := 0; i+3 < len(img.Pix); i += 4 { // from blue, green, red
		img.Pix[i], img.Pix[i+2], img.Pix[i+3] = img.Pix[i+2], img.Pix[i], 255
	}
	cursor := image.NewRGBA(image.Rect(0, 0, int(arrow.Width), int(arrow.Height)))
	for i, argb := range arrow.CursorImage {
		copy(cursor.Pix[4*i:], []byte{byte(argb >> 16), byte(argb >> 8), byte(argb), byte(argb >> 24)}) //nolint:gosec // its bytes
	}
	draw.Draw(img, cursor.Rect.Add(image.Pt(int(arrow.X)-int(arrow.Xhot), int(arrow.Y)-int(arrow.Yhot))), cursor, image.Point{}, draw.Over)
	return img, nil
}

// input is something that a person would do, as X's events are numbered.
func (x *display) input(kind, detail byte, at image.Point) {
	xtest.FakeInput(x.Conn, kind, detail, 0, x.root, int16(at.X), int16(at.Y), 0) //nolint:gosec // within the screen
}

// move moves the pointer.
func (x *display) move(to image.Point) {
	x.input(xproto.MotionNotify, 0, to)
	x.pointer = to
}

// click presses and releases a button some times, with a pause in ms before each.
func (x *display) click(button byte, times int, pause uint32) {
	for range times {
		xtest.FakeInput(x.Conn, xproto.ButtonPress, button, pause, x.root, 0, 0, 0)
		x.input(xproto.ButtonRelease, button, image.Point{})
	}
}

// down presses keys together, of which all must be available; up releases them.
func (x *display) down(keys []xproto.Keysym) {
	for _, code := range x.codes(keys) {
		x.input(xproto.KeyPress, code, image.Point{})
	}
}

func (x *display) up(keys []xproto.Keysym) {
	for _, code := range slices.Backward(x.codes(keys)) {
		x.input(xproto.KeyRelease, code, image.Point{})
	}
}

// codes returns what is pressed for keys, with shift before the first that needs it.
func (x *display) codes(keys []xproto.Keysym) (list []byte) {
	shift := x.keys[symbols["shift"]].code
	for _, key := range keys {
		p := x.keys[key]
		if p.shifted && !slices.Contains(list, shift) {
			list = append(list, shift)
		}
		list = append(list, p.code)
	}
	return list
}

// layout asks which keys there are: programs may have changed that.
func (x *display) layout() error {
	setup := xproto.Setup(x.Conn)
	least := setup.MinKeycode
	now, err := xproto.GetKeyboardMapping(x.Conn, least, byte(setup.MaxKeycode-least+1)).Reply()
	if err != nil {
		return err
	}
	x.keys = map[xproto.Keysym]press{}
	per := int(now.KeysymsPerKeycode)
	var spare []slot
	for level := range min(per, 2) {
		for i, code := 0, byte(least); (i+1)*per <= len(now.Keysyms); i, code = i+1, code+1 {
			keys := now.Keysyms[i*per : (i+1)*per]
			key := keys[level]
			had := slices.IndexFunc(x.spare, func(s slot) bool { return s.code == code })
			// Not those of buttons for the mail and the like: Chromium goes by the keycode, and
			// pastes at that of Paste, whatever it stands for.
			ours := had >= 0 && x.spare[had].key == key
			if level == 0 && (ours || !slices.ContainsFunc(keys, func(k xproto.Keysym) bool { return k != 0 })) {
				s := slot{code: code, key: key}
				if ours {
					s.used = x.spare[had].used
				}
				spare = append(spare, s)
			}
			if _, known := x.keys[key]; !known && key != 0 {
				// A modifier acts on whatever level it is.
				x.keys[key] = press{code, level > 0 && (key < symbols["shift"] || key > symbols["hyper_r"])}
			}
		}
	}
	x.spare = slices.SortedStableFunc(slices.Values(spare), func(a, b slot) int { return a.used.Compare(b.used) })
	if len(x.spare) == 0 {
		return fmt.Errorf("the X server's layout has no spare key")
	}
	return nil
}

// fit makes keys available that the layout hasn't, and returns how many of all: as many as
// there are keycodes for now, and at least one. Xvnc itself gives a key a keycode for good, so
// that it has none left after a word in a script that isn't Latin.
func (x *display) fit(ctx context.Context, keys []xproto.Keysym) (n int, err error) {
	if err := x.layout(); err != nil {
		return 0, err
	}
	for ; n < len(keys); n++ {
		p, known := x.keys[keys[n]]
		i := slices.IndexFunc(x.spare, func(s slot) bool { return s.code == p.code })
		if !known {
			i = 0
		} else if i < 0 {
			continue
		}
		s := x.spare[i]
		if !known {
			if wait := time.Until(s.used.Add(mapPause)); wait > 0 && n > 0 {
				break
			} else if err := rest(ctx, wait); err != nil {
				return 0, err
			}
			delete(x.keys, s.key)
			s.key, x.keys[keys[n]] = keys[n], press{code: s.code}
			xproto.ChangeKeyboardMapping(x.Conn, 1, xproto.Keycode(s.code), 2, []xproto.Keysym{s.key, s.key})
		}
		s.used = time.Now()
		x.spare = append(slices.Delete(x.spare, i, i+1), s)
	}
	return n, x.sync()
}
