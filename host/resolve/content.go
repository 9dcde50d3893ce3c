package resolve

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"waymark/abi"
	"waymark/host/vfs"
	"waymark/snapshot"
)

// source returns the link-resolved absolute path of a row's subject. For a path that leads
// nowhere, or out of the root, it is the path of the last link on the way, and lost says why.
func (r *rowReader) source(path string) (source string, lost, err error) {
	rel, _, lost := r.run.Resolve(path)
	switch {
	case errors.Is(lost, vfs.ErrHidden):
		return "", nil, dropped("it is not in the resolver's reads, or hidden")
	case lost != nil:
		if _, err := r.run.Lstat(path); err != nil && !errors.Is(err, vfs.ErrEscape) {
			return "", nil, dropped("there is no such file")
		}
	}
	return filepath.Join(r.root.FS.Path(), rel), lost, nil
}

// content fills in size, hash and payload. The host's findings override the resolver's
// status.
func (r *rowReader) content(row *abi.Resource, res *snapshot.Resource) error {
	switch {
	case row.Content == nil:
		return nil
	case row.Content.Inline != nil:
		r.inline([]byte(*row.Content.Inline), res)
		return nil
	}
	c, err := r.run.Content(row.Content.File)
	res.SizeBytes, res.ContentHash = c.Size, c.Hash
	switch c.Class {
	case vfs.ContentOK, vfs.ContentOversize:
		if row.Content.Withheld || res.Kind != abi.KindMCPConfig && c.Settings { // without content there is nothing to be too large
			return nil
		}
	}
	switch c.Class {
	case vfs.ContentOK:
		if res.Kind == abi.KindMCPConfig && res.Status == snapshot.StatusInvalid {
			res.Error = explainMCP(filepath.ToSlash(filepath.Join(r.root.FS.Path(), row.Content.File)), c.Data)
		}
		r.keep(c.Data, res)
	case vfs.ContentOversize:
		res.Status, res.Error = snapshot.StatusOversize, oversize(c.Size, r.maxInline)
	case vfs.ContentEscapes:
		res.Status, res.Error = snapshot.StatusInvalid, escapes
	case vfs.ContentHidden:
		return dropped("it names a file that the resolver may not read")
	case vfs.ContentMissing:
		return errNoContent
	case vfs.ContentDirectory:
		if row.Content.File == row.Path { // each link is a mistake of its own
			res.Source = filepath.Join(r.root.FS.Path(), c.Path)
		}
		if res.Status != snapshot.StatusInvalid || res.Kind == abi.KindMCPConfig { // otherwise the resolver knows the reason better
			res.Status, res.Error = snapshot.StatusInvalid, "it is a directory"
		}
	case vfs.ContentUnreadable:
		res.Status, res.Error = snapshot.StatusUnreadable, whyUnreadable(err)
	}
	return nil
}

func oversize(size, limit int64) string {
	return fmt.Sprintf("%d bytes, at most %d are kept", size, limit)
}

func (r *rowReader) inline(data []byte, res *snapshot.Resource) {
	sum := sha256.Sum256(data)
	res.SizeBytes, res.ContentHash = int64(len(data)), snapshot.Hash(sum[:])
	if res.SizeBytes > r.maxInline {
		res.Status = snapshot.StatusOversize
		res.Error = oversize(res.SizeBytes, r.maxInline)
		return
	}
	r.keep(data, res)
}

// keep stores a payload that is small enough, if kind and status allow one.
func (r *rowReader) keep(data []byte, res *snapshot.Resource) {
	if res.Kind == abi.KindMCPConfig || res.Kind == abi.KindHook || res.Status != snapshot.StatusOK {
		return
	}
	res.Payload = data
	if found := suspiciousText(data); found != "" {
		r.warn(res.Source + ": " + found)
		res.Findings = addFinding(res.Findings, snapshot.Finding{Code: "invisible-characters", Severity: abi.SeverityWarning, Message: found})
	}
}

// whyUnreadable says for a person why content can't be read.
func whyUnreadable(err error) string {
	var no syscall.Errno
	switch {
	case errors.Is(err, vfs.ErrNotRegular):
		return "not a regular file"
	case errors.Is(err, vfs.ErrManyNames):
		return "it has several names, of which one may be secret: there is too much to search, so make it a file of its own"
	case errors.Is(err, vfs.ErrChanged):
		return "it kept changing while it was read"
	case errors.Is(err, vfs.ErrLimit):
		return "the resolver's limits are used up"
	case errors.Is(err, syscall.ENOENT):
		return "the link is broken"
	case errors.Is(err, syscall.ENOTDIR):
		return "the link takes a file for a directory"
	case errors.Is(err, syscall.ELOOP):
		return "too many links"
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return "no permission to read it"
	case errors.As(err, &no):
		return "it can't be read: " + no.Error()
	}
	return "it can't be read"
}

// unreachable marks a find whose own path leads nowhere.
func unreachable(err error, res *snapshot.Resource) {
	res.Payload = nil
	if errors.Is(err, vfs.ErrEscape) {
		res.Status, res.Error = snapshot.StatusInvalid, escapes
		return
	}
	res.Status, res.Error = snapshot.StatusUnreadable, whyUnreadable(err)
}

const escapes = "the link escapes the root"
