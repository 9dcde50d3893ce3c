package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/hub"
	"waymark/hub/shared"
	"waymark/hub/store"
	"waymark/hub/store/drivers"
	"waymark/internal/text"
)

// dbVariable names the database if --db doesn't.
const dbVariable = "HUB_DB"

// withStore opens the database, which a hub must have created, while f runs.
func withStore(cmd *cobra.Command, db string, f func(store.Store) error) (err error) {
	if db, err = theDatabase(cmd.Context(), db); err != nil {
		return err
	}
	st, err := drivers.Open(cmd.Context(), db, drivers.Options{Existing: true})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, st.Close()) }()
	if err = f(st); err == nil {
		sayDatabase(cmd, db)
	}
	return err
}

// onStore makes a command work on the database that --db names.
func onStore(cmd *cobra.Command, run func(cmd *cobra.Command, args []string, st store.Store) error) *cobra.Command {
	var db string
	addDB(cmd, &db)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withStore(cmd, db, func(st store.Store) error { return run(cmd, args, st) })
	}
	return cmd
}

// sayDatabase prints on standard error which database it was.
func sayDatabase(cmd *cobra.Command, db string) {
	fmt.Fprintf(cmd.ErrOrStderr(), "database %s\n", term.Visible(hub.DatabaseName(db)))
}

// theDatabase returns the database that --db or HUB_DB names. It takes the default only if
// no hub is known that may use another one.
func theDatabase(ctx context.Context, db string) (string, error) {
	if db = cmp.Or(db, os.Getenv(dbVariable)); db != "" {
		return db, checkDB(db)
	}
	if err := needsName(ctx); err != nil {
		return "", err
	}
	return hub.DefaultDB()
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

// needsName says how to name the database of the hub that a profile names or that runs on
// this machine; nil if there is none.
func needsName(ctx context.Context) error {
	all, err := readProfiles()
	if err != nil {
		return err
	}
	running, err := runningHubs(ctx)
	if err != nil {
		return err
	}
	at, from := os.Getenv(urlVariable), urlVariable
	if p := all.find(all.Use); at == "" && p != nil {
		at, from = p.URL, "profile "+p.Name
	}
	if at == "" && len(running) == 0 { // another user's, or a container's
		at, from = usualHub(ctx, answerWithin), "which answers"
	}
	var known []string
	for _, place := range running {
		if at == "" || sameHub(at, place.URL) {
			known = append(known, fmt.Sprintf("that of the hub at %s is --db %s", term.Visible(place.URL), text.ShellWord(place.DB)))
		}
	}
	switch {
	case len(known) > 0:
		return cli.Usage("--db is missing: say which database; %s", strings.Join(known, "; "))
	case at != "":
		return cli.Usage("--db is missing: the database of the hub at %s (%s) isn't known here; on its machine say the --db of its 'hub serve'", term.Visible(at), from)
	}
	return nil
}

// databases are all that there are.
func databases() hub.Databases {
	return hub.Databases{
		Check: checkDB,
		Open: func(ctx context.Context, db string, opts hub.StoreOptions) (store.Store, error) {
			return drivers.Open(ctx, db, drivers.Options{Now: opts.Now, Logger: opts.Logger})
		},
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
