package clients_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"waymark/abi"
	"waymark/host"
	"waymark/host/applicability"
	"waymark/host/codingagents"
	"waymark/test/built"
	"waymark/test/testenv"
)

// A runner starts one coding agent. What it sends to its model at its start is compared
// with what the rules say.
type runner struct {
	id string // of the rules
	// pkg is what npm calls the program, and pinned the directory below testdata that pins
	// its version.
	pkg, pinned string
	// command returns what is started, and writes the settings that lead to the model into
	// the home directory. modules is the directory node_modules.
	command func(t *testing.T, modules string, home user) []string
	// env is its environment, besides HOME and PATH.
	env []string
	// read is the tool call that reads a file; nil if what comes with a file isn't compared.
	read func(file string) toolCall
	// prints: it prints what it would send, and asks no model.
	prints bool
	// unsent are kinds that it reads and doesn't tell its model.
	unsent []abi.Kind
	// unordered are the kinds whose order isn't compared: the program reads them in whichever
	// order the file system or its own concurrency gives.
	unordered []abi.Kind
	// together matches the part of a path that files share which come in any order.
	together *regexp.Regexp
	// trees are those of this coding agent alone, and random makes more; nil for randomMarked.
	trees  []tree
	random func(seed uint64) *tree
	// seeds is how many groups of random trees are compared.
	seeds int
	// differs are trees in which the rules are known to be wrong, with the reason.
	differs map[string]string
}

var runners = []*runner{&claudeRunner, &clineRunner, &codexRunner, &continueRunner, &copilotRunner, &geminiRunner, &kiloRunner, &opencodeRunner, &piRunner, &qwenRunner}

var (
	clientsFlag = flag.String("clients", "", "run the programs of these coding agents, separated by blanks, for trees without a recorded answer: all, ID, or ID@VERSION for all trees")
	treeFlag    = flag.String("tree", "", "look at trees with this name only")
)

// randomPerSeed is how many random trees one seed makes.
const randomPerSeed = 20

// TestAnswers compares what the rules say of each tree with what the program has answered.
// Answers are recorded: the programs run only with -clients.
func TestAnswers(t *testing.T) {
	for _, r := range runners {
		t.Run(r.id, func(t *testing.T) { r.compare(t) })
	}
}

// TestRecorded runs each program for some trees, chosen by chance, whose answers are
// recorded.
func TestRecorded(t *testing.T) {
	t.Parallel()
	find(t) // or skip
	random := testenv.Rand(t)
	for _, r := range runners {
		t.Run(r.id, func(t *testing.T) {
			recorded := r.recorded(t)
			all := r.all()
			modules := built.NodeModules(t, filepath.Join("testdata", r.pinned))
			for range testenv.Rounds(0, 2, 20) {
				tr := all[random.IntN(len(all))]
				want, ok := recorded.Answers[tr.key()]
				if !ok {
					t.Errorf("%s: no answer is recorded", tr.key())
					continue
				}
				// The rules can leave open which of several skills is listed, and in which order.
				if got := r.ask(t, modules, tr); got != want && (r.differs[tr.name] != "" || !r.agrees(t, tr, got)) {
					t.Errorf("%s: %s answers\n%s\nand recorded is\n%s", tr.key(), r.id, got, want)
				}
			}
		})
	}
}

// agrees reports whether an answer is what the rules say.
func (r *runner) agrees(t *testing.T, tr *tree, answer string) bool {
	_, _, difference := judge(t, r, codingagents.Lookup(r.id), tr, answer)
	return difference == ""
}

// answers are what a program has said of trees, by their keys.
type answers struct {
	Version string            `json:"version"`
	Answers map[string]string `json:"answers"`
}

func (r *runner) file() string { return filepath.Join("testdata", "answers", r.id+".json") }

