package supervisor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"waymark/agentapi"
)

// record is a process in the journal: a file in its directory.
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

	// Boot, PID and Start identify the process. PID is 0 before the start.
	Boot  string
	PID   int
	Start uint64

	Started time.Time
	Exited  *time.Time             `json:",omitempty"`
	Code    *int                   `json:",omitempty"`
	Usage   *agentapi.ProcessUsage `json:",omitempty"`
	// Lost says why it is unknown how the process ended.
	Lost string `json:",omitempty"`
	// TimedOut is the timeout that ended it.
	TimedOut time.Duration `json:",omitempty"`
}

const recordFile = "process.json"

// save writes the record atomically, without fsync, because running processes don't survive
// a crash of the system either.
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
