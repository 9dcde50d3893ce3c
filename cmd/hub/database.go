package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"waymark/hub"
	"waymark/hub/store"
	"waymark/hub/store/drivers"
)

// databases are all that there are.
func databases() hub.Databases {
	return hub.Databases{
		Check: checkDB,
		Open: func(ctx context.Context, db string, opts hub.StoreOptions) (store.Store, error) {
			return drivers.Open(ctx, db, drivers.Options{Now: opts.Now, Logger: opts.Logger})
		},
	}
}

// checkDB says whether --db can be right.
func checkDB(db string) error {
	err := drivers.Check(db)
	if errors.Is(err, drivers.ErrURL) {
		return &usageError{fmt.Errorf("--db: %w", err), "hub serve"}
	}
	return err
}

// addDB adds the --db flag.
func addDB(cmd *cobra.Command, db *string) {
	cmd.Flags().StringVar(db, "db", "", "the `database`, sqlite:PATH or postgres://USER@HOST/NAME (default sqlite:$XDG_STATE_HOME/waymark/hub.db)")
}
