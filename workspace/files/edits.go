package files

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"

	"golang.org/x/sys/unix"

	"waymark/agentapi"
	"waymark/internal/beneath"
	"waymark/internal/errtext"
	"waymark/internal/httpapi"
	"waymark/workspace/access"
	"waymark/workspace/files/edit"
)

// maxTries is how often edits are repeated because a file was saved meanwhile.
const maxTries = 4

// editFiles answers POST /api/v0/edit-files.
func (s *Service) editFiles(c *httpapi.Call) error {
	if err := onlyParameters(c); err != nil {
		return err
	}
	who, err := caller(c)
	if err != nil {
		return err
	}
	var body agentapi.EditFiles
	if err := c.Decode(&body); err != nil {
		return err
	}
	if err := s.bounded(body); err != nil {
		return answer(c, err)
	}
	for _, f := range body.Files {
		access.Note(c.Context(), f.Path)
	}
	a, err := s.asker(c.Context())
	if err != nil {
		return err
	}
	select {
	case s.parallel <- struct{}{}:
		defer func() { <-s.parallel }()
	case <-c.Context().Done():
		return context.Cause(c.Context())
	}
	edited, paths, err := a.edit(c.Context(), body)
	if err != nil {
		return answer(c, err)
	}
	s.opts.Touched(who, paths...)
	return c.JSON(http.StatusOK, agentapi.EditedFiles{Files: edited})
}

// bounded refuses a request that is too large.
func (s *Service) bounded(body agentapi.EditFiles) error {
	edits := 0
	for _, f := range body.Files {
		edits += len(f.Edits)
	}
	switch {
	case len(body.Files) == 0:
		return refuse(http.StatusBadRequest, "name at least one file")
	case len(body.Files) > maxFiles, edits > maxEdits:
		return refuse(http.StatusBadRequest, "%d edits in %d files: at most %d in %d are made at once", edits, len(body.Files), maxEdits, maxFiles)
	}
	return nil
}

// edit makes all edits, or none.
func (a *asker) edit(ctx context.Context, body agentapi.EditFiles) (edited []agentapi.EditedFile, paths []string, err error) {
	for range maxTries {
		b := &batch{a: a}
		edited, paths, err = b.run(ctx, body)
		b.close()
		if !errors.Is(err, errChanged) && !errors.Is(err, errSwapped) {
			return edited, paths, err
		}
	}
	return nil, nil, &refusal{code: http.StatusConflict, text: err.Error() + ": try again", err: err}
}

// batch is one attempt to make all edits of a call.
type batch struct {
	a        *asker
	targets  []*target
	failures failures
	total    int64 // bytes in memory
	release  func()
}

// target is a file to edit.
type target struct {
	*place
	key           lockKey
	edits         []agentapi.Edit
	file          *file
	before, after string
	temp          *temp // nil if nothing changes
}

func (b *batch) close() {
	for _, t := range b.targets {
		if t.temp != nil {
			t.temp.remove()
		}
		if t.file != nil {
			t.file.close()
		}
		t.close()
	}
	if b.release != nil {
		b.release()
	}
}

func (b *batch) run(ctx context.Context, body agentapi.EditFiles) ([]agentapi.EditedFile, []string, error) {
	if err := b.find(ctx, body); err != nil {
		return nil, nil, err
	}
	for _, t := range b.targets {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		if err := b.compute(t); errors.Is(err, errSwapped) {
			return nil, nil, err
		} else if err != nil {
			b.failures.add(err)
		}
	}
	if err := b.failures.err(); err != nil {
		return nil, nil, err
	}
	if err := b.commit(); err != nil {
		return nil, nil, err
	}
	var edited []agentapi.EditedFile
	var paths []string
	for _, t := range b.targets {
		paths = append(paths, t.path)
		if body.IncludeDiff {
			edited = append(edited, agentapi.EditedFile{Path: t.asked, Diff: edit.Diff(t.asked, t.before, t.after)})
		}
	}
	return edited, paths, nil
}

// find looks up all files and locks them.
func (b *batch) find(ctx context.Context, body agentapi.EditFiles) error {
	var keys []lockKey
	seen := make(map[lockKey]bool)
	for _, f := range body.Files {
		t, err := b.target(f)
		switch {
		case errors.Is(err, errSwapped):
			return err
		case err != nil:
			b.failures.add(err)
			continue
		}
		b.targets = append(b.targets, t)
		if seen[t.key] {
			b.failures.add(twice(t))
			continue
		}
		seen[t.key] = true
		keys = append(keys, t.key)
	}
	var err error
	b.release, err = b.a.s.locks.acquire(ctx, keys...)
	return err
}

func twice(t *target) error {
	return refuse(http.StatusBadRequest, "%q is there twice: put all edits of a file together", t.asked)
}

