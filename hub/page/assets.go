package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed assets
var assets embed.FS

// file is one embedded file.
type file struct {
	name, kind, etag string
	data             []byte
	zipped           func() []byte // data compressed by gzip
}

// kindOf doesn't use the system's tables, because those differ.
func kindOf(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}

// readFiles returns the embedded files by name. Documents refer to the other files with a
// version that depends on all of them, so that browsers can cache them and never mix files
// of two hubs.
func readFiles() (files map[string]*file, version string) {
	files = make(map[string]*file)
	entries, err := fs.ReadDir(assets, "assets")
	if err != nil {
		panic("page: embedded files: " + err.Error()) // the build would be broken
	}
	all := sha256.New()
	for _, entry := range entries {
		data, err := assets.ReadFile("assets/" + entry.Name())
		if err != nil {
			panic("page: embedded files: " + err.Error())
		}
		sum := sha256.Sum256(data)
		all.Write([]byte(entry.Name()))
		all.Write(sum[:])
		files[entry.Name()] = &file{
			name: entry.Name(), kind: kindOf(entry.Name()), data: data, zipped: sync.OnceValue(func() []byte { return zip(data) }),
			etag: `"` + hex.EncodeToString(sum[:12]) + `"`,
		}
	}
	version = hex.EncodeToString(all.Sum(nil)[:8])
	for _, f := range files {
		if path.Ext(f.name) == ".html" {
			f.data = bytes.ReplaceAll(f.data, []byte(`"/assets/`), []byte(`"/assets/`+version+`/`))
		}
	}
	return files, version
}

func zip(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err = errors.Join(err, w.Close()); err != nil {
		panic("page: " + err.Error()) // writing to a buffer can't fail
	}
	return b.Bytes()
}

// asset serves the files of the page. They contain nothing private and need no cookie,
// because the page with the sign-in instructions uses them, too.
func (p *Page) asset(w http.ResponseWriter, r *http.Request) {
	f := p.files[r.PathValue("name")]
	if f == nil || path.Ext(f.name) == ".html" {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	header := w.Header()
	// A balancer may send requests of another hub's document here. They get the current
	// file, and the browser revalidates it.
	header.Set("Cache-Control", "no-cache")
	if r.PathValue("version") == p.version {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	header.Set("Content-Type", f.kind)
	header.Set("Vary", "Accept-Encoding")
	data, etag := f.data, f.etag
	if acceptsGzip(r) {
		data, etag = f.zipped(), strings.TrimSuffix(etag, `"`)+`-gzip"`
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("ETag", etag)
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(data))
}

// acceptsGzip reports whether a browser accepts gzip. Unusual forms of the header just get
// uncompressed data.
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(coding) == "gzip" {
			return true
		}
	}
	return false
}
