package postgres

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"waymark/internal/errtext"
)

// SQLSTATE codes. Package pgerrcode is a list of all of them.
const (
	foreignKeyViolation  = "23503"
	readOnlyTransaction  = "25006"
	invalidAuthorization = "28000"
	invalidPassword      = "28P01"
	invalidCatalogName   = "3D000"
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	noPrivilege          = "42501"
	diskFull             = "53100"
	tooManyConnections   = "53300"
	lockNotAvailable     = "55P03"
	queryCanceled        = "57014"
	adminShutdown        = "57P01"
	crashShutdown        = "57P02"
	cannotConnectNow     = "57P03"
)

// code returns the SQLSTATE of an error from the server, or "".
func code(err error) string {
	var pe *pgconn.PgError
	if errors.As(err, &pe) {
		return pe.Code
	}
	return ""
}

// passes reports whether a server's error is transient and its transaction rolled back.
func passes(err error) bool {
	switch code(err) {
	case serializationFailure, deadlockDetected, tooManyConnections, readOnlyTransaction,
		adminShutdown, crashShutdown, cannotConnectNow:
		return true
	case foreignKeyViolation:
		// A payload was dropped as unused just when a push began to use it.
		var pe *pgconn.PgError
		return errors.As(err, &pe) && (pe.ConstraintName == "resources_body" || pe.ConstraintName == "pin_resources_body")
	}
	return false
}

// connectError says in one line why connecting failed. pgx's own text has a line per
// address, each with the name of the dial function.
type connectError struct {
	text string
	err  error
}

func (e *connectError) Error() string { return e.text }
func (e *connectError) Unwrap() error { return e.err }

// connecting makes a connectError of pgx's error for a connection.
func connecting(err error) error {
	var failed *pgconn.ConnectError
	if !errors.As(err, &failed) {
		return err
	}
	each := []error{failed.Unwrap()}
	if several, ok := failed.Unwrap().(interface{ Unwrap() []error }); ok {
		each = several.Unwrap()
	}
	var texts []string
	for _, one := range each {
		var network *net.OpError
		if errors.As(one, &network) {
			one = network
		}
		if text := errtext.Of(one); !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return &connectError{strings.Join(texts, "; "), err}
}

// clarify adds a remedy to PostgreSQL's error.
func clarify(err error) error {
	err = connecting(err)
	var hint string
	switch code(err) {
	case invalidAuthorization, invalidPassword:
		hint = "check the user and the password in the URL, or PGPASSWORD, and the server's pg_hba.conf"
	case invalidCatalogName:
		hint = "there is no such database; make it with createdb"
	case noPrivilege:
		hint = "the user needs the right to create tables in the schema: GRANT CREATE ON SCHEMA"
	case diskFull:
		hint = "the database server's disk is full"
	case tooManyConnections:
		hint = "the server takes no more connections; lower pool_max_conns in the hubs' URLs or raise the server's max_connections"
	case lockNotAvailable, queryCanceled:
		hint = "something holds the database up; see pg_stat_activity"
	case readOnlyTransaction:
		hint = "the server is a standby; name the primary"
	default:
		return err
	}
	return fmt.Errorf("%s (%w)", hint, err)
}
