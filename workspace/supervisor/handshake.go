package supervisor

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"waymark/internal/atomicfile"
)

// The supported protocol versions. The hello itself never changes, because it negotiates
// the version.
const (
	oldestProtocol = 1
	newestProtocol = 1
)

// Roles of a connection.
const (
	roleCalls = "calls"
	roleOwned = "owned"
)

// helloTimeout limits the handshake. It detects a stopped supervisor, and a program that
// sends nothing.
const helloTimeout = 10 * time.Second

// ErrProtocol says that agent and supervisor have no protocol version in common.
var ErrProtocol = errors.New("what holds the processes is of another version")

// hello is the first message of each side. The supervisor sends first.
type hello struct {
	Oldest   int    `json:"oldest"`
	Newest   int    `json:"newest"`
	Program  string `json:"program"` // version, for people
	Nonce    string `json:"nonce"`
	Proof    string `json:"proof,omitempty"` // only from the agent
	Role     string `json:"role,omitempty"`  // only from the agent
	PID      int    `json:"pid"`
	Instance string `json:"instance,omitempty"` // only from the supervisor
}

// welcome is the supervisor's answer to the agent's hello.
type welcome struct {
	Error    *wireError `json:"error,omitempty"`
	Proof    string     `json:"proof,omitempty"`
	Protocol int        `json:"protocol"`
}

// proof proves knowledge of the key to the side that chose the nonce theirs.
func proof(key []byte, side, theirs, ours, role string) string {
	mac := hmac.New(sha256.New, key)
	for _, part := range []string{side, theirs, ours, role} {
		_, _ = fmt.Fprintf(mac, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

func nonce() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// version returns the newest version that both support; 0 if there is none.
func version(theirs *hello) int {
	v := min(theirs.Newest, newestProtocol)
	if v < max(theirs.Oldest, oldestProtocol) {
		return 0
	}
	return v
}

// greet performs the supervisor's side. It returns the role of the connection.
func greet(conn *net.UnixConn, key []byte, instance string) (role string, err error) {
	_ = conn.SetDeadline(time.Now().Add(helloTimeout))
	if err := samePeer(conn); err != nil {
		return "", err
	}
	ours := nonce()
	mine := hello{Oldest: oldestProtocol, Newest: newestProtocol, Program: programVersion(), Nonce: ours, PID: os.Getpid(), Instance: instance}
	if err := writeFrame(conn, mine, nil); err != nil {
		return "", err
	}
	var theirs hello
	if err := readHello(conn, &theirs); err != nil {
		return "", err
	}
	if !hmac.Equal([]byte(theirs.Proof), []byte(proof(key, "agent", ours, theirs.Nonce, theirs.Role))) {
		err = fmt.Errorf("the key is wrong: %w", fs.ErrPermission)
	} else if version(&theirs) == 0 {
		err = ErrProtocol
	}
	if err != nil {
		_ = writeFrame(conn, welcome{Error: toWire(err)}, nil)
		return "", err
	}
	w := welcome{Proof: proof(key, "supervisor", theirs.Nonce, ours, theirs.Role), Protocol: version(&theirs)}
	if err := writeFrame(conn, w, nil); err != nil {
		return "", err
	}
	return theirs.Role, conn.SetDeadline(time.Time{})
}

// introduce performs the agent's side within the connection's deadline. It returns the
// supervisor's hello.
func introduce(conn *net.UnixConn, key []byte, role string) (*hello, error) {
	if err := samePeer(conn); err != nil {
		return nil, err
	}
	var theirs hello
	if err := readHello(conn, &theirs); err != nil {
		return nil, err
	}
	if version(&theirs) == 0 {
		return nil, fmt.Errorf("%w: process %d of version %s speaks protocol %d to %d, this program %d to %d; "+
			"use a program of its version until its processes have ended, or end them with it: kill %d",
			ErrProtocol, theirs.PID, theirs.Program, theirs.Oldest, theirs.Newest, oldestProtocol, newestProtocol, theirs.PID)
	}
	ours := nonce()
	mine := hello{
		Oldest: oldestProtocol, Newest: newestProtocol, Program: programVersion(), Nonce: ours, PID: os.Getpid(),
		Role: role, Proof: proof(key, "agent", theirs.Nonce, ours, role),
	}
	if err := writeFrame(conn, mine, nil); err != nil {
		return nil, err
	}
	var w welcome
	if err := readHello(conn, &w); err != nil {
		return nil, err
	}
	if w.Error != nil {
		return nil, w.Error.err()
	}
	if !hmac.Equal([]byte(w.Proof), []byte(proof(key, "supervisor", ours, theirs.Nonce, role))) {
		return nil, fmt.Errorf("what listens on the supervisor's socket doesn't know the key: %w", fs.ErrPermission)
	}
	return &theirs, conn.SetDeadline(time.Time{})
}

func readHello(conn *net.UnixConn, v any) error {
	head, _, err := readFrame(conn, maxHello, 0)
	if err != nil {
		return err
	}
	return decode(head, v)
}

// keySize is the size of the key, in bytes.
const keySize = 32

// readKey returns the key of a state directory.
func readKey(dir string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, err
	}
	key, err := hex.DecodeString(string(text))
	if err != nil || len(key) != keySize {
		return nil, errors.New("the supervisor's key is damaged: " + filepath.Join(dir, keyFile))
	}
	return key, nil
}

// makeKey makes a key if there is no valid one. The caller holds the lock.
func makeKey(dir string) ([]byte, error) {
	if key, err := readKey(dir); err == nil {
		return key, nil
	}
	key := make([]byte, keySize)
	_, _ = rand.Read(key) // never fails
	return key, atomicfile.WriteFile(filepath.Join(dir, keyFile), []byte(hex.EncodeToString(key)), 0o600)
}
