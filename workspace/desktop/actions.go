package desktop

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jezek/xgb/xproto"
	"golang.org/x/image/draw"

	"waymark/agentapi"
)

const (
	// dragSteps and dragPause make of a drag a movement: programs begin one only when the
	// pointer has left where it was pressed, and look where it is underway.
	dragSteps, dragPause = 12, 8 * time.Millisecond
	// clickPause, in ms, keeps clicks apart: Chromium takes two of the same ms for one.
	clickPause = 4
	// maxKeys is how many keys one action presses one after the other.
	maxKeys = 100
	// maxBurst is how many keys are typed before the server is waited for.
	maxBurst = 64
)

// wheels are the buttons of scrolling.
var wheels = map[string]byte{"up": 4, "": 5, "down": 5, "left": 6, "right": 7}

// clicks are the actions that click: how often, and with which button.
var clicks = map[string]struct {
	button byte
	times  int
}{"left_click": {1, 1}, "middle_click": {2, 1}, "right_click": {3, 1}, "double_click": {1, 2}, "triple_click": {1, 3}}

// step is an action that has been understood.
type step struct {
	*agentapi.DesktopAction

	combos [][]xproto.Keysym // the keys of text, in order
	held   []xproto.Keysym   // or modifiers
	typed  []xproto.Keysym   // or what types it
}

// understand checks an action. Its errors are the caller's mistakes.
func understand(a *agentapi.DesktopAction) (s *step, err error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	s = &step{DesktopAction: a}
	switch {
	case a.Text == "":
	case a.Action == "type":
		s.typed, err = keysOf(a.Text)
	default:
		if s.combos, err = parseKeys(a.Text); !strings.Contains(a.Action, "key") {
			s.held, s.combos = slices.Concat(s.combos...), nil
		}
	}
	return s, err
}

func (s *step) pause() time.Duration {
	if s.Duration == nil {
		return time.Second
	}
	return time.Duration(*s.Duration) * time.Millisecond
}

// act does an action.
func (d *session) act(ctx context.Context, s *step) (*agentapi.DesktopResult, error) {
	answer := &agentapi.DesktopResult{Output: s.Action + " action performed"}
	if s.Action == "wait" {
		return answer, rest(ctx, s.pause())
	}
	return answer, d.do(ctx, func(x *display) error {
		if err := x.look(); err != nil {
			return err
		}
		size := s.size(x.size)
		switch s.Action {
		case "cursor_position":
			p := scale(x.pointer, x.size, size)
			answer.Output = fmt.Sprintf("x=%d,y=%d", p.X, p.Y)
			return nil
		case "screenshot":
			img, err := x.picture()
			if err != nil {
				return err
			}
			answer.Width, answer.Height, answer.ScreenshotWidth, answer.ScreenshotHeight = x.size.X, x.size.Y, size.X, size.Y
			answer.ScreenshotData, err = encoded(resized(img, size))
			return err
		}
		keys := append(slices.Concat(s.combos...), s.held...)
		if len(keys) > 0 {
			if n, err := x.fit(ctx, keys); err != nil {
				return err
			} else if n < len(keys) {
				return errors.New("text has more keys that the layout doesn't have than fit")
			}
		}
		x.down(s.held)
		begin := s.Coordinate
		if s.Action == "left_click_drag" {
			begin = s.StartCoordinate
		}
		if begin != nil {
			x.move(point(begin, size, x.size))
		}
		err := s.perform(ctx, x, size)
		x.up(s.held)
		return errors.Join(err, x.sync())
	})
}