func (r *runner) recorded(t *testing.T) *answers {
	t.Helper()
	a := &answers{Answers: map[string]string{}}
	text, err := os.ReadFile(r.file())
	if errors.Is(err, fs.ErrNotExist) {
		return a
	}
	if err == nil {
		err = json.Unmarshal(text, a)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// all are the trees that a program is asked about.
func (r *runner) all() (all []*tree) {
	for _, list := range [][]tree{markedTrees, r.trees} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	seeds := r.seeds
	if _, asked := r.asked(); testing.Short() && !asked {
		seeds = min(seeds, 2)
	}
	for i := range seeds * randomPerSeed {
		tr := r.randomTree(uint64(i))
		tr.name = fmt.Sprintf("random %d/%d", i/randomPerSeed+1, i%randomPerSeed+1)
		all = append(all, tr)
	}
	return slices.DeleteFunc(all, func(tr *tree) bool { return *treeFlag != "" && tr.name != *treeFlag })
}

func (r *runner) randomTree(seed uint64) *tree {
	if r.random != nil {
		return r.random(seed)
	}
	return randomMarked(seed)
}

// asked says whether the program is to run, and in which version; empty means the pinned one.
func (r *runner) asked() (version string, ok bool) {
	for _, name := range strings.Fields(strings.ReplaceAll(*clientsFlag, ",", " ")) {
		id, version, _ := strings.Cut(name, "@")
		if id == r.id || id == "all" {
			return version, true
		}
	}
	return "", false
}

// compare compares all trees, and prints how many agree.
func (r *runner) compare(t *testing.T) {
	c := codingagents.Lookup(r.id)
	if c == nil || !c.Judged {
		t.Fatalf("there are no rules for %s that the program judges", r.id)
	}
	recorded := r.recorded(t)
	version, asked := r.asked()
	other := version != ""
	if recorded.Version != c.Version && !other {
		if !asked {
			t.Fatalf("the answers are those of version %q, and the rules of %s: run make clients CLIENTS=%s", recorded.Version, c.Version, r.id)
		}
		recorded = &answers{Version: c.Version, Answers: map[string]string{}}
	}
	modules := ""
	switch {
	case other:
		modules = r.install(t, version)
		recorded = &answers{Answers: map[string]string{}}
	case asked:
		needNamespace(t)
		modules = built.NodeModules(t, filepath.Join("testdata", r.pinned))
	}
	all := r.all()
	var (
		mu                    sync.Mutex // guards what follows, and recorded.Answers
		used                  = map[string]bool{}
		marks, agreeing, same int
		group                 sync.WaitGroup
		turns                 = make(chan struct{}, runtime.GOMAXPROCS(0))
	)
	for _, tr := range all {
		turns <- struct{}{}
		group.Go(func() {
			defer func() { <-turns }()
			key := tr.key()
			mu.Lock()
			answer, ok := recorded.Answers[key]
			used[key] = true
			mu.Unlock()
			if !ok && modules == "" {
				t.Errorf("%s: no answer is recorded: run make clients CLIENTS=%s", key, r.id)
				return
			}
			if !ok {
				answer = r.ask(t, modules, tr)
				mu.Lock()
				if recorded.Answers[key] = answer; len(recorded.Answers)%10 == 0 && !other {
					r.write(t, recorded) // so that a run that is cut off can go on
				}
				mu.Unlock()
			}
			n, right, difference := judge(t, r, c, tr, answer)
			mu.Lock()
			defer mu.Unlock()
			marks, agreeing = marks+n, agreeing+right
			why, known := r.differs[tr.name]
			switch {
			case difference == "" && known && !other:
				t.Errorf("%s agrees, and is said to differ: %s", tr.name, why)
			case difference != "" && !known:
				t.Errorf("%s: %s\n%s", tr.name, difference, tr)
			}
			if difference == "" {
				same++
			}
		})
	}
	group.Wait()
	if asked && !other && *treeFlag == "" {
		maps.DeleteFunc(recorded.Answers, func(key, _ string) bool { return !used[key] })
	}
	if asked && !other {
		r.write(t, recorded)
	}
	t.Logf("%s %s: %d of %d trees agree, %d of %d marks", r.id, cmp.Or(version, c.Version), same, len(all), agreeing, marks)
}

func (r *runner) write(t *testing.T, a *answers) {
	t.Helper()
	text, err := json.MarshalIndent(a, "", "\t")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(r.file()), 0o750)
	}
	if err == nil {
		err = os.WriteFile(r.file(), append(text, '\n'), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// install installs a version that isn't pinned, once.
func (r *runner) install(t *testing.T, version string) string {
	t.Helper()
	needNamespace(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "waymark-test-npm", "versions", r.id+"@"+version)
	cmd := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--prefix", dir, r.pkg+"@"+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("npm: %v\n%s", err, out)
	}
	return filepath.Join(dir, "node_modules")
}

// A mark is a word that stands in one file of a tree and nowhere else: $ in its text, or $1
// and $2 if there are several. $(PATH) is the mark of another file.
var (
	markPlace = regexp.MustCompile(`\$(\d?)(?:\(([^)]+)\))?`)
	markWord  = regexp.MustCompile(`zq[0-9a-f]{10}`)
)

func markOf(path, n string) string {
	sum := sha256.Sum256([]byte(path + "#" + n))
	return "zq" + hex.EncodeToString(sum[:5])
}

// marked replaces the marks in a tree, and returns the paths of the marks.
func (tr *tree) marked() (out *tree, paths map[string]string) {
	made := *tr
	paths = map[string]string{}
	in := func(files map[string]string, prefix string) map[string]string {
		all := map[string]string{}
		for path, text := range files {
			all[path] = markPlace.ReplaceAllStringFunc(text, func(place string) string {
				m := markPlace.FindStringSubmatch(place)
				of := cmp.Or(m[2], prefix+path)
				mark := markOf(of, m[1])
				if paths[mark] = of; m[1] != "" {
					paths[mark] += "#" + m[1]
				}
				return mark
			})
		}
		return all
	}
	made.files, made.home = in(tr.files, ""), in(tr.home, "~/")
	return &made, paths
}

// key names a tree by all that its answer depends on.
func (tr *tree) key() string {
	text, err := json.Marshal([]any{tr.start, tr.files, tr.noGit, tr.home, tr.inHome, tr.variables, tr.reads})
	if err != nil {
		panic(err) // strings and maps of strings
	}
	sum := sha256.Sum256(text)
	return tr.name + " " + hex.EncodeToString(sum[:4])
}

// String is the tree with its texts.
func (tr *tree) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\tstarted in %q, noGit %v, inHome %v, reads %q, %v\n", tr.start, tr.noGit, tr.inHome, tr.reads, tr.variables)
	for prefix, files := range map[string]map[string]string{"": tr.files, "~/": tr.home} {
		for _, path := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(&b, "\t%s%s: %.150q\n", prefix, path, files[path])
		}
	}
	return b.String()
}

