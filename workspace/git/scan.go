package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"waymark/agentapi"
	"waymark/internal/text"
	"waymark/workspace/launch"
)

// result is what a look at a repository has shown: that it is gone, what is wrong
// with it, or how it is.
type result struct {
	gone    bool
	warning string
	agentapi.GitRepository
}

// scanner looks at a repository.
type scanner interface {
	// scan returns when it has looked, or ctx has ended.
	scan(ctx context.Context, top string) result
	changes(ctx context.Context, top string, q *question) (*agentapi.GitDiff, error)
}

// scan is the real scanner.
type scan struct {
	run  *runner
	root func() string
	temp string // a directory for private ones
	// untracked bounds those that are shown; see maxUntracked.
	untracked int

	mu   sync.Mutex // guards user
	user userConfig
}

// errNoGit says that there is no git.
var errNoGit = errors.New("git isn't installed, or not in the agent's PATH")

func (s *scan) scan(ctx context.Context, top string) result {
	repo, err := s.look(ctx, top)
	switch {
	case errors.Is(err, errGone):
		return result{gone: true}
	case err != nil:
		// It may have gone in the middle of it.
		if _, err := locate(top, s.root()); errors.Is(err, errGone) {
			return result{gone: true}
		}
		return result{warning: text.Line(err.Error(), 1024)}
	}
	return result{GitRepository: *repo}
}

// target is a repository that is being looked at.
type target struct {
	*place
	settings
	root   string // of the workspace
	branch string // the full name of what HEAD names; "" when that is a commit
	head   string // the commit; "" before the first one
	files  []string
	dir    string // the private directory
}

// ours reports whether a path is one of the repository or the workspace.
func (t *target) ours(path string) bool {
	return within(path, t.top) || within(path, t.common) || within(path, t.git) || t.root != "" && within(path, t.root)
}

// look looks at a repository.
func (s *scan) look(ctx context.Context, top string) (repo *agentapi.GitRepository, err error) {
	err = s.with(ctx, top, func(t *target, may visible) error {
		repo = &agentapi.GitRepository{RepoRoot: valid(top), Branch: t.branchName(), RemoteOrigin: t.remote}
		repo.UnifiedDiff, err = s.compare(ctx, t, may)
		return err
	})
	return repo, err
}

// with has something done with a repository, of which there is a private one meanwhile.
func (s *scan) with(ctx context.Context, top string, do func(*target, visible) error) error {
	if s.run.program == "" {
		return errNoGit
	}
	t := &target{root: s.root()}
	var err error
	if t.place, err = locate(top, t.root); err != nil {
		return err
	}
	may, err := judge(top, t.root)
	if err != nil {
		return err
	}
	t.files = s.userFiles(ctx)
	if err := s.ask(ctx, t); err != nil {
		return err
	}
	if t.dir, err = os.MkdirTemp(s.temp, privatePrefix); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(t.dir) }()
	if err := t.fill(); err != nil {
		return err
	}
	err = do(t, may)
	var no *failure
	if errors.As(err, &no) {
		// git speaks of our copies; that is nobody's business, and new each time.
		err = errors.New(strings.ReplaceAll(err.Error(), t.dir, ".git"))
	}
	return err
}

// branchName is the branch without refs/heads/; "" while HEAD names none.
func (t *target) branchName() string { return valid(strings.TrimPrefix(t.branch, "refs/heads/")) }

