package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"golang.org/x/sys/unix"

	"waymark/agentapi"
	"waymark/internal/beneath"
	"waymark/internal/httpapi"
	"waymark/internal/httpapi/problem"
)

// writeFile answers POST /api/v0/write-file. The body is the new content.
func (s *Service) writeFile(c *httpapi.Call) error {
	if err := onlyParameters(c, "path"); err != nil {
		return err
	}
	asked, err := c.Text("path")
	if err != nil {
		return err
	}
	who, err := caller(c)
	if err != nil {
		return err
	}
	a, err := s.asker(c.Context())
	if err != nil {
		return err
	}
	if c.ContentLength > s.opts.MaxWrite {
		return &problem.Error{Code: http.StatusRequestEntityTooLarge, Message: "the body is too large", Detail: fmt.Sprintf("at most %d bytes are written", s.opts.MaxWrite)}
	}
	path, err := a.write(c.Context(), asked, c.Body)
	if err != nil {
		return answer(c, err)
	}
	s.opts.Touched(who, path)
	return c.JSON(http.StatusOK, agentapi.Written{Message: fmt.Sprintf("Successfully wrote to %q", asked)})
}

// write replaces the content of a file by the body, and returns the file's path.
func (a *asker) write(ctx context.Context, asked string, body io.Reader) (path string, err error) {
	// Missing directories are created after the body has arrived, so that an incomplete one
	// leaves nothing behind.
	p, t, err := a.toWrite(asked)
	if err != nil {
		return "", err
	}
	defer p.close()
	defer t.remove()
	// The file is private until it is dressed as the old one; a new file follows the umask.
	mode, err := modeOf(t)
	if err != nil {
		return "", refuseFor(asked, err)
	}
	if err := copyBody(t, asked, body); err != nil {
		return "", err
	}
	for range beneath.MaxSwaps {
		if err := p.put(ctx, t, mode); !errors.Is(err, errSwapped) {
			return p.path, err
		}
	}
	return "", keptChanging(asked, errSwapped)
}

// put creates the missing directories and puts a new file in its place.
func (p *place) put(ctx context.Context, t *temp, mode uint32) error {
	in, err := p.withParents()
	if err != nil {
		return err
	}
	defer in.close()
	err = in.putLocked(ctx, t, mode)
	if err != nil {
		in.takeBack()
	}
	return err
}

func (p *place) putLocked(ctx context.Context, t *temp, mode uint32) error {
	key, err := p.key()
	if err != nil {
		return err
	}
	release, err := p.a.s.locks.acquire(ctx, key)
	if err != nil {
		return err
	}
	defer release()
	p.a.s.opts.Writing(p.path)
	return p.become(t, mode)
}

// modeOf returns the mode of a new file, and makes the file private.
func modeOf(t *temp) (mode uint32, err error) {
	fd := int(t.file.Fd())
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	return uint32(st.Mode) & 0o777, unix.Fchmod(fd, 0o600) //nolint:unconvert // the type differs between platforms
}

// toWrite looks up a place, creates a file for the new content in its directory, and
// refuses what is certain to fail before the body is read.
func (a *asker) toWrite(asked string) (*place, *temp, error) {
	for range beneath.MaxSwaps {
		p, err := a.place(asked, writing)
		if err == nil {
			var t *temp
			if t, err = p.tempToWrite(); err == nil {
				return p, t, nil
			}
			p.close()
		}
		if !errors.Is(err, errSwapped) {
			return nil, nil, err
		}
	}
	return nil, nil, keptChanging(asked, errSwapped)
}

func (p *place) tempToWrite() (*temp, error) {
	if len(p.parents) == 0 {
		if _, err := p.replaceable(); err != nil {
			return nil, err
		}
	}
	t, err := p.temp(0o666)
	if errors.Is(err, unix.ENOENT) {
		return nil, errSwapped // the directory was just removed
	}
	return t, err
}

// replaceable describes the file to be replaced, and refuses one that must not be. It
// returns nil if there is none.
func (p *place) replaceable() (*unix.Stat_t, error) {
	var st unix.Stat_t
	switch err := p.stat(&st); {
	case errors.Is(err, unix.ENOENT):
		return nil, nil
	case err != nil:
		return nil, err
	}
	if err := p.mayWrite(); err != nil {
		return nil, err
	}
	return &st, p.a.otherNames(p.asked, &st)
}

// copyBody writes a request's body to the file.
func copyBody(t *temp, asked string, body io.Reader) error {
	from := &bodyReader{r: body}
	if _, err := io.CopyBuffer(struct{ io.Writer }{t.file}, from, make([]byte, chunk)); err != nil && from.err == nil {
		return refuseFor(asked, err)
	}
	var large *http.MaxBytesError
	var network net.Error
	switch err := from.err; {
	case err == nil, errors.As(err, &large):
		return err
	case errors.As(err, &network) && network.Timeout():
		return refuse(http.StatusRequestTimeout, "the body didn't come in time")
	default:
		return refuse(http.StatusBadRequest, "the body broke off")
	}
}

// bodyReader distinguishes errors of the body from those of the file.
type bodyReader struct {
	r   io.Reader
	err error
}

// Read implements io.Reader.
func (b *bodyReader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// become puts a new file in its place, dressed as the one that it replaces.
func (p *place) become(t *temp, mode uint32) error {
	old, err := p.replaceable()
	if err != nil {
		return err
	}
	if old == nil {
		err = unix.Fchmod(int(t.file.Fd()), mode)
	} else {
		w := beneath.Walker{Root: p.dir}
		from, _, errno := w.Open(p.name)
		if errno != 0 {
			from = -1 // it is writable but not readable
		}
		err = t.dress(from, old)
		if from >= 0 {
			_ = unix.Close(from)
		}
	}
	if err == nil {
		err = t.done()
	}
	if err != nil {
		return refuseFor(p.asked, err)
	}
	if err := unix.Renameat(t.dir, t.name, p.dir, p.name); err != nil {
		return p.refuseGone(err)
	}
	t.name = ""
	return nil
}