// target checks an entry of the request.
func (b *batch) target(f agentapi.FileEdits) (*target, error) {
	p, err := b.a.place(f.Path, writing)
	if err != nil {
		return nil, err
	}
	t := &target{place: p, edits: f.Edits}
	if t.key, err = p.key(); err == nil {
		err = t.checkEdits()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return t, nil
}

func (t *target) checkEdits() error {
	if len(t.edits) == 0 {
		return refuse(http.StatusBadRequest, "%q: there are no edits", t.asked)
	}
	for i, e := range t.edits {
		if e.Search == "" {
			return refuse(http.StatusBadRequest, "%q: edit %d: search is empty", t.asked, i+1)
		}
	}
	return nil
}

// compute reads a file and applies its edits in memory.
func (b *batch) compute(t *target) (err error) {
	if t.file, err = t.open(); err != nil {
		return err
	}
	if err := t.mayWrite(); err != nil {
		return err
	}
	for _, other := range b.targets {
		if other != t && other.file != nil && identityOf(&other.file.st) == identityOf(&t.file.st) {
			return twice(t) // through a hard link
		}
	}
	size := t.file.st.Size
	if b.total += size; size > b.a.s.opts.MaxEdit || b.total > 4*b.a.s.opts.MaxEdit {
		return refuse(http.StatusBadRequest, "%q has %d bytes: files of at most %d are edited, and %d bytes in one call: use a command", t.asked, size,
			b.a.s.opts.MaxEdit, 4*b.a.s.opts.MaxEdit)
	}
	if t.before, err = t.file.text(); err != nil {
		return refuseFor(t.asked, err)
	}
	if t.after, _, err = edit.Apply(t.before, t.edits); err != nil {
		return refuse(http.StatusBadRequest, "%q: %s", t.asked, err)
	}
	if b.total += int64(len(t.after)); int64(len(t.after)) > 4*b.a.s.opts.MaxEdit {
		return refuse(http.StatusBadRequest, "%q would have %d bytes: use a command", t.asked, len(t.after))
	}
	return nil
}

// text reads the whole file.
func (f *file) text() (string, error) {
	var text strings.Builder
	text.Grow(int(f.st.Size))
	if _, err := io.Copy(&text, io.NewSectionReader(f, 0, f.st.Size)); err != nil {
		return "", err
	}
	return text.String(), nil
}

// commit writes all changed files, and exchanges them when all are written.
func (b *batch) commit() error {
	var paths []string
	for _, t := range b.targets {
		if t.after == t.before {
			continue
		}
		if err := t.write(); err != nil {
			return refuseFor(t.asked, err)
		}
		paths = append(paths, t.path)
	}
	b.a.s.opts.Writing(paths...)
	for i, t := range b.targets {
		if t.temp == nil {
			continue
		}
		if err := t.swap(b.a.s.exchange); err != nil {
			return b.rollBack(i, err)
		}
	}
	return nil
}

// write writes the new file next to the old one.
func (t *target) write() (err error) {
	if t.temp, err = t.place.temp(0o600); err != nil {
		return err
	}
	if _, err := io.WriteString(t.temp.file, t.after); err != nil {
		return err
	}
	if err := t.temp.dress(t.file.fd, &t.file.st); err != nil {
		return err
	}
	return t.temp.done()
}

// swap exchanges the new file with the old one, unless that isn't the file that was read.
func (t *target) swap(exchange func(dir int, a, b string) error) error {
	if !t.isOld(t.name) {
		return errChanged
	}
	err := exchange(t.dir, t.temp.name, t.name)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP),
		errors.Is(err, unix.EPERM): // a container's filter may not know the call
		return t.swapByLink()
	case errors.Is(err, unix.ENOENT):
		return errChanged // it was removed
	case err != nil:
		return refuseFor(t.asked, err)
	}
	if !t.isOld(t.temp.name) {
		return t.swapBack(exchange)
	}
	t.temp.replaced = true
	return nil
}

