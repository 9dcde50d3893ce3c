package files

import (
	"io"
	"mime"
	"net/http"
	"path/filepath"
	"strconv"

	"waymark/internal/httpapi"
)

// chunk is how much of a file is read at once, in bytes.
const chunk = 128 << 10

// readFile answers GET /api/v0/read-file with bytes.
func (s *Service) readFile(c *httpapi.Call) error {
	if err := onlyParameters(c, "path", "offset", "limit"); err != nil {
		return err
	}
	path, err := c.Text("path")
	if err != nil {
		return err
	}
	offset, err := number(c, "offset", 0)
	if err != nil {
		return err
	}
	limit, err := number(c, "limit", 0)
	if err != nil {
		return err
	}
	a, err := s.asker(c.Context())
	if err != nil {
		return err
	}
	f, err := a.open(path)
	if err != nil {
		return answer(c, err)
	}
	defer f.close()
	length := max(f.st.Size-offset, 0)
	if limit > 0 {
		length = min(length, limit)
	}
	return stream(c, mediaType(path), io.NewSectionReader(f, offset, length))
}

// number returns a parameter that must be a non-negative integer.
func number(c *httpapi.Call, name string, otherwise int64) (int64, error) {
	n, given, err := c.Number(name, 63)
	if err != nil || !given {
		return otherwise, err
	}
	return int64(n), nil //nolint:gosec // it has 63 bits
}

// mediaType depends on the extension, as in Coder's agent.
func mediaType(path string) string {
	if media := mime.TypeByExtension(filepath.Ext(path)); media != "" {
		return media
	}
	return "application/octet-stream"
}

// stream sends a file. A client that keeps reading has no time limit.
func stream(c *httpapi.Call, media string, r *io.SectionReader) error {
	header := c.Writer().Header()
	header.Set("Content-Type", media)
	header.Set("Content-Length", strconv.FormatInt(r.Size(), 10))
	c.Stream()
	c.Writer().WriteHeader(http.StatusOK)
	if c.Method == http.MethodHead {
		return nil
	}
	buf := make([]byte, min(chunk, r.Size()))
	for left := r.Size(); left > 0; {
		n, err := io.ReadFull(r, buf[:min(int64(len(buf)), left)])
		if err != nil {
			return err // the file has become shorter: abort, so that the answer isn't taken for complete
		}
		if err := c.Flush(buf[:n]); err != nil {
			return err
		}
		left -= int64(n)
	}
	return nil
}
