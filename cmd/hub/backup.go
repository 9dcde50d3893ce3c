package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/term"
	"waymark/hub"
	"waymark/hub/store/drivers"
)

func newBackup() *cobra.Command {
	var db string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of the database, also while the hub serves",
		Long: `Writes the whole database, as it is at one moment, into a new file that only
you can read: agents, hashed tokens, snapshots, history and pins. Nobody is
held up by it. An existing file is not overwritten.

A copy of SQLite is a database file itself. For PostgreSQL it is the work of
pg_dump, which must be installed here, of the server's version or newer.`,
		Example: `  hub backup hub-$(date +%F).backup
  hub backup --db sqlite:/var/lib/waymark/hub.db /backup/hub.db
  hub backup --db postgres://waymark@db.example.com/waymark hub.backup`,
		Args: exactly("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			url, err := theDatabase(db)
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
			if asJSON {
				return term.JSON(cmd.OutOrStdout(), struct {
					File string `json:"file"`
					Size int64  `json:"size_bytes"`
				}{args[0], info.Size()})
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %d bytes\n", args[0], info.Size())
			return err
		},
	}
	addDB(cmd, &db)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// theDatabase is what --db says, or the default.
func theDatabase(db string) (string, error) {
	if db == "" {
		return hub.DefaultDB()
	}
	return db, checkDB(db)
}
