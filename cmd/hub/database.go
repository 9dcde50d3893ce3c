package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub"
	"waymark/hub/client"
	apiserver "waymark/hub/server"
	"waymark/hub/shared"
	"waymark/hub/store"
	"waymark/hub/store/drivers"
	"waymark/internal/text"
)

// dbVariable names the database if --db doesn't.
const dbVariable = "HUB_DB"

// operator holds the flags that say how a command reaches the hub that it changes: through
// the API of the hub that a profile, HUB_URL or the flags name, or directly in the database
// on this machine.
type operator struct {
	reader
	db string
}

const operatorWhere = `

It works through the hub of --url, --profile or HUB_URL, or of the profile in use, which
needs an operator's token (--token-file, or the profile's); or without a hub on the
database of this machine that --db or HUB_DB names, by default that of your own hub.`

// add adds the flags.
func (o *operator) add(cmd *cobra.Command) {
	o.role = store.RoleOperator
	o.addFlags(cmd)
	addDB(cmd, &o.db)
	cmd.Long = strings.TrimSpace(cmd.Long) + operatorWhere
}

func (o *operator) addJSON(cmd *cobra.Command) {
	o.add(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
}

// with calls f with a client, and then says on standard error which hub or database it was.
func (o *operator) with(cmd *cobra.Command, f func(ctx context.Context, c client.Client) error) (err error) {
	ctx := cmd.Context()
	db, err := o.database(ctx)
	if err != nil {
		return err
	}
	if db == "" {
		at, err := o.target(ctx)
		if err != nil {
			return err
		}
		if err = o.reader.with(cmd, f); err == nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "hub %s\n", cli.Visible(at.URL))
		}
		return err
	}
	st, err := drivers.Open(ctx, db, drivers.Options{Existing: true})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, st.Close()) }()
	c, closeAPI := direct(st)
	defer closeAPI()
	if err = f(ctx, c); err == nil {
		sayDatabase(cmd, db)
	}
	return err
}

// database returns the database to work on; "" means that of a hub, through its API.
func (o *operator) database(ctx context.Context) (string, error) {
	named := o.url != "" || o.profile != "" || o.tokenFile != ""
	if o.db != "" && named {
		return "", cli.Usage("--db is for the database of this machine; --url, --profile and --token-file are for a hub's API: name one of both")
	}
	if named {
		return "", nil
	}
	if db := cmp.Or(o.db, os.Getenv(dbVariable)); db != "" {
		return db, checkDB(db)
	}
	if all, err := readProfiles(); err != nil || os.Getenv(urlVariable) != "" || all.Use != localProfile {
		return "", err
	}
	return theDatabase(ctx, "")
}

// direct returns a client of the hub's API that works on a store, without a hub.
func direct(st store.Store) (c client.Client, closeAPI func()) {
	api := apiserver.New(apiserver.Options{Store: st, Lookup: func(context.Context, string) (store.Token, error) {
		return store.Token{ID: "database", Role: store.RoleOperator}, nil
	}})
	transport := handlerTransport{api}
	return client.New("http://database", client.Options{Token: "database", Transport: transport}), func() { _ = api.Close() }
}

// handlerTransport answers requests with a handler in this process.
type handlerTransport struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (t handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r = r.Clone(r.Context())
		r.Body = http.NoBody
	}
	w := &response{header: http.Header{}, code: http.StatusOK}
	t.ServeHTTP(w, r)
	return &http.Response{
		Status: http.StatusText(w.code), StatusCode: w.code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: r,
	}, nil
}

// response implements http.ResponseWriter in memory.
type response struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (w *response) Header() http.Header         { return w.header }
func (w *response) Write(p []byte) (int, error) { return w.body.Write(p) }
func (w *response) WriteHeader(code int)        { w.code = code }

// sayDatabase prints on standard error which database it was.
func sayDatabase(cmd *cobra.Command, db string) {
	fmt.Fprintf(cmd.ErrOrStderr(), "database %s\n", cli.Visible(hub.DatabaseName(db)))
}

// theDatabase returns the database that --db or HUB_DB names, else that of the only hub that
// the user runs on this machine. It takes the default only if no hub is known that may use
// another one.
func theDatabase(ctx context.Context, db string) (string, error) {
	if db = cmp.Or(db, os.Getenv(dbVariable)); db != "" {
		return db, checkDB(db)
	}
	running, err := runningHubs(ctx)
	if err != nil {
		return "", err
	}
	switch len(running) {
	case 1:
		return running[0].DB, nil
	case 0:
		if at := usualHub(ctx, "/readyz?for=readers", answerWithin); at != "" { // another user's, or a container's
			return "", cli.Usage("--db is missing: the database of the hub at %s, which answers, isn't known here; say the --db of its 'hub serve', or ask it: --url %s --token-file FILE", at, at)
		}
		return hub.DefaultDB()
	}
	var known []string
	for _, place := range running {
		known = append(known, fmt.Sprintf("that of the hub at %s is --db %s", cli.Visible(place.URL), text.ShellWord(place.DB)))
	}
	return "", cli.Usage("--db is missing: you run %s; %s", cli.Count(len(running), "hub"), strings.Join(known, "; "))
}

// runningHubs returns this user's hubs on this machine.
func runningHubs(ctx context.Context) ([]*shared.Place, error) {
	dir, err := hub.StateDir()
	if err != nil {
		return nil, err
	}
	return shared.Running(ctx, dir)
}

// answerWithin is how long a hub on this machine may take to answer that it runs.
const answerWithin = time.Second

// databases are all that there are.
func databases() hub.Databases {
	return hub.Databases{
		Check: checkDB,
		Open: func(ctx context.Context, db string, opts hub.StoreOptions) (store.Store, error) {
			return drivers.Open(ctx, db, drivers.Options{Now: opts.Now, Logger: opts.Logger})
		},
		Backup: drivers.Backup,
	}
}

// checkDB checks the form of --db.
func checkDB(db string) error {
	err := drivers.Check(db)
	if errors.Is(err, drivers.ErrURL) {
		return cli.Usage("--db: %w; see 'hub serve --help'", err)
	}
	return err
}

// addDB adds the --db flag.
func addDB(cmd *cobra.Command, db *string) {
	cmd.Flags().StringVar(db, "db", "", "`database`, sqlite:PATH or postgres://USER@HOST/NAME (default HUB_DB, or sqlite:~/.local/state/waymark/hub.db)")
}
