package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"waymark/cmd/internal/cli"
	"waymark/hub"
	"waymark/hub/shared"
	"waymark/hub/store"
	"waymark/internal/atomicfile"
	"waymark/internal/credential"
	"waymark/internal/httpapi/apiclient"
)

// Variables that name a hub and the file of its token, for a shell or a script.
const (
	urlVariable   = "HUB_URL"
	tokenVariable = "HUB_TOKEN_FILE" //nolint:gosec // the name of a variable
)

// localProfile is the name of the hub that the user's own agents run, or that runs at the
// default address. It isn't in the file.
const localProfile = "local"

// profile is a named hub with the files of its tokens. It holds no token itself.
type profile struct {
	Name string `json:"name"`
	URL  string `json:"url"`
	// Tokens are files, one for each role.
	Tokens map[store.Role]string `json:"tokens"`
}

// profiles are the profiles of a user.
type profiles struct {
	// Use is the name of the default profile.
	Use  string    `json:"use"`
	List []profile `json:"profiles"`
}

func (p *profiles) find(name string) *profile {
	if i := slices.IndexFunc(p.List, func(p profile) bool { return p.Name == name }); i >= 0 {
		return &p.List[i]
	}
	return nil
}

func profilesFile() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", fmt.Errorf("find the configuration directory: %w; set XDG_CONFIG_HOME", err)
	}
	return filepath.Join(dir, "waymark", "hub-profiles.json"), nil
}

// maxProfiles is the largest size of the file, in bytes.
const maxProfiles = 1 << 20

func readProfiles() (*profiles, error) {
	p := &profiles{Use: localProfile}
	path, err := profilesFile()
	if err != nil {
		return p, nil //nolint:nilerr // nobody can have made one
	}
	err = credential.ReadJSON("profiles", path, maxProfiles, p)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	return p, err
}

func (p *profiles) write() error {
	path, err := profilesFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, append(data, '\n'), 0o600)
}

// localHub is the profile of the user's own hub. Its token is sent to no other.
func localHub(ctx context.Context) profile {
	p := profile{Name: localProfile, URL: "http://" + hub.DefaultHTTP, Tokens: map[store.Role]string{}}
	dir, err := hub.StateDir()
	if err != nil {
		return p
	}
	p.Tokens[store.RoleReader] = shared.ReaderFile(dir)
	if place, err := shared.Find(ctx, dir); err == nil {
		p.URL = place.URL
	}
	return p
}

// sameHub reports whether two URLs certainly name the same hub. It resolves no names,
// because others decide what localhost means.
func sameHub(a, b string) bool {
	canonical := func(text string) string {
		u, err := url.Parse(text)
		if err != nil {
			return text
		}
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port) + strings.TrimRight(u.Path, "/")
	}
	return canonical(a) == canonical(b)
}

// target returns the selected hub and the file of its token. A token is sent only to the
// hub that it belongs to, by a profile or because the user gave both.
func (r *reader) target(ctx context.Context) (*profile, error) {
	all, err := readProfiles()
	if err != nil {
		return nil, err
	}
	known := append(slices.Clone(all.List), localHub(ctx))
	if at, file := os.Getenv(urlVariable), os.Getenv(tokenVariable); at != "" && file != "" {
		known = slices.Insert(known, 0, profile{URL: at, Tokens: map[store.Role]string{r.role: file}})
	} else if file != "" && r.url == "" && r.profile == "" && r.tokenFile == "" {
		return nil, cli.Usage("%s is set and %s isn't: a token goes only to the hub that it belongs to; set both", tokenVariable, urlVariable)
	}
	if r.url != "" {
		if _, err := apiclient.ParseBase(r.url); err != nil {
			return nil, cli.Usage("--url: %.200q is not the URL of a hub: want http://HOST:PORT or https://HOST", r.url)
		}
	}
	found := profile{URL: r.url}
	if found.URL == "" && r.profile == "" {
		found.URL = os.Getenv(urlVariable)
	}
	if found.URL == "" {
		name := cmp.Or(r.profile, all.Use)
		i := slices.IndexFunc(known, func(p profile) bool { return p.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("%w %s; hub profile list shows those that there are", errNoProfile, name)
		}
		found = known[i]
	} else {
		for i := range known {
			if p := &known[i]; sameHub(p.URL, found.URL) && r.tokenFileOf(p) != "" {
				found.Name, found.Tokens = p.Name, p.Tokens
				break
			}
		}
	}
	if r.tokenFile != "" {
		found.Name, found.Tokens = "", map[store.Role]string{r.role: r.tokenFile}
	}
	if r.tokenFileOf(&found) != "" {
		return &found, nil
	}
	if r.role == store.RoleOperator {
		return nil, cli.Usage("--token-file is missing: name a file with an operator's token for %s, or add it to a profile; 'hub token create --role operator --out FILE' makes one", cli.Visible(found.URL))
	}
	return nil, cli.Usage("no token for %s is known: name one with --token-file, or make a profile of both with 'hub profile add'", cli.Visible(found.URL))
}

// errNoProfile says that no profile has the name.
var errNoProfile = fmt.Errorf("%w: no profile", store.ErrNotFound)

func newProfile() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "profile",
		Short: "Name hubs, so that commands need neither URL nor token",
		Long: `A profile names a hub: its URL, and the files that hold tokens for it. Commands ask the
hub of the profile in use unless --profile, --url or HUB_URL names another. The profile
local always exists: it is the hub that your own agents run, or if there is none the one
at http://127.0.0.1:7878.

A token is sent only to the hub of its profile. HUB_URL and HUB_TOKEN_FILE, set
together, are a profile for one shell.`,
		Example: `  hub profile add work https://hub.example.com --token-file ~/work.token
  hub profile use local
  hub profile list
  hub agents --profile work`,
	}
	cli.Group(cmd)
	cmd.AddCommand(newProfileAdd(), newProfileUse(), newProfileList(), newProfileRemove())
	return cmd
}

