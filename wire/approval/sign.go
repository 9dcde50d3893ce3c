package approval

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// domain precedes the body in what is signed.
const domain = "waymark-mcp-approval-v1\x00"

// version is the only version of an envelope.
const version = 1

// keyIDBytes is the length of a key id, a prefix of the public key's SHA-256.
const keyIDBytes = 16

// envelope is the encoded form of a signed approval.
type envelope struct {
	V         int    `json:"v"`
	Body      []byte `json:"body"`
	Signature []byte `json:"signature"`
	KeyID     string `json:"key_id"`
}

// Reasons why a signed approval is refused.
var (
	// ErrKey says that none of the keys has signed it.
	ErrKey = errors.New("the approval is signed by a key that isn't trusted here")
	// ErrSignature says that it, or its signature, was changed.
	ErrSignature = errors.New("the signature of the approval is wrong")
)

// KeyID identifies a public key in documents and messages.
func KeyID(key ed25519.PublicKey) string {
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:keyIDBytes])
}

// Sign returns the signed approval, in one line. It rounds the times of a down to seconds and
// sets a missing id.
func Sign(a *Approval, key ed25519.PrivateKey) ([]byte, error) {
	if len(key) != ed25519.PrivateKeySize {
		return nil, errPrivate
	}
	if a.ID == "" {
		a.ID = NewID()
	}
	a.Issued, a.Expires = a.Issued.UTC().Truncate(time.Second), a.Expires.UTC().Truncate(time.Second)
	if err := a.Check(); err != nil {
		return nil, err
	}
	body, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	signed, err := json.Marshal(envelope{
		V: version, Body: body, Signature: ed25519.Sign(key, append([]byte(domain), body...)),
		KeyID: KeyID(ed25519.PublicKey(key[ed25519.PrivateKeySize-ed25519.PublicKeySize:])),
	})
	if err != nil {
		return nil, err
	}
	if len(signed) > MaxSigned {
		return nil, fmt.Errorf("the signed approval has %d bytes, and may have %d", len(signed), MaxSigned)
	}
	return signed, nil
}

// Verify returns the approval that one of the keys has signed. It checks neither the time nor
// the agent: see [Approval.At] and [Approval.For].
func Verify(signed []byte, keys []ed25519.PublicKey) (*Approval, error) {
	e, err := open(signed)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if len(key) != ed25519.PublicKeySize || KeyID(key) != e.KeyID {
			continue
		}
		if !ed25519.Verify(key, append([]byte(domain), e.Body...), e.Signature) {
			return nil, ErrSignature
		}
		return e.approval()
	}
	return nil, ErrKey
}

// Claim is what a signed approval says, without verification.
type Claim struct {
	Approval
	// KeyID is that of the key that supposedly signed it.
	KeyID string
}

// Inspect reads a signed approval without verifying it, for code that only stores it. The
// result has the right form, but may be false.
func Inspect(signed []byte) (*Claim, error) {
	e, err := open(signed)
	if err != nil {
		return nil, err
	}
	a, err := e.approval()
	if err != nil {
		return nil, err
	}
	return &Claim{Approval: *a, KeyID: e.KeyID}, nil
}

// open reads an envelope.
func open(signed []byte) (*envelope, error) {
	if len(signed) > MaxSigned {
		return nil, fmt.Errorf("a signed approval has at most %d bytes", MaxSigned)
	}
	var e envelope
	if err := decode(signed, &e); err != nil {
		return nil, fmt.Errorf("not a signed approval: %w", err)
	}
	id, err := hex.DecodeString(e.KeyID)
	switch {
	case e.V != version:
		return nil, fmt.Errorf("a signed approval of version %d, and only version %d is known here", e.V, version)
	case err != nil || len(id) != keyIDBytes:
		return nil, errors.New("not a signed approval: key_id isn't the id of a key")
	case len(e.Signature) != ed25519.SignatureSize:
		return nil, fmt.Errorf("not a signed approval: a signature has %d bytes", ed25519.SignatureSize)
	}
	return &e, nil
}

// approval reads the body.
func (e *envelope) approval() (*Approval, error) {
	var a Approval
	if err := decode(e.Body, &a); err != nil {
		return nil, fmt.Errorf("the body of the approval: %w", err)
	}
	if err := a.Check(); err != nil {
		return nil, err
	}
	return &a, nil
}

// decode accepts exactly what json.Marshal writes of a T, except for white space between
// tokens. It refuses anything that two readers could understand differently.
func decode[T any](data []byte, into *T) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return errJSON
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errJSON
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, data); err != nil {
		return errJSON
	}
	again, err := json.Marshal(into)
	if err != nil {
		return errJSON
	}
	if !bytes.Equal(again, compact.Bytes()) {
		return errOtherwise
	}
	return nil
}

var (
	errJSON      = errors.New("it isn't JSON with the fields that it should have")
	errOtherwise = errors.New("it isn't written as 'hub approvals sign' writes it")
)
