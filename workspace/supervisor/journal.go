package supervisor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
)

// record is what the journal has of a process: a file in its directory.
type record struct {
	ID         string
	Command    string
	Dir        string
	Background bool      `json:",omitempty"`
	Chat       uuid.UUID `json:",omitzero"`
	Fence      string    `json:",omitempty"`
	Token      string    `json:",omitempty"`
	Input      string    `json:",omitempty"`
	Tracked    *Tracked  `json:",omitempty"`

	// Boot, PID and Start identify the process; PID is 0 until it has been started.
	Boot  string
	PID   int
	Start uint64

	Started time.Time
	Exited  *time.Time             `json:",omitempty"`
	Code    *int                   `json:",omitempty"`
	Usage   *agentapi.ProcessUsage `json:",omitempty"`
	// Lost says why nobody knows how it has ended.
	Lost string `json:",omitempty"`
}

const recordFile = "process.json"

// save writes the record, as a whole. It isn't brought to the disk: what it is
// for, processes that run, doesn't outlive the system either.
func (r *record) save(dir string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, recordFile)
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func loadRecord(dir string) (*record, error) {
	r := &record{}
	if err := readJSON(filepath.Join(dir, recordFile), r); err != nil {
		return nil, err
	}
	return r, nil
}
