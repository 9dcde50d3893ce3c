package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub/client"
	"waymark/hub/store"
	"waymark/hub/store/drivers"
)

func newBackup() *cobra.Command {
	var o operator
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of the database, also while the hub serves",
		Long: `Writes the whole database, as it is at one moment, to a new file that only you can read:
agents, hashed tokens, snapshots, history and pins. It delays nobody and doesn't
overwrite an existing file.

A copy of SQLite is a database file itself. For PostgreSQL it is the output of pg_dump,
in the server's version or newer, which must be installed where it is made: on the hub's
machine, or with --db here.`,
		Example: `  hub backup hub-$(date +%F).backup
  hub backup --profile work work.backup
  hub backup --db sqlite:/var/lib/waymark/hub.db /backup/hub.db
  hub backup --db postgres://waymark@db.example.com/waymark hub.backup`,
		Args: cli.Named("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			file := args[0]
			db, err := o.database(cmd.Context())
			if err != nil {
				return err
			}
			if db != "" {
				if err = drivers.Backup(cmd.Context(), db, file); err == nil {
					sayDatabase(cmd, db)
				}
			} else {
				err = o.with(cmd, func(ctx context.Context, c client.Client) error { return backupFrom(ctx, c, file) })
			}
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists already, and backups overwrite nothing; name another file", file)
			}
			if err != nil {
				return err
			}
			info, err := os.Stat(file)
			if err != nil {
				return err
			}
			if o.json {
				return cli.JSON(cmd.OutOrStdout(), struct {
					File string `json:"file"`
					Size int64  `json:"size_bytes"`
				}{file, info.Size()})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d bytes\n", cli.Visible(file), info.Size())
			return err
		},
	}
	o.addJSON(cmd)
	return cmd
}

// backupFrom writes what a hub sends to a new file, which exists only if it is complete.
func backupFrom(ctx context.Context, c client.Client, file string) (err error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			_ = os.Remove(file)
		}
	}()
	if _, err := c.Backup(ctx, f); err != nil {
		return err
	}
	return f.Sync()
}

func newRestore() *cobra.Command {
	var db string
	var force, asJSON bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Replace the database by a backup; the hub must be stopped",
		Long: `Replaces the database by a FILE from hub backup. First stop all hubs that use the
database. The file is checked first, and the database is replaced in one step when the
new one is complete. A backup of an older hub is updated.

A database with contents is replaced only with --force.

Readers that follow events read everything again, because their last state may not exist
in the backup. Agents send their current state when they connect. Tokens created after
the backup are gone, and those revoked after it are valid again: check hub token list.`,
		Example: `  hub restore hub-2026-11-21.backup
  hub restore --force --db sqlite:/var/lib/waymark/hub.db /backup/hub.db
  hub restore --db postgres://waymark@db.example.com/waymark hub.backup`,
		Args: cli.Named("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			url, err := theDatabase(cmd.Context(), db)
			if err != nil {
				return err
			}
			err = drivers.Restore(cmd.Context(), args[0], url, force)
			if errors.Is(err, store.ErrCorrupt) && !force {
				err = fmt.Errorf("%w; --force replaces a damaged database", err)
			}
			if err != nil {
				return err
			}
			sayDatabase(cmd, url)
			if asJSON {
				return cli.JSON(cmd.OutOrStdout(), struct {
					File string `json:"file"`
				}{args[0]})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "restored from %s\n", args[0])
			return err
		},
	}
	addDB(cmd, &db)
	cmd.Flags().BoolVar(&force, "force", false, "replace a database that has contents")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