// place makes a tree with its marks, where the program or the rules look at it.
func (tr *tree) place(t *testing.T) (start string, home user) {
	t.Helper()
	dir, err := os.MkdirTemp("", "wm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	home = tr.homeIn(t, filepath.Join(dir, "home"))
	if tr.inHome {
		return tr.makeIn(t, home.dir), home
	}
	return tr.makeIn(t, dir), home
}

// ask runs the program, and returns the files whose marks it sent to its model, in order and
// separated by blanks. If the tree has a file to read, only those that came with it.
func (r *runner) ask(t *testing.T, modules string, of *tree) string {
	t.Helper()
	tr, paths := of.marked()
	start, home := tr.place(t)
	var script []toolCall
	if tr.reads != "" {
		script = append(script, r.read(filepath.Join(start, tr.reads)))
	}
	argv := r.command(t, modules, home)
	home.env = append(append(home.env, r.env...), modelScript+"="+jsonOf(script))
	var first, last string
	if r.prints {
		first = texts(run(t, home, "plain", start, argv...))
	} else {
		first, last = requestsOf(t, run(t, home, "ask", start, argv...))
	}
	seen := marksOf(first)
	if tr.reads != "" {
		before := seen
		seen = slices.DeleteFunc(marksOf(last), func(mark string) bool { return slices.Contains(before, mark) })
	}
	for i, mark := range seen {
		seen[i] = strings.ReplaceAll(cmp.Or(paths[mark], mark), " ", "%20")
	}
	return strings.Join(seen, " ")
}

func marksOf(text string) (marks []string) {
	for _, mark := range markWord.FindAllString(text, -1) {
		if !slices.Contains(marks, mark) {
			marks = append(marks, mark)
		}
	}
	return marks
}

// judge compares the rules with an answer: of how many marks they say something, how many of
// these are right, and how they differ.
func judge(t *testing.T, r *runner, c *codingagents.Client, of *tree, answer string) (n, right int, difference string) {
	tr, paths := of.marked()
	start, home := tr.place(t)
	said := slices.DeleteFunc(sayings(t, c, tr, start, home), func(s saying) bool { return slices.Contains(r.unsent, s.kind) })
	got := strings.Fields(answer)
	name := func(mark string) string { return strings.ReplaceAll(cmp.Or(paths[mark], mark), " ", "%20") }
	for i := range said {
		s := &said[i]
		at := slices.IndexFunc(got, func(path string) bool {
			return slices.ContainsFunc(s.rivals, func(mark string) bool { return name(mark) == path })
		})
		if at >= 0 && !slices.Contains(got, name(s.mark)) {
			got[at] = name(s.mark) // empty for a description without a mark
		} else if at < 0 && s.unlisted && !slices.Contains(got, name(s.mark)) {
			s.mark = ""
		}
	}
	isEmpty := func(mark string) bool { return mark == "" }
	got, said = slices.DeleteFunc(got, isEmpty), slices.DeleteFunc(said, func(s saying) bool { return isEmpty(s.mark) })
	spoken := map[string]bool{}
	var missing, extra, order []string
	for _, s := range said {
		if spoken[name(s.mark)] = true; s.included && !slices.Contains(got, name(s.mark)) {
			extra = append(extra, name(s.mark))
		}
	}
	for _, path := range got {
		spoken[path] = true
		if !slices.ContainsFunc(said, func(s saying) bool { return s.included && name(s.mark) == path }) {
			missing = append(missing, path)
		}
	}
	for _, kind := range []abi.Kind{abi.KindInstructionFile, abi.KindSkill, abi.KindSubagent, abi.KindCommand} {
		// The first mark of a file says where it stands: what it imports can stand in its text.
		var want, has []string
		add := func(list *[]string, mark string) {
			if file, _, _ := strings.Cut(mark, "#"); !slices.Contains(*list, file) {
				*list = append(*list, file)
			}
		}
		for _, s := range said {
			if s.included && s.kind == kind && slices.Contains(got, name(s.mark)) {
				add(&want, name(s.mark))
			}
		}
		for _, mark := range got {
			if file, _, _ := strings.Cut(mark, "#"); slices.Contains(want, file) {
				add(&has, mark)
			}
		}
		// What comes with a file is said from the nearest to the file on, whatever the program does.
		if tr.reads == "" && !slices.Contains(r.unordered, kind) && !slices.Equal(r.ordered(has), r.ordered(want)) {
			order = append(order, fmt.Sprintf("the order of %s is %v, not %v", kind, has, want))
		}
	}
	if len(missing) > 0 {
		difference += fmt.Sprintf("%s has, and the rules don't say: %v; ", r.id, missing)
	}
	if len(extra) > 0 {
		difference += fmt.Sprintf("%s hasn't, and the rules say: %v; ", r.id, extra)
	}
	difference = strings.TrimSuffix(difference+strings.Join(order, "; "), "; ")
	return len(spoken), len(spoken) - len(missing) - len(extra), difference
}

// ordered sorts neighbors that come in any order.
func (r *runner) ordered(paths []string) []string {
	if r.together == nil {
		return paths
	}
	paths = slices.Clone(paths)
	for i := 0; i < len(paths); {
		group, end := r.together.FindString(paths[i]), i+1
		for group != "" && end < len(paths) && r.together.FindString(paths[end]) == group {
			end++
		}
		slices.Sort(paths[i:end])
		i = end
	}
	return paths
}

// describing is a file with a mark in its description.
var describing = regexp.MustCompile(`(?m)^description:.*zq`)

// saying is what the rules say of a mark.
type saying struct {
	mark     string
	kind     abi.Kind
	included bool
	// rivals are marks of which any can be there in the place of this one; none at all if
	// unlisted, because one of those files says no description.
	rivals   []string
	unlisted bool
}

// sayings are what the rules say of a tree, in their order.
func sayings(t *testing.T, c *codingagents.Client, tr *tree, start string, home user) (said []saying) {
	ctx := context.WithoutCancel(t.Context())
	opts := host.Options{Builtin: module, Shared: &loaded, CacheDir: codeDir, KeyDir: keyDir, Home: home.dir, ClientVariables: map[string]string{}}
	for _, pair := range home.env {
		name, value, _ := strings.Cut(pair, "=")
		opts.ClientVariables[name] = value
	}
	add := func(text string, kind abi.Kind, included bool) {
		for _, mark := range marksOf(text) {
			said = append(said, saying{mark: mark, kind: kind, included: included})
		}
	}
	if tr.reads != "" {
		opts.Roots = []host.RootSpec{{Path: start}}
		answer, err := forFile(ctx, opts, c, filepath.Join(start, tr.reads))
		if err != nil {
			t.Errorf("%s: %v", tr.name, err)
			return nil
		}
		for i := range answer.Items {
			it := &answer.Items[i]
			path := it.Path
			if !filepath.IsAbs(path) {
				path = filepath.Join(start, path)
			}
			text, _ := os.ReadFile(path)
			add(string(text), it.Kind, it.Applies && it.When == string(codingagents.OnFile))
		}
		return said
	}
	view, err := host.ClientContext(ctx, opts, c, start)
	if err != nil {
		t.Errorf("%s: %v", tr.name, err)
		return nil
	}
	for i := range view.Items {
		it := &view.Items[i]
		body, _ := os.ReadFile(it.Path)
		switch {
		case !it.Included: // also of what the list would show
			add(string(body), it.Kind, false)
		case it.Kind == abi.KindInstructionFile && it.CutBytes == 0: // front matter may be taken out
			add(it.Name+"\n"+string(body[max(0, int64(len(body))-it.Bytes):]), it.Kind, true)
		case it.Kind == abi.KindInstructionFile:
			add(string(body[:max(0, min(int64(len(body)), it.Bytes-it.CutBytes))]), it.Kind, true)
		default:
			marks := len(said)
			add(it.Name+"\n"+it.Description, it.Kind, true)
			if _, rivals, several := strings.Cut(it.Detail, "which of them is listed can change from start to start: "); several {
				if len(said) == marks {
					said = append(said, saying{kind: it.Kind, included: true})
				}
				for path := range strings.SplitSeq(rivals, ", ") {
					text, _ := os.ReadFile(path)
					said[marks].rivals = append(said[marks].rivals, marksOf(string(text))...)
					said[marks].unlisted = said[marks].unlisted || !describing.Match(text)
				}
			}
		}
	}
	return said
}

// forFile is what a coding agent has for a file.
func forFile(ctx context.Context, opts host.Options, c *codingagents.Client, file string) (answer *applicability.Answer, err error) {
	h, err := host.New(opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.Load(ctx); err != nil {
		return nil, err
	}
	if _, err := h.Refresh(ctx); err != nil {
		return nil, err
	}
	return h.ForClient(ctx, c, file)
}
