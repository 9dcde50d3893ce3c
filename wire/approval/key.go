package approval

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"strings"
)

// The standard types of PEM blocks: openssl genpkey -algorithm ed25519 writes such a file,
// too.
const (
	pemPrivate = "PRIVATE KEY"
	pemPublic  = "PUBLIC KEY"
)

var (
	errPrivate = errors.New("not a private key of Ed25519 in PEM, as 'hub approvals keygen' writes it")
	errPublic  = errors.New("not a public key of Ed25519: PEM, or its 32 bytes as base64")
)

// GenerateKey makes a pair of keys.
func GenerateKey() (ed25519.PublicKey, ed25519.PrivateKey, error) {
	return ed25519.GenerateKey(rand.Reader)
}

// MarshalPrivateKey returns a private key as PEM (PKCS #8). Anybody who can read it can
// approve.
func MarshalPrivateKey(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, errPrivate
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemPrivate, Bytes: der}), nil
}

// ParsePrivateKey reads the output of MarshalPrivateKey. Its errors don't quote the input.
func ParsePrivateKey(data []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != pemPrivate {
		return nil, errPrivate
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errPrivate
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errPrivate
	}
	return private, nil
}

// FormatPublicKey returns a public key as one word, for the configuration of agents.
func FormatPublicKey(key ed25519.PublicKey) string {
	return base64.StdEncoding.EncodeToString(key)
}

// ParsePublicKey reads a public key: the word of FormatPublicKey, or PEM.
func ParsePublicKey(s string) (ed25519.PublicKey, error) {
	s = strings.TrimSpace(s)
	if block, _ := pem.Decode([]byte(s)); block != nil {
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		public, ok := key.(ed25519.PublicKey)
		if err != nil || !ok || block.Type != pemPublic {
			return nil, errPublic
		}
		return public, nil
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) != ed25519.PublicKeySize {
		return nil, errPublic
	}
	return ed25519.PublicKey(raw), nil
}
