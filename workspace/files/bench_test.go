package files_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"waymark/agentapi"
)

// megabyte is text of 1 MB in lines of 50 bytes.
func megabyte() string {
	var b strings.Builder
	for i := 0; b.Len() < 1_000_000; i++ {
		fmt.Fprintf(&b, "\tline %06d of a file that somebody has written\n", i)
	}
	return b.String()
}

func call(b *testing.B, s *server, method, target string, body []byte) {
	b.Helper()
	r := httptest.NewRequest(method, target, bytes.NewReader(body))
	if body == nil {
		r = httptest.NewRequest(method, target, nil)
	}
	w := httptest.NewRecorder()
	s.Config.Handler.ServeHTTP(w, r)
	if w.Code != http.StatusOK || bytes.Contains(w.Body.Bytes(), []byte(`"success":false`)) {
		b.Fatalf("%d %.200s", w.Code, w.Body)
	}
}

// BenchmarkReadFileLines reads the first 500 lines of 1 MB, and counts the rest.
func BenchmarkReadFileLines(b *testing.B) {
	s := serve(b, nil)
	text := megabyte()
	put(b, s.in("f"), text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		call(b, s, "GET", query(agentapi.PathReadFileLines, s.in("f"), "limit", "500"), nil)
	}
}

// BenchmarkReadFile reads 1 MB.
func BenchmarkReadFile(b *testing.B) {
	s := serve(b, nil)
	text := megabyte()
	put(b, s.in("f"), text)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		call(b, s, "GET", query(agentapi.PathReadFile, s.in("f")), nil)
	}
}

// BenchmarkEditFiles makes an edit in the middle of 1 MB, with its diff, and
// brings it to the disk.
func BenchmarkEditFiles(b *testing.B) {
	for name, edit := range map[string][2]string{
		"exact": {"line 010000 of a file", "line 010000 of one file"},
		"fuzzy": {"  line 010000 of a file that somebody has written\n", "  line 010000 of one file that somebody has written\n"},
	} {
		b.Run(name, func(b *testing.B) {
			s := serve(b, nil)
			text := megabyte()
			put(b, s.in("f"), text)
			var bodies [2][]byte
			for i := range bodies {
				var err error
				if bodies[i], err = json.Marshal(agentapi.EditFiles{IncludeDiff: true, Files: []agentapi.FileEdits{one(s.in("f"), edit[i], edit[1-i])}}); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(text)))
			for i := 0; b.Loop(); i++ {
				call(b, s, "POST", agentapi.PathEditFiles, bodies[i%2])
			}
		})
	}
}

// BenchmarkSmallWrite writes 1 KB: most of it is the disk's.
func BenchmarkSmallWrite(b *testing.B) {
	s := serve(b, nil)
	body := bytes.Repeat([]byte("x"), 1000)
	for b.Loop() {
		call(b, s, "POST", query(agentapi.PathWriteFile, s.in("f")), body)
	}
}