// swapBack restores what somebody saved just before the exchange. If the file was saved
// again since, that version is what the exchange returns, and is restored in turn: the last
// save wins.
func (t *target) swapBack(exchange func(dir int, a, b string) error) error {
	var made unix.Stat_t
	if err := unix.Fstat(int(t.temp.file.Fd()), &made); err != nil {
		return refuseFor(t.asked, err)
	}
	err, there := error(nil), identityOf(&made)
	for range maxSwapBacks {
		var saved, out unix.Stat_t
		if err = statAt(t.dir, t.temp.name, &saved); err == nil {
			err = exchange(t.dir, t.temp.name, t.name)
		}
		if errors.Is(err, unix.ENOENT) {
			// The name doesn't exist any more: link the saved file to it; its temporary
			// name is removed later. Somebody may have created the name again meanwhile.
			if err = unix.Linkat(t.dir, t.temp.name, t.dir, t.name, 0); err == nil {
				return errChanged
			}
			if errors.Is(err, unix.EEXIST) {
				continue
			}
			if errors.Is(err, unix.ENOENT) {
				return t.nothingToRestore(identityOf(&made))
			}
		}
		if err != nil {
			break
		}
		if statAt(t.dir, t.temp.name, &out) != nil || identityOf(&out) == there {
			return errChanged
		}
		there, err = identityOf(&saved), errChanged
	}
	kept := t.temp.name
	t.temp.name = "" // so that it isn't removed
	return refuse(http.StatusInternalServerError, "%q was saved meanwhile, and what was saved may be in %q beside it: %s", t.asked, kept, errtext.Of(err))
}

// nothingToRestore is the result if somebody removed what the exchange returned, perhaps
// with the whole directory. If the new file still has the name, the edit was made: another
// try would make it again, in its own result.
func (t *target) nothingToRestore(made identity) error {
	var now unix.Stat_t
	if statAt(t.dir, t.name, &now) != nil || identityOf(&now) != made {
		return errChanged
	}
	t.temp.name, t.temp.replaced = "", true
	return nil
}

// maxSwapBacks limits how often files are exchanged because of saves in between. Each
// exchange takes microseconds.
const maxSwapBacks = 100

func statAt(dir int, name string, st *unix.Stat_t) error {
	if errno := beneath.StatAt(dir, name, st); errno != 0 {
		return errno
	}
	return nil
}

// swapByLink is swap for file systems that can't exchange files. The old file gets a second
// name, and the new one replaces the first.
func (t *target) swapByLink() error {
	kept := tempName()
	linked := unix.Linkat(t.dir, t.name, t.dir, kept, 0) == nil
	if !linked {
		kept = t.name
	}
	if !t.isOld(kept) {
		if linked {
			_ = unix.Unlinkat(t.dir, kept, 0)
		}
		return errChanged
	}
	if err := unix.Renameat(t.dir, t.temp.name, t.dir, t.name); err != nil {
		if linked {
			_ = unix.Unlinkat(t.dir, kept, 0)
		}
		return refuseFor(t.asked, err)
	}
	t.temp.name, t.temp.replaced = "", true
	if linked {
		t.temp.name = kept
	}
	return nil
}

// isOld reports whether a name refers to the file that was read, with the same content.
// Times aren't sufficient: two saves may have the same.
func (t *target) isOld(name string) bool {
	var st unix.Stat_t
	if statAt(t.dir, name, &st) != nil || identityOf(&st) != identityOf(&t.file.st) || st.Size != t.file.st.Size {
		return false
	}
	buf := make([]byte, chunk)
	for off := int64(0); off < st.Size; {
		part := buf[:min(int64(len(buf)), st.Size-off)]
		if n, err := t.file.ReadAt(part, off); err != nil || n < len(part) || string(part) != t.before[off:off+int64(n)] {
			return false
		}
		off += int64(len(part))
	}
	return true
}

// rollBack undoes the exchanges before the target that failed.
func (b *batch) rollBack(failed int, why error) error {
	var left []string
	for i := failed - 1; i >= 0; i-- {
		t := b.targets[i]
		if t.temp == nil || !t.temp.replaced {
			continue
		}
		if t.temp.name == "" || !t.isNew() || unix.Renameat(t.dir, t.temp.name, t.dir, t.name) != nil {
			left = append(left, t.asked)
			continue
		}
		t.temp.name = ""
	}
	if left == nil {
		return why
	}
	return &refusal{code: http.StatusInternalServerError, err: nil,
		text: why.Error() + "; these were edited before that and couldn't be put back: " + strings.Join(left, ", ")}
}

// isNew reports whether the name still refers to the new file. Later saves by others must
// stay.
func (t *target) isNew() bool {
	var now, made unix.Stat_t
	return statAt(t.dir, t.name, &now) == nil && unix.Fstat(int(t.temp.file.Fd()), &made) == nil &&
		identityOf(&now) == identityOf(&made) && now.Size == int64(len(t.after))
}

// failures are the errors of a call.
type failures struct {
	code  int
	texts []string
	other error // not the caller's mistake
}

func (f *failures) add(err error) {
	r, ok := errors.AsType[*refusal](err)
	if !ok {
		f.other = err
		return
	}
	f.code = max(f.code, r.code)
	f.texts = append(f.texts, r.text)
}

// err returns nil if there is no failure.
func (f *failures) err() error {
	switch {
	case f.other != nil:
		return f.other
	case f.texts == nil:
		return nil
	}
	return &refusal{code: f.code, text: strings.Join(f.texts, "\n")}
}