// ask asks the repository itself where it is, and reads its configuration. Of
// these commands none opens an object, or a file of the work tree, so that none
// fetches, filters, or starts anything.
func (s *scan) ask(ctx context.Context, t *target) error {
	// git finds the repository by itself, since only then it looks at whose it
	// is, but nowhere else.
	c := command{
		dir: t.top, env: s.run.environment("GIT_CEILING_DIRECTORIES=" + filepath.Dir(t.top)),
		profile: s.run.profile("", append([]string{t.top, t.git, t.common}, t.files...)...),
	}
	ask := func(args ...string) (string, error) {
		c := c
		c.args = args
		out, err := s.run.output(ctx, &c)
		return strings.TrimSuffix(string(out), "\n"), err
	}
	var list []entry
	var listErr error
	var listing sync.WaitGroup // a start takes longer than what git does then
	listing.Go(func() { list, listErr = s.run.listConfig(ctx, c) })
	headErr := t.readHead(ask)
	listing.Wait()
	if headErr != nil {
		return headErr
	}
	if strings.Contains(t.top, ":") { // the ceilings are a list that has no quotes
		found, err := ask("rev-parse", "--absolute-git-dir")
		if err != nil {
			return err
		}
		if found, err = filepath.EvalSymlinks(found); err != nil || found != t.git {
			return errors.New("git takes it for a part of another repository")
		}
	}
	if listErr != nil {
		return listErr
	}
	t.settings = s.run.settingsOf(list, t.place, t.ours)
	return t.check()
}

// readHead asks what HEAD is: at once for a commit of a branch or by itself, and step by step
// for what is new, damaged or has an ambiguous name.
func (t *target) readHead(ask func(...string) (string, error)) (err error) {
	if both, err := ask("rev-parse", "HEAD", "--symbolic-full-name", "HEAD"); err == nil {
		head, branch, _ := strings.Cut(both, "\n")
		if branch == "HEAD" || strings.HasPrefix(branch, "refs/") {
			t.head, t.branch = head, strings.TrimPrefix(branch, "HEAD")
			return nil
		}
	}
	var no *failure
	isNo := func() bool { return errors.As(err, &no) && no.code == 1 }
	if t.branch, err = ask("symbolic-ref", "-q", "HEAD"); err != nil && !isNo() {
		return err
	}
	switch t.head, err = ask("rev-parse", "-q", "--verify", "HEAD"); {
	case isNo() && (t.branch == "" || t.hasRef()):
		return fmt.Errorf("its HEAD can't be read: %s", no.text)
	case isNo():
		return nil // before the first commit
	}
	return err
}

// hasRef reports whether the branch is there as a file. One that is, and yet
// names no commit, is damaged, and not new.
func (t *target) hasRef() bool {
	_, err := os.Lstat(filepath.Join(t.common, filepath.FromSlash(t.branch)))
	return err == nil
}

// check finds what the configuration says against this being a repository with
// files.
func (t *target) check() error {
	tree := ""
	if t.worktree != "" {
		tree, _ = filepath.EvalSymlinks(t.worktree) // "" is nobody's
	}
	switch linked := t.git != t.common; {
	case t.worktree != "" && !linked && tree != t.top:
		return fmt.Errorf("its core.worktree leads to another directory, %s", text.Printable(t.worktree))
	case t.unproven && tree != t.top:
		return fmt.Errorf("its .git leads to %s, outside the workspace, which doesn't name this directory in core.worktree", text.Printable(t.git))
	case t.bare && !linked:
		return errors.New("it is bare: it has no files to compare")
	}
	return nil
}

// copied are the files of a repository that a private one has copies of. What
// git reads of them is data.
func (t *target) copied() map[string]string {
	return map[string]string{
		"info/exclude":         filepath.Join(t.common, "info", "exclude"),
		"info/attributes":      filepath.Join(t.common, "info", "attributes"),
		"info/sparse-checkout": filepath.Join(t.git, "info", "sparse-checkout"),
	}
}

// fill makes the private repository: one that has nothing of the real one but a
// copy of its index, harmless settings, and a way to its objects.
func (t *target) fill() error {
	for _, dir := range []string{"refs", "info", "objects"} {
		if err := os.Mkdir(filepath.Join(t.dir, dir), 0o700); err != nil {
			return err
		}
	}
	files := map[string][]byte{"HEAD": []byte("ref: refs/heads/none\n"), "config": []byte(t.text())}
	for name, from := range t.copied() {
		data, err := readSmall(from)
		if err == nil {
			files[name] = data
		}
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(t.dir, name), data, 0o600); err != nil {
			return err
		}
	}
	if err := copyFile(filepath.Join(t.git, "index"), filepath.Join(t.dir, "index")); err != nil {
		return err
	}
	return t.shareIndex()
}