// perform does what is left once the pointer is where it begins, and the modifiers are held.
func (s *step) perform(ctx context.Context, x *display, size image.Point) error {
	switch s.Action {
	case "key":
		for _, combo := range s.combos {
			x.down(combo)
			x.up(combo)
		}
	case "key_down":
		x.down(slices.Concat(s.combos...))
	case "key_up":
		x.up(slices.Concat(s.combos...))
	case "hold_key":
		keys := slices.Concat(s.combos...)
		x.down(keys)
		defer x.up(keys)
		return rest(ctx, s.pause())
	case "type":
		for todo := s.typed; len(todo) > 0; {
			n, err := x.fit(ctx, todo[:min(len(todo), maxBurst)])
			if err != nil {
				return err
			}
			for i := range n {
				x.down(todo[i : i+1])
				x.up(todo[i : i+1])
			}
			if err := x.sync(); err != nil {
				return err
			}
			todo = todo[n:]
		}
	case "left_mouse_down":
		x.input(xproto.ButtonPress, 1, image.Point{})
	case "left_mouse_up":
		x.input(xproto.ButtonRelease, 1, image.Point{})
	case "left_click_drag":
		x.input(xproto.ButtonPress, 1, image.Point{})
		defer x.input(xproto.ButtonRelease, 1, image.Point{})
		from, way := x.pointer, point(s.Coordinate, size, x.size).Sub(x.pointer)
		for i := range dragSteps {
			if err := errors.Join(x.sync(), rest(ctx, dragPause)); err != nil {
				return err
			}
			x.move(from.Add(way.Mul(i + 1).Div(dragSteps)))
		}
	case "scroll":
		x.click(wheels[s.ScrollDirection], cmp.Or(s.ScrollAmount, 3), 0)
	default:
		x.click(clicks[s.Action].button, clicks[s.Action].times, clickPause)
	}
	return nil
}

// size returns the size of the screen as the caller sees it.
func (s *step) size(screen image.Point) image.Point {
	if s.ScaledWidth > 0 {
		return image.Pt(s.ScaledWidth, s.ScaledHeight)
	}
	return fitting(screen, s.Fit)
}

// fitting returns a size that isn't longer than a side, if that isn't 0.
func fitting(size image.Point, side int) image.Point {
	longest := max(size.X, size.Y)
	if side == 0 || longest <= side {
		return size
	}
	return image.Pt(max(1, size.X*side/longest), max(1, size.Y*side/longest))
}

// scale returns the middle of a pixel in another size, within it.
func scale(p, from, to image.Point) image.Point {
	one := func(n, from, to int) int { return min(max((2*min(max(n, 0), from)+1)*to/(2*from), 0), to-1) }
	return image.Pt(one(p.X, from.X, to.X), one(p.Y, from.Y, to.Y))
}

