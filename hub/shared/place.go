package shared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"waymark/internal/atomicfile"
	"waymark/internal/credential"
	"waymark/internal/httpapi/apiclient"
)

// Place is the address of a hub.
type Place struct {
	// URL is the address of the HTTP API, such as "http://127.0.0.1:7878".
	URL string `json:"url"`
	// Socket is the path of the socket for plain DRPC.
	Socket string `json:"socket"`
	// PID is the process that holds the hub.
	PID int `json:"pid"`
	// DB is the database in the form of --db, without a password.
	DB string `json:"db"`
}

// ErrNone says that no agent of the user holds a hub.
var ErrNone = errors.New("no agent of yours runs a hub now")

// answerWithin limits the check of a local socket.
const answerWithin = time.Second

// Find returns the address of the hub that an agent of the user holds now. state is the
// user's state directory.
//
// # Errors
//
// The error matches ErrNone if there is none, even if a killed holder has left its file,
// because another program may have its port by now.
func Find(ctx context.Context, state string) (*Place, error) {
	place, err := readPlace(placeFile(state))
	if err != nil {
		return nil, err
	}
	if err := apiclient.Served(ctx, "unix", place.Socket); err != nil {
		return nil, fmt.Errorf("%w (%s: %w)", ErrNone, place.Socket, err)
	}
	return place, nil
}

func placeFile(state string) string { return filepath.Join(state, "hub.json") }

// maxPlace limits the file, in bytes. It holds a path and a few words.
const maxPlace = 16 << 10

func readPlace(file string) (*Place, error) {
	place := new(Place)
	err := credential.ReadJSON("what tells of a hub", file, maxPlace, place)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNone
	}
	return place, err
}

func (p *Place) write(state string) error {
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(placeFile(state), append(data, '\n'), 0o600)
}

func (p *Place) dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{Timeout: answerWithin}).DialContext(ctx, "unix", p.Socket)
}
