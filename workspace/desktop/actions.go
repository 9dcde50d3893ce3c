package desktop

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/image/draw"

	"waymark/agentapi"
)

const (
	// dragSteps and dragPause make of a drag a movement: programs begin one only when the
	// pointer has left where it was pressed, and look where it is underway.
	dragSteps, dragPause = 12, 8 * time.Millisecond
	// maxKeys is how many keys one action presses one after the other.
	maxKeys = 100
	// maxBurst is how many keys are pressed before the server is waited for.
	maxBurst = 64
)

// buttons of the pointer, as bits of RFB's.
const left, middle, right = 1, 2, 4

// wheels are the buttons of scrolling.
var wheels = map[string]byte{"up": 8, "down": 16, "left": 32, "right": 64}

// step is an action that has been understood.
type step struct {
	*agentapi.DesktopAction
	at, start *image.Point // on the real screen; set when it is made
	combos    [][]uint32   // the keys of text, in order
	held      []uint32     // or modifiers
	typed     []uint32     // or what types it
	duration  time.Duration
	on        *session // set with at
}

// kinds are the actions that press something. What they do is sent when they return.
var kinds = map[string]func(s *step, ctx context.Context, c *rfb) error{
	"key":             (*step).keys,
	"key_down":        func(s *step, _ context.Context, c *rfb) error { return s.press(c, true) },
	"key_up":          func(s *step, _ context.Context, c *rfb) error { return s.press(c, false) },
	"hold_key":        (*step).hold,
	"type":            (*step).write,
	"mouse_move":      func(*step, context.Context, *rfb) error { return nil },
	"left_click":      click(left, 1),
	"middle_click":    click(middle, 1),
	"right_click":     click(right, 1),
	"double_click":    click(left, 2),
	"triple_click":    click(left, 3),
	"left_click_drag": (*step).drag,
	"left_mouse_down": func(s *step, _ context.Context, c *rfb) error { return s.button(c, left, true) },
	"left_mouse_up":   func(s *step, _ context.Context, c *rfb) error { return s.button(c, left, false) },
	"scroll":          (*step).scroll,
}

// understand checks an action. Its errors are the caller's mistakes.
func understand(a *agentapi.DesktopAction) (s *step, err error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	s = &step{DesktopAction: a, duration: time.Second}
	if a.Duration != nil {
		s.duration = time.Duration(*a.Duration) * time.Millisecond
	}
	switch {
	case a.Text == nil || *a.Text == "":
	case a.Action == "type":
		s.typed, err = keysOf(*a.Text)
	default:
		if s.combos, err = parseKeys(*a.Text); !strings.Contains(a.Action, "key") {
			s.held = slices.Concat(s.combos...)
		}
	}
	return s, err
}

// act does an action.
func (d *session) act(ctx context.Context, s *step) (*agentapi.DesktopResult, error) {
	answer := &agentapi.DesktopResult{Output: s.Action + " action performed"}
	if s.Action == "wait" {
		return answer, rest(ctx, s.duration)
	}
	return answer, d.do(ctx, func(c *rfb) error {
		if err := c.sync(); err != nil { // the size and the position may have changed
			return err
		}
		size := s.size(c.size)
		switch s.Action {
		case "cursor_position":
			p := scale(d.at(), c.size, size)
			answer.Output = fmt.Sprintf("x=%d,y=%d", p.X, p.Y)
			return nil
		case "screenshot":
			img, err := c.picture()
			if err != nil {
				return err
			}
			answer.Width, answer.Height = c.size.X, c.size.Y
			size = s.size(c.size)
			answer.ScreenshotWidth, answer.ScreenshotHeight = size.X, size.Y
			answer.ScreenshotData, err = encoded(resized(img, size))
			return err
		}
		s.on = d
		if _, err := d.keys.fit(ctx, d, slices.Concat(s.combos...)); err != nil {
			return err
		}
		s.start, s.at = point(s.StartCoordinate, size, c.size), point(s.Coordinate, size, c.size)
		here := d.at()
		for _, key := range s.held {
			c.key(key, true)
		}
		if s.start != nil {
			here = *s.start
		} else if s.at != nil {
			here = *s.at
		}
		if s.start == nil && s.at == nil {
			s.at = &here
		} else {
			c.point(here)
		}
		err := kinds[s.Action](s, ctx, c)
		for _, key := range slices.Backward(s.held) {
			c.key(key, false)
		}
		if err != nil {
			return err
		}
		return c.sync()
	})
}

// size returns the size of the screen as the caller sees it.
func (s *step) size(screen image.Point) image.Point {
	switch longest := max(screen.X, screen.Y); {
	case s.ScaledWidth != nil:
		return image.Pt(*s.ScaledWidth, *s.ScaledHeight)
	case s.Fit > 0 && longest > s.Fit:
		return image.Pt(max(1, screen.X*s.Fit/longest), max(1, screen.Y*s.Fit/longest))
	}
	return screen
}

// scale returns the middle of a pixel in another size, within it.
func scale(p, from, to image.Point) image.Point {
	one := func(n, from, to int) int { return min(max((2*n+1)*to/(2*from), 0), to-1) }
	return image.Pt(one(p.X, from.X, to.X), one(p.Y, from.Y, to.Y))
}