func point(given []int, from, to image.Point) image.Point {
	return scale(image.Pt(given[0], given[1]), from, to)
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// resized returns a picture in another size.
func resized(img *image.RGBA, size image.Point) *image.RGBA {
	if img.Rect.Max == size {
		return img
	}
	small := image.NewRGBA(image.Rectangle{Max: size})
	draw.ApproxBiLinear.Scale(small, small.Rect, img, img.Rect, draw.Src, nil)
	return small
}

// encoded returns a PNG in base64.
func encoded(img *image.RGBA) (string, error) {
	var b bytes.Buffer
	e := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := e.Encode(&b, img); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(b.Bytes()), nil
}

// symbols are X's names of keys, without those that are characters; see X11/keysymdef.h.
// Upper and lower case are the same here.
var symbols = func() map[string]xproto.Keysym {
	all := map[string]xproto.Keysym{}
	for _, row := range strings.Fields(`backspace=ff08 tab=ff09 return=ff0d enter=ff0d pause=ff13 scroll_lock=ff14 sys_req=ff15 escape=ff1b esc=ff1b
		multi_key=ff20 home=ff50 left=ff51 up=ff52 right=ff53 down=ff54 prior=ff55 page_up=ff55 pageup=ff55 next=ff56 page_down=ff56 pagedown=ff56 end=ff57
		begin=ff58 print=ff61 insert=ff63 undo=ff65 redo=ff66 menu=ff67 find=ff68 cancel=ff69 help=ff6a break=ff6b num_lock=ff7f
		kp_enter=ff8d kp_home=ff95 kp_left=ff96 kp_up=ff97 kp_right=ff98 kp_down=ff99 kp_prior=ff9a kp_page_up=ff9a kp_next=ff9b kp_page_down=ff9b kp_end=ff9c
		kp_insert=ff9e kp_delete=ff9f kp_multiply=ffaa kp_add=ffab kp_subtract=ffad kp_decimal=ffae kp_divide=ffaf kp_equal=ffbd
		shift=ffe1 shift_l=ffe1 shift_r=ffe2 ctrl=ffe3 control=ffe3 control_l=ffe3 control_r=ffe4 caps_lock=ffe5 meta=ffe7 meta_l=ffe7 meta_r=ffe8
		alt=ffe9 alt_l=ffe9 alt_r=ffea option=ffe9 super=ffeb super_l=ffeb super_r=ffec win=ffeb cmd=ffeb command=ffeb hyper_l=ffed hyper_r=ffee
		altgr=fe03 iso_level3_shift=fe03 iso_left_tab=fe20 delete=ffff del=ffff
		space=20 exclam=21 quotedbl=22 numbersign=23 dollar=24 percent=25 ampersand=26 apostrophe=27 parenleft=28 parenright=29 asterisk=2a plus=2b comma=2c
		minus=2d period=2e slash=2f colon=3a semicolon=3b less=3c equal=3d greater=3e question=3f at=40 bracketleft=5b backslash=5c bracketright=5d
		asciicircum=5e underscore=5f grave=60 braceleft=7b bar=7c braceright=7d asciitilde=7e eurosign=20ac`) {
		name, code, _ := strings.Cut(row, "=")
		n, _ := strconv.ParseUint(code, 16, 32)
		all[name] = xproto.Keysym(n)
	}
	for i := range xproto.Keysym(35) {
		all[fmt.Sprintf("f%d", i+1)] = 0xffbe + i
	}
	for i := range xproto.Keysym(10) {
		all[fmt.Sprintf("kp_%d", i)] = 0xffb0 + i
	}
	return all
}()

// keysOf returns the keys that type a text: of Latin 1 as it was before Unicode.
func keysOf(text string) (list []xproto.Keysym, err error) {
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		key := xproto.Keysym(r) //nolint:gosec // no character is below 0
		switch {
		case r == '\n' || r == '\r':
			key = symbols["return"]
		case r == '\t':
			key = symbols["tab"]
		case r > 0xff && r != '\uFFFD':
			key |= 0x01000000
		case r < ' ', r >= 0x7f && r < 0xa0, r > 0xff:
			return nil, fmt.Errorf("text has the character %U, which no key is for", r)
		}
		list = append(list, key)
	}
	return list, nil
}

// parseKeys reads keys as xdotool takes them: names or characters joined with "+", several
// of those with spaces between them.
func parseKeys(text string) (combos [][]xproto.Keysym, err error) {
	words := strings.Fields(text)
	if len(words) == 0 { // white space itself
		list, err := keysOf(text)
		return [][]xproto.Keysym{list}, err
	}
	if len(words) > maxKeys {
		return nil, fmt.Errorf("text has more than %d keys", maxKeys)
	}
	for _, word := range words {
		var combo []xproto.Keysym
		if word == "+" || strings.HasSuffix(word, "++") {
			word = strings.TrimSuffix(word, "+") + "plus"
		}
		for name := range strings.SplitSeq(word, "+") {
			if key, known := symbols[strings.ToLower(name)]; known {
				combo = append(combo, key)
			} else if keys, err := keysOf(name); err == nil && len(keys) == 1 {
				combo = append(combo, keys[0])
			} else {
				return nil, fmt.Errorf("there is no key %.40q: keys have X's names, such as Return, Page_Down or ctrl+shift+t", name)
			}
		}
		combos = append(combos, combo)
	}
	return combos, nil
}