func newProfileAdd() *cobra.Command {
	var files []string
	var idle bool
	cmd := &cobra.Command{
		Use:   "add NAME URL --token-file FILE",
		Short: "Add a hub, and use it from now on",
		Long: `Adds a profile. --token-file names a file with a reader's token, and can be repeated for
one with an operator's. The files are read each time they are needed, and their text is
stored nowhere else.`,
		Example: "  hub profile add work https://hub.example.com --token-file ~/work.token",
		Args:    cli.Named("the profile's NAME", "the hub's URL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			added, err := makeProfile(cmd, args[0], args[1], files)
			if err != nil {
				return err
			}
			all, err := readProfiles()
			if err != nil {
				return err
			}
			if all.find(added.Name) != nil {
				return fmt.Errorf("there is a profile %s already: remove it first, or take another name", added.Name)
			}
			all.List = append(all.List, *added)
			say := "added"
			if !idle {
				all.Use, say = added.Name, "is in use now"
			}
			if err := all.write(); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.ErrOrStderr(), "profile %s (%s) %s\n", added.Name, cli.Visible(added.URL), say)
			return err
		},
	}
	cmd.Flags().StringArrayVar(&files, "token-file", nil, "`file` with a token of that hub; can be repeated for another role")
	cmd.Flags().BoolVar(&idle, "no-use", false, "keep the profile that is in use")
	_ = cmd.MarkFlagFilename("token-file")
	return cmd
}

func makeProfile(cmd *cobra.Command, name, at string, files []string) (*profile, error) {
	if store.CheckAgentID(name) != nil { // the same rules apply
		return nil, usage(cmd, "profile name %q: use letters, digits and . _ @ : - and begin with a letter or digit", name)
	}
	if name == localProfile {
		return nil, usage(cmd, "%s is the hub of your own agents; take another name", name)
	}
	if _, err := apiclient.ParseBase(at); err != nil {
		return nil, usage(cmd, "URL %q: %w", at, err)
	}
	if len(files) == 0 {
		return nil, usage(cmd, "--token-file is missing")
	}
	p := &profile{Name: name, URL: at, Tokens: map[store.Role]string{}}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		token, err := credential.ReadToken(path)
		if err != nil {
			return nil, err
		}
		role, known := store.RoleOfToken(token)
		switch {
		case !known:
			return nil, fmt.Errorf("token file %s holds no token of a hub", path)
		case role == store.RoleAgent:
			return nil, fmt.Errorf("token file %s: that is an agent's token, which reads nothing; make a reader's with 'hub token create --role reader'", path)
		case p.Tokens[role] != "":
			return nil, usage(cmd, "--token-file: two files with tokens of role %s", role)
		}
		p.Tokens[role] = path
	}
	return p, nil
}

func newProfileUse() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "use NAME",
		Short:   "Use a profile from now on",
		Long:    "Makes commands ask the hub of this profile. 'local' is the hub of your own agents.",
		Example: "  hub profile use work\n  hub profile use local",
		Args:    cli.Named("the profile's NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			all, err := readProfiles()
			if err != nil {
				return err
			}
			if args[0] != localProfile && all.find(args[0]) == nil {
				return fmt.Errorf("%w %s; hub profile list shows those that there are", errNoProfile, args[0])
			}
			all.Use = args[0]
			return all.write()
		},
	}
	cmd.ValidArgsFunction = completeProfiles
	return cmd
}

func newProfileRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a profile",
		Long:    "Removes a profile. The files with its tokens stay, and the tokens remain valid.",
		Example: "  hub profile remove work",
		Args:    cli.Named("the profile's NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := readProfiles()
			if err != nil {
				return err
			}
			before := len(all.List)
			all.List = slices.DeleteFunc(all.List, func(p profile) bool { return p.Name == args[0] })
			if len(all.List) == before {
				return fmt.Errorf("%w %s; hub profile list shows those that there are", errNoProfile, args[0])
			}
			if all.Use == args[0] {
				all.Use = localProfile
				fmt.Fprintf(cmd.ErrOrStderr(), "profile %s is removed; %s is in use now\n", args[0], all.Use)
			}
			return all.write()
		},
	}
	cmd.ValidArgsFunction = completeProfiles
	return cmd
}

func newProfileList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the profiles, and which one is in use",
		Long:    "Lists the profiles with the roles of their tokens; * marks the one in use.",
		Example: "  hub profile list\n  hub profile list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := readProfiles()
			if err != nil {
				return err
			}
			all.List = append(all.List, localHub(cmd.Context()))
			if asJSON {
				return cli.JSON(cmd.OutOrStdout(), all)
			}
			table := cli.NewTable(cmd.OutOrStdout(), "", "NAME", "URL", "TOKENS")
			for i := range all.List {
				p := &all.List[i]
				var mark string
				if p.Name == all.Use {
					mark = "*"
				}
				var roles []string
				for _, role := range []store.Role{store.RoleReader, store.RoleOperator} {
					if p.Tokens[role] != "" {
						roles = append(roles, string(role))
					}
				}
				table.Row(mark, p.Name, cli.Visible(p.URL), strings.Join(roles, ", "))
			}
			return table.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// completeProfiles completes names of profiles.
func completeProfiles(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	if all, err := readProfiles(); err == nil && len(args) == 0 {
		for i := range all.List {
			names = append(names, cobra.CompletionWithDesc(all.List[i].Name, all.List[i].URL))
		}
		names = append(names, localProfile)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
