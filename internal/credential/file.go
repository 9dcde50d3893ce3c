package credential

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
)

// maxFile bounds a file with one secret, in bytes.
const maxFile = 4 << 10

// ReadFile reads at most limit bytes from a file that nobody else can read, or from a pipe.
// what is its name for people; errors never repeat the content.
//
// # Errors
//
// Those of the system, such as fs.ErrNotExist; that others can read the file; that it is
// larger.
func ReadFile(what, path string, limit int64) ([]byte, error) {
	// O_NONBLOCK: a pipe that nobody writes to must not block the program.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s %s can be read by others: chmod 600 it, and replace its content if somebody could have read it", what, path)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s %s is larger than %d bytes", what, path, limit)
	}
	return data, nil
}

// ReadJSON is ReadFile for a file with JSON.
func ReadJSON(what, path string, limit int64, v any) error {
	data, err := ReadFile(what, path, limit)
	if err == nil {
		if err = json.Unmarshal(data, v); err != nil {
			err = fmt.Errorf("%s: %s can't be read: mend it or remove it (%w)", what, path, err)
		}
	}
	return err
}

// ReadToken reads a file with one token and nothing else, as ReadFile does.
func ReadToken(path string) (string, error) {
	data, err := ReadFile("token file", path, maxFile)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, " \n\r\t") {
		return "", fmt.Errorf("token file %s must hold one token and nothing else", path)
	}
	return token, nil
}

// WriteFile writes a line into a new file that only its owner can ever read; a failure leaves
// no file. The error matches fs.ErrExist if the path exists.
func WriteFile(path, text string) (err error) {
	// O_EXCL follows no link either; O_NOFOLLOW is for file systems from before O_EXCL did.
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	_, err = f.WriteString(text + "\n")
	if err == nil {
		err = f.Sync()
	}
	return cmp.Or(err, f.Close())
}
