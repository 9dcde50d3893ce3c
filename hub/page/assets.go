package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var assets embed.FS

// file is one embedded file.
type file struct {
	name, kind, etag string
	data             []byte
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

func readFiles() map[string]*file {
	files := make(map[string]*file)
	entries, err := fs.ReadDir(assets, "assets")
	if err != nil {
		panic("page: embedded files: " + err.Error()) // the build would be broken
	}
	for _, entry := range entries {
		data, err := assets.ReadFile("assets/" + entry.Name())
		if err != nil {
			panic("page: embedded files: " + err.Error())
		}
		sum := sha256.Sum256(data)
		files[entry.Name()] = &file{
			name: entry.Name(), kind: kindOf(entry.Name()), data: data,
			etag: `"` + hex.EncodeToString(sum[:12]) + `"`,
		}
	}
	return files
}

func (f *file) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", f.kind)
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.data))
}

// asset serves what the page loads. It holds nothing of anybody, so it needs
// no cookie: the page that says how to sign in uses it, too.
func (p *Page) asset(w http.ResponseWriter, r *http.Request) {
	f := p.files[r.PathValue("name")]
	if f == nil || path.Ext(f.name) == ".html" {
		http.Error(w, "no such file", http.StatusNotFound)
		return
	}
	// Kept by browsers and asked about each time: a new hub brings new ones.
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", f.etag)
	f.serve(w, r)
}