func point(given *[2]int, from, to image.Point) *image.Point {
	if given == nil {
		return nil
	}
	p := scale(image.Pt(min(max(given[0], 0), from.X), min(max(given[1], 0), from.Y)), from, to)
	return &p
}

func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *step) button(c *rfb, button byte, down bool) error {
	if c.buttons &^= button; down {
		c.buttons |= button
	}
	c.point(*s.at)
	return nil
}

func click(button byte, times int) func(*step, context.Context, *rfb) error {
	return func(s *step, _ context.Context, c *rfb) error {
		for range times {
			_ = s.button(c, button, true)
			_ = s.button(c, button, false)
		}
		return nil
	}
}

func (s *step) scroll(ctx context.Context, c *rfb) error {
	direction, amount := "down", 3
	if s.ScrollDirection != nil {
		direction = *s.ScrollDirection
	}
	if s.ScrollAmount != nil {
		amount = *s.ScrollAmount
	}
	return click(wheels[direction], amount)(s, ctx, c)
}

func (s *step) drag(ctx context.Context, c *rfb) error {
	from, to := *s.start, *s.at
	c.buttons |= left
	for i := range dragSteps + 1 {
		c.point(from.Add(to.Sub(from).Mul(i).Div(dragSteps)))
		if err := c.sync(); err != nil {
			return err
		}
		if err := rest(ctx, dragPause); err != nil {
			return err
		}
	}
	return s.button(c, left, false)
}

func (s *step) press(c *rfb, down bool) error {
	for _, combo := range s.combos {
		for _, key := range combo {
			c.key(key, down)
		}
	}
	return nil
}

func (s *step) keys(_ context.Context, c *rfb) error {
	for _, combo := range s.combos {
		chord(c, combo)
	}
	return nil
}

func chord(c *rfb, combo []uint32) {
	for _, key := range combo {
		c.key(key, true)
	}
	for _, key := range slices.Backward(combo) {
		c.key(key, false)
	}
}

func (s *step) hold(ctx context.Context, c *rfb) error {
	_ = s.press(c, true)
	if err := c.sync(); err != nil {
		return err
	}
	if err := rest(ctx, s.duration); err != nil {
		return err
	}
	slices.Reverse(s.combos)
	for _, combo := range s.combos {
		slices.Reverse(combo)
	}
	return s.press(c, false)
}

// write types a text, as much at a time as there are keys for.
func (s *step) write(ctx context.Context, c *rfb) error {
	for todo := s.typed; len(todo) > 0; {
		n, err := s.on.keys.fit(ctx, s.on, todo[:min(len(todo), maxBurst)])
		if err != nil {
			return err
		}
		for _, key := range todo[:n] {
			chord(c, []uint32{key})
		}
		if err := c.sync(); err != nil {
			return err
		}
		todo = todo[n:]
	}
	return nil
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
var symbols = func() map[string]uint32 {
	all := map[string]uint32{}
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
		all[name] = uint32(n)
	}
	for i := range uint32(35) {
		all[fmt.Sprintf("f%d", i+1)] = 0xffbe + i
	}
	for i := range uint32(10) {
		all[fmt.Sprintf("kp_%d", i)] = 0xffb0 + i
	}
	return all
}()

// keysym returns the key of a character: Latin 1 is as it was before Unicode.
func keysym(r rune) (uint32, error) {
	switch {
	case r == '\n' || r == '\r':
		return symbols["return"], nil
	case r == '\t':
		return symbols["tab"], nil
	case r >= ' ' && r < 0x7f, r >= 0xa0 && r <= 0xff:
		return uint32(r), nil //nolint:gosec // no character is below 0
	case r > 0xff && r != '\uFFFD':
		return 0x01000000 | uint32(r), nil
	}
	return 0, fmt.Errorf("text has the character %U, which no key is for", r)
}

// keysOf returns the keys that type a text.
func keysOf(text string) (list []uint32, err error) {
	for _, r := range strings.ReplaceAll(text, "\r\n", "\n") {
		key, err := keysym(r)
		if err != nil {
			return nil, err
		}
		list = append(list, key)
	}
	return list, nil
}

// parseKeys reads keys as xdotool takes them: names or characters joined with "+", several
// of those with spaces between them.
func parseKeys(text string) (combos [][]uint32, err error) {
	words := strings.Fields(text)
	if len(words) == 0 { // white space itself
		list, err := keysOf(text)
		return [][]uint32{list}, err
	}
	if len(words) > maxKeys {
		return nil, fmt.Errorf("text has more than %d keys", maxKeys)
	}
	for _, word := range words {
		var combo []uint32
		names := strings.Split(word, "+")
		if rest, last := strings.CutSuffix(word, "+"); last { // the key itself
			names = append(strings.Split(strings.TrimSuffix(rest, "+"), "+"), "+")
			if rest == "" {
				names = names[1:]
			}
		}
		for _, name := range names {
			key, known := symbols[strings.ToLower(name)]
			if runes := []rune(name); !known && len(runes) == 1 {
				key, err = keysym(runes[0])
				known = err == nil
			}
			if !known {
				return nil, fmt.Errorf("there is no key %.40q: keys have X's names, such as Return, Page_Down or ctrl+shift+t", name)
			}
			combo = append(combo, key)
		}
		combos = append(combos, combo)
	}
	return combos, nil
}