// shareIndex copies what a split index is split off from.
func (t *target) shareIndex() error {
	shared, err := filepath.Glob(filepath.Join(globbed(t.git), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, path := range shared {
		if err := copyFile(path, filepath.Join(t.dir, filepath.Base(path))); err != nil {
			return err
		}
	}
	return nil
}

// globbed is a path as a pattern.
func globbed(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// maxIndex bounds the copy of an index, in bytes: that of two million files.
const maxIndex = 256 << 20

// copyFile copies a regular file with its time, by which git knows what is too
// young to be trusted. None is none.
func copyFile(from, to string) error {
	in, err := openRegular(from)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("its index can't be read: %s", reason(err))
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if info.Size() > maxIndex {
		return fmt.Errorf("its index is larger than %d MiB", maxIndex>>20)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, maxIndex))
	if err := errors.Join(err, out.Close()); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// confined is a command of the private repository.
func (s *scan) confined(t *target, args ...string) *command {
	read := append([]string{t.top, t.objects}, t.alternates...)
	read = append(read, t.files...)
	if t.excludes != "" {
		read = append(read, t.excludes)
	}
	return &command{
		dir: t.top, args: args, profile: s.run.profile(t.dir, read...),
		env: s.run.environment("GIT_DIR="+t.dir, "GIT_WORK_TREE="+t.top,
			// What is written, as trees are when a sparse index grows, is written to ours.
			"GIT_ALTERNATE_OBJECT_DIRECTORIES="+quoteSetting(t.objects),
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1"),
	}
}

// The ids of nothing, by the format of objects.
var (
	emptyTree = map[string]string{
		"sha1":   "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
		"sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
	}
	emptyBlob = map[string]string{
		"sha1":   "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
		"sha256": "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
	}
)

// maxUntracked bounds the untracked files that are shown: who forgets to ignore
// node_modules has ten times as many.
const maxUntracked = 20_000

// compare returns the diff of everything that isn't committed.
func (s *scan) compare(ctx context.Context, t *target, may visible) (string, error) {
	untracked, unmerged, more, err := s.list(ctx, t, nil)
	if err == nil {
		err = s.track(ctx, t, append(unmerged, untracked...))
	}
	if err != nil {
		return "", err
	}
	p, unread, err := s.patch(ctx, t, may, findRenames)
	if err == nil && p.withheld > 0 {
		p, unread, err = s.patch(ctx, t, may, findCopies)
	}
	if err != nil {
		return "", err
	}
	if more {
		p.notes = append(p.notes, fmt.Sprintf("more than %d files are untracked: the others are not shown", s.untracked))
	}
	if len(unread) > 0 {
		p.notes = append(p.notes, text.Count(len(unread), "file", "files")+" can't be read: "+text.Line(strings.Join(unread, ", "), 512))
	}
	return p.String(), nil
}

// patch is the diff of everything but the files that can't be read.
func (s *scan) patch(ctx context.Context, t *target, may visible, find string) (p *patch, unread []string, err error) {
	unread, err = despite(func(without []string) error {
		return s.diff(ctx, t, specs(butNot, without), find, func(r io.Reader) (err error) {
			p, err = readPatch(r, may)
			return err
		})
	})
	return p, unread, err
}

// despite runs git without the files that it can't read: it gives up at the first one.
// It returns their names. Enough is no error.
func despite(do func(without []string) error) (unread []string, err error) {
	for {
		err := do(unread)
		if err == nil || errors.Is(err, errEnough) {
			return unread, nil
		}
		var no *failure
		name := ""
		if errors.As(err, &no) {
			if match := cannotRead().FindStringSubmatch(no.text); match != nil {
				name = match[1]
			}
		}
		if name == "" || len(unread) == maxUnread {
			return nil, err
		}
		unread = append(unread, name)
	}
}

// cannotRead is what git says of a file that it may not read.
var cannotRead = text.Lazy(`^(?:cannot hash|unable to read) (.+)$`)

// maxUnread bounds how many files git is asked to do without, one by one.
const maxUnread = 16

// git pairs each file that has gone with one that is new. Another new one may have the same
// content: where a file isn't to be shown, its copies are found, too.
const findRenames, findCopies = "--find-renames", "--find-copies"

// Which files are meant by a name, for git.
const only, butNot = ":(top,literal)", ":(top,exclude,literal)"

// specs are names as git takes them for themselves.
func specs(magic string, names []string) (list []string) {
	for _, name := range names {
		list = append(list, magic+name)
	}
	return list
}

// diff has the diff of some files read, or of all, of what isn't committed.
func (s *scan) diff(ctx context.Context, t *target, specs []string, find string, read func(io.Reader) error) error {
	return s.run.run(ctx, s.diffCommand(t, specs, find, "--src-prefix=a/", "--dst-prefix=b/", "--unified=3", "--submodule=short"), read)
}

// diffCommand is git diff of what isn't committed.
func (s *scan) diffCommand(t *target, specs []string, args ...string) *command {
	base := t.head
	if base == "" {
		base = emptyTree[t.format]
	}
	c := s.confined(t, "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--no-relative")
	c.args = slices.Concat(c.args, args, []string{base, "--"}, specs)
	return c
}

// list lists the files that aren't tracked, all or those in some places, and those with a
// conflict. It reports whether there were too many.
func (s *scan) list(ctx context.Context, t *target, places []string) (untracked, unmerged []string, more bool, err error) {
	list := s.confined(t, "ls-files", "-z", "-t", "--unmerged", "--others", "--exclude-standard")
	if t.sparse {
		// An index of whole directories would grow, which touches objects. A git
		// that doesn't know this option knows no such index either.
		list.args = append(list.args, "--sparse")
	}
	list.args = slices.Concat(list.args, []string{"--"}, specs(only, places))
	err = s.run.run(ctx, list, func(r io.Reader) error {
		return records(r, func(record string) error {
			tag, name, _ := strings.Cut(record, " ")
			if tag != "?" { // "M", mode, object and stage before the name
				_, name, _ = strings.Cut(name, "\t")
				unmerged = append(unmerged, name)
				return nil
			}
			if len(untracked) == s.untracked {
				return errEnough
			}
			untracked = append(untracked, name)
			return nil
		})
	})
	if more = errors.Is(err, errEnough); more {
		err = nil
	}
	return untracked, unmerged, more, err
}

// track puts files that aren't tracked, or have a conflict, into the private index, so that
// one diff has them all, renamed ones too.
func (s *scan) track(ctx context.Context, t *target, names []string) error {
	var add bytes.Buffer
	for _, name := range names {
		if !strings.HasSuffix(name, "/") { // a repository of its own
			blob := emptyBlob[t.format]
			fmt.Fprintf(&add, "0 %s 0\t%s\x00100644 %s 0\t%s\x00", strings.Repeat("0", len(blob)), name, blob, name)
		}
	}
	if add.Len() == 0 {
		return nil
	}
	c := s.confined(t, "update-index", "-z", "--index-info")
	c.stdin = &add
	_, err := s.run.output(ctx, c)
	return err
}

// maxRecord bounds a record, in bytes: a name of the longest kind and some numbers.
const maxRecord = 64 << 10

// records calls do for each record that ends with a NUL.
func records(r io.Reader, do func(string) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxRecord)
	lines.Split(func(data []byte, _ bool) (int, []byte, error) {
		at := bytes.IndexByte(data, 0)
		if at < 0 {
			return 0, nil, nil
		}
		return at + 1, data[:at], nil
	})
	for lines.Scan() {
		if err := do(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// findGit returns the program, or "".
func findGit() string {
	path, err := exec.LookPath("git")
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// confinement says why git can't be confined; nil means that it can.
func confinement(p *launch.Program) error {
	if p == nil {
		return errors.New("the program that confines others isn't there")
	}
	_, err := launch.Supported()
	return err
}
