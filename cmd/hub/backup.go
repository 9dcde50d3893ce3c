package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/cmd/internal/term"
	"waymark/hub/store"
	"waymark/hub/store/drivers"
)

func newBackup() *cobra.Command {
	var db string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of the database, also while the hub serves",
		Long: `Writes the whole database, as it is at one moment, to a new file that only you can read:
agents, hashed tokens, snapshots, history and pins. It delays nobody and doesn't
overwrite an existing file.

A copy of SQLite is a database file itself. For PostgreSQL it is the output of pg_dump,
which must be installed here, in the server's version or newer.`,
		Example: `  hub backup hub-$(date +%F).backup
  hub backup --db sqlite:/var/lib/waymark/hub.db /backup/hub.db
  hub backup --db postgres://waymark@db.example.com/waymark hub.backup`,
		Args: cli.Named("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			url, err := theDatabase(cmd.Context(), db)
			if err != nil {
				return err
			}
			err = drivers.Backup(cmd.Context(), url, args[0])
			if errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("%s exists already, and backups overwrite nothing; name another file", args[0])
			}
			if err != nil {
				return err
			}
			info, err := os.Stat(args[0])
			if err != nil {
				return err
			}
			sayDatabase(cmd, url)
			if asJSON {
				return term.JSON(cmd.OutOrStdout(), struct {
					File string `json:"file"`
					Size int64  `json:"size_bytes"`
				}{args[0], info.Size()})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d bytes\n", term.Visible(args[0]), info.Size())
			return err
		},
	}
	addDB(cmd, &db)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
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
				return term.JSON(cmd.OutOrStdout(), struct {
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
