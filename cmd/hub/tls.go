package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
)

func newTLS() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tls",
		Short: "Create a certificate for a hub without an authority",
	}
	cli.Group(cmd)
	cmd.AddCommand(newSelfSigned())
	return cmd
}

func newSelfSigned() *cobra.Command {
	var out, expires string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "selfsigned NAME…",
		Short: "Create a certificate that signs itself",
		Long: `Creates a certificate for the names and addresses under which a hub is called, and its
key, in two new files. 'hub serve' takes both. Agents, readers and chats trust the hub if
SSL_CERT_FILE names a copy of the certificate, which is no secret; nothing else trusts it.`,
		Example: `  hub tls selfsigned hub.example.com 10.0.0.5
  hub tls selfsigned localhost --out /etc/waymark/tls --expires 30d
  hub serve --http :7878 --tls-cert hub.crt --tls-key hub.key`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) == 0 {
				return usage(cmd, "NAME is missing: give the names and addresses under which the hub is called")
			}
			until, err := expiry(expires, time.Now())
			if err != nil {
				return usage(cmd, "--expires %q: %w", expires, err)
			}
			certificate, key, err := selfSigned(names, until)
			if err != nil {
				return err
			}
			files := struct {
				Certificate string    `json:"certificate"`
				Key         string    `json:"key"`
				ExpiresAt   time.Time `json:"expires_at"`
			}{out + ".crt", out + ".key", until}
			if err := writeNew(files.Key, string(key)); err != nil {
				return err
			}
			err = writeNew(files.Certificate, string(certificate))
			if err == nil {
				err = os.Chmod(files.Certificate, 0o644) //nolint:gosec // G302: everybody may know it
			}
			if err != nil {
				_ = os.Remove(files.Key)
				return err
			}
			if asJSON {
				return cli.JSON(cmd.OutOrStdout(), files)
			}
			shown := cli.Visible(out)
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "hub serve --tls-cert %s.crt --tls-key %s.key\nexport SSL_CERT_FILE=%s.crt   # for those who are to trust it\n", shown, shown, shown)
			return err
		},
	}
	cmd.Flags().StringVar(&out, "out", "hub", "`path` of the files, without .crt and .key")
	cmd.Flags().StringVar(&expires, "expires", "365d", "`when` it expires: 30d, 365d, or a date")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// selfSigned returns a certificate (RFC 5280) for names and addresses, and its key, as PEM.
func selfSigned(names []string, until time.Time) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	t := x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: names[0]},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: until, // a clock may be late
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			t.IPAddresses = append(t.IPAddresses, ip)
		} else {
			t.DNSNames = append(t.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, &t, &t, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), nil
}
