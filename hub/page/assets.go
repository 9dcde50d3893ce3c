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
	zipped           func() []byte // data in gzip
}

// kinds are said rather than looked up: what the system's tables say differs.
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

// readFiles returns the embedded files by their names. Documents name the others under a
// version of all of them, so that browsers keep these and never mix two hubs' files.
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
		panic("page: " + err.Error()) // a buffer takes everything
	}
	return b.Bytes()
}

// asset serves what the page loads. It holds nothing of anybody, so it needs
// no cookie: the page that says how to sign in uses it, too.
func (p *Page) asset(w http.ResponseWriter, r *http.Request) {
	f := p.files[r.PathValue("name")]
	if f == nil || path.Ext(f.name) == ".html" {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	header := w.Header()
	// A document of another version of the hub, which a balancer may have sent here, gets
	// what there is; the browser asks again the next time.
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

// acceptsGzip reports whether a browser says that it does; whoever says it in other words
// gets what is as good.
func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(coding) == "gzip" {
			return true
		}
	}
	return false
}
