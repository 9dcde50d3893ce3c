package sandbox

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"waymark/host/vfs"
	"waymark/test/testenv"
	"waymark/test/wasmtest"
)

// dearest says, for every import, what call of it takes longest as far as its
// bounds let it through, what that call is charged, and how long it took when
// this was written, in nanoseconds of a shared machine with 2 cores. The charge
// is exact, and covers import, guard, and what the host does; a unit stands for
// some 0.3 ns, and a slice has 2,000,000.
//
// WASI gets the path of 4,096 bytes at 65536, 1,024 buffers of 64 bytes at
// 131072, and descriptor 4 is an open file of 64 KiB, 5 a directory of 1,000
// entries. $b is a block of 1 MiB, $p one that holds the long path, $d and $f the
// names of directory and file.
var dearest = map[string]struct {
	call string
	fuel int64
	ns   int
}{
	"input_length":            {`(call $input_length)`, 309, 0},
	"input_offset":            {`(call $input_offset)`, 309, 211},
	"input_load_u8":           {`(call $input_load_u8 (i64.const 0))`, 310, 0},
	"input_load_u64":          {`(call $input_load_u64 (i64.const 0))`, 310, 46},
	"alloc":                   {`(call $alloc (i64.const 65536))`, 196918, 488},
	"free":                    {`(call $free (i64.const 12345678))`, 309, 118},
	"length":                  {`(call $length (local.get $b))`, 310, 54},
	"length_unsafe":           {`(call $length_unsafe (local.get $b))`, 310, 154},
	"load_u8":                 {`(call $load_u8 (local.get $b))`, 310, 185},
	"load_u64":                {`(call $load_u64 (local.get $b))`, 310, 98},
	"store_u8":                {`(call $store_u8 (local.get $b) (i32.const 1))`, 310, 84},
	"store_u64":               {`(call $store_u64 (local.get $b) (i64.const 1))`, 310, 88},
	"output_set":              {`(call $output_set (local.get $b) (i64.const 1048576))`, 310, 300},
	"error_set":               {`(call $error_set (i64.const 0))`, 309, 19},
	"error_get":               {`(call $error_get)`, 309, 9},
	"memory_bytes":            {`(call $memory_bytes)`, 309, 0},
	"config_get":              {`(call $config_get (local.get $b))`, 310, 135},
	"get_log_level":           {`(call $get_log_level)`, 309, 116},
	"log_trace":               {`(call $log_trace (call $alloc (i64.const 4096)))`, 12901, 386},
	"log_debug":               {`(call $log_debug (call $alloc (i64.const 4096)))`, 12901, 357},
	"log_info":                {`(call $log_info (call $alloc (i64.const 4096)))`, 258661, 51900},
	"log_warn":                {`(call $log_warn (call $alloc (i64.const 4096)))`, 258661, 51572},
	"log_error":               {`(call $log_error (call $alloc (i64.const 4096)))`, 258661, 51059},
	"fs_read":                 {`(call $fs_read (local.get $f) (i64.const 0) (i64.const 1048576))`, 246920, 84131},
	"fs_list":                 {`(call $fs_list (local.get $d))`, 2158313, 602514},
	"fs_stat":                 {`(call $fs_stat (local.get $p))`, 10478, 10152},
	"front_matter":            {`(call $front_matter (local.get $b) (i64.const 1))`, 13107882, 13112},
	"memo_begin":              {`(call $memo_begin (local.get $b))`, 10562, 1711},
	"memo_end":                {`(call $memo_end (local.get $b))`, 3156175, 117385},
	"block_copy":              {`(call $block_copy (local.get $b) (i64.add (local.get $b) (i64.const 4096)) (i64.const 1044480))`, 3133752, 22242},
	"args_get":                {`(call $args_get (i32.const 1000) (i32.const 2000))`, 611, 211},
	"args_sizes_get":          {`(call $args_sizes_get (i32.const 1000) (i32.const 2000))`, 611, 582},
	"environ_get":             {`(call $environ_get (i32.const 1000) (i32.const 2000))`, 611, 377},
	"environ_sizes_get":       {`(call $environ_sizes_get (i32.const 1000) (i32.const 2000))`, 611, 421},
	"clock_res_get":           {`(call $clock_res_get (i32.const 0) (i32.const 2000))`, 611, 415},
	"clock_time_get":          {`(call $clock_time_get (i32.const 0) (i64.const 0) (i32.const 2000))`, 612, 227},
	"fd_advise":               {`(call $fd_advise (i32.const 4) (i64.const 0) (i64.const 1099511627776) (i32.const 0))`, 613, 307},
	"fd_allocate":             {`(call $fd_allocate (i32.const 4) (i64.const 0) (i64.const 100))`, 612, 198},
	"fd_close":                {`(call $fd_close (i32.const 9))`, 610, 152},
	"fd_datasync":             {`(call $fd_datasync (i32.const 4))`, 610, 164},
	"fd_fdstat_get":           {`(call $fd_fdstat_get (i32.const 4) (i32.const 2000))`, 611, 240},
	"fd_fdstat_set_flags":     {`(call $fd_fdstat_set_flags (i32.const 4) (i32.const 0))`, 611, 155},
	"fd_fdstat_set_rights":    {`(call $fd_fdstat_set_rights (i32.const 4) (i64.const 0) (i64.const 0))`, 612, 132},
	"fd_filestat_get":         {`(call $fd_filestat_get (i32.const 4) (i32.const 2000))`, 611, 246},
	"fd_filestat_set_size":    {`(call $fd_filestat_set_size (i32.const 4) (i64.const 1))`, 611, 168},
	"fd_filestat_set_times":   {`(call $fd_filestat_set_times (i32.const 4) (i64.const 0) (i64.const 0) (i32.const 5))`, 613, 292},
	"fd_pread":                {`(call $fd_pread (i32.const 4) (i32.const 131072) (i32.const 1024) (i64.const 0) (i32.const 2000))`, 299622, 41378},
	"fd_prestat_get":          {`(call $fd_prestat_get (i32.const 3) (i32.const 2000))`, 611, 148},
	"fd_prestat_dir_name":     {`(call $fd_prestat_dir_name (i32.const 3) (i32.const 2000) (i32.const 1))`, 612, 110},
	"fd_pwrite":               {`(call $fd_pwrite (i32.const 2) (i32.const 131072) (i32.const 1024) (i64.const 0) (i32.const 2000))`, 103014, 437},
	"fd_read":                 {`(call $fd_read (i32.const 0) (i32.const 131072) (i32.const 1024) (i32.const 2000))`, 103013, 482},
	"fd_readdir":              {`(call $fd_readdir (i32.const 5) (i32.const 200000) (i32.const 1048576) (i64.const 0) (i32.const 2000))`, 5146342, 56844},
	"fd_renumber":             {`(call $fd_renumber (i32.const 4) (i32.const 4))`, 611, 250},
	"fd_seek":                 {`(call $fd_seek (i32.const 4) (i64.const 0) (i32.const 2) (i32.const 2000))`, 613, 193},
	"fd_sync":                 {`(call $fd_sync (i32.const 4))`, 610, 117},
	"fd_tell":                 {`(call $fd_tell (i32.const 4) (i32.const 2000))`, 611, 186},
	"fd_write":                {`(call $fd_write (i32.const 2) (i32.const 131072) (i32.const 1024) (i32.const 2000))`, 299621, 31287},
	"path_create_directory":   {`(call $path_create_directory (i32.const 3) (i32.const 65536) (i32.const 4096))`, 12900, 22617},
	"path_filestat_get":       {`(call $path_filestat_get (i32.const 3) (i32.const 1) (i32.const 65536) (i32.const 4096) (i32.const 2000))`, 22902, 36277},
	"path_filestat_set_times": {`(call $path_filestat_set_times (i32.const 3) (i32.const 1) (i32.const 65536) (i32.const 4096) (i64.const 0) (i64.const 0) (i32.const 5))`, 12904, 21536},
	"path_link":               {`(call $path_link (i32.const 3) (i32.const 0) (i32.const 65536) (i32.const 4096) (i32.const 3) (i32.const 65536) (i32.const 4096))`, 25192, 46874},
	"path_open":               {`(call $path_open (i32.const 3) (i32.const 1) (i32.const 65536) (i32.const 4096) (i32.const 0) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const 2000))`, 62906, 27438},
	"path_readlink":           {`(call $path_readlink (i32.const 3) (i32.const 65536) (i32.const 4096) (i32.const 2000) (i32.const 4096) (i32.const 3000))`, 22903, 28466},
	"path_remove_directory":   {`(call $path_remove_directory (i32.const 3) (i32.const 65536) (i32.const 4096))`, 12900, 17178},
	"path_rename":             {`(call $path_rename (i32.const 3) (i32.const 65536) (i32.const 4096) (i32.const 3) (i32.const 65536) (i32.const 4096))`, 25191, 29577},
	"path_symlink":            {`(call $path_symlink (i32.const 65536) (i32.const 4096) (i32.const 3) (i32.const 65536) (i32.const 4096))`, 25190, 20570},
	"path_unlink_file":        {`(call $path_unlink_file (i32.const 3) (i32.const 65536) (i32.const 4096))`, 12900, 14692},
	"poll_oneoff":             {`(call $poll_oneoff (i32.const 300000) (i32.const 400000) (i32.const 1024) (i32.const 2000))`, 512613, 96597},
	"proc_raise":              {`(call $proc_raise (i32.const 1))`, 610, 159},
	"random_get":              {`(call $random_get (i32.const 200000) (i32.const 1048576))`, 3146339, 1369026},
	"sched_yield":             {`(call $sched_yield)`, 609, 166},
	"sock_accept":             {`(call $sock_accept (i32.const 4) (i32.const 0) (i32.const 2000))`, 612, 265},
	"sock_recv":               {`(call $sock_recv (i32.const 4) (i32.const 131072) (i32.const 1024) (i32.const 0) (i32.const 2000) (i32.const 3000))`, 103015, 533},
	"sock_send":               {`(call $sock_send (i32.const 4) (i32.const 131072) (i32.const 1024) (i32.const 0) (i32.const 2000))`, 103014, 406},
	"sock_shutdown":           {`(call $sock_shutdown (i32.const 4) (i32.const 1))`, 611, 185},
}

// callsOf is a module whose resolver makes a call as often as its input is
// long, and answers.
func callsOf(t testing.TB, imp *hostImport, call string) []byte {
	t.Helper()
	types := func(letters string) string {
		return strings.Join(strings.Split(strings.NewReplacer("i", "i32", "I", "i64").Replace(strings.Join(strings.Split(letters, ""), " ")), " "), " ")
	}
	declare := func(i *hostImport) string {
		text := fmt.Sprintf("(import %q %q (func $%s", i.module, i.name, i.name)
		if i.params != "" {
			text += " (param " + types(i.params) + ")"
		}
		if i.results != "" {
			text += " (result " + types(i.results) + ")"
		}
		return text + "))\n"
	}
	needed := map[string]bool{imp.name: true, "alloc": true, "free": true, "store_u8": true, "output_set": true, "input_length": true, "path_open": true, "memo_begin": true}
	var imports strings.Builder
	for i := range hostImports {
		if needed[hostImports[i].name] {
			imports.WriteString(declare(&hostImports[i]))
		}
	}
	path := strings.Repeat("abcdefgh/", 455) + "a"
	open := func(at, flags, to int) string {
		return fmt.Sprintf("(drop (call $path_open (i32.const 3) (i32.const 0) (i32.const %d) (i32.const 1) (i32.const %d) (i64.const 2) (i64.const 0) (i32.const 0) (i32.const %d)))", at, flags, to)
	}
	if imp.results != "" {
		call = "(drop " + call + ")"
	}
	wasm, err := wasmtest.WAT(fmt.Sprintf(`(module %s
  (memory (export "memory") 20)
  (data (i32.const 65536) %q)
  (data (i32.const 70000) "fd")
  (data (i32.const 70100) %s)
  (func $answer (param $at i32) (param $n i32) (result i32) (local $b i64) (local $i i32)
    (local.set $b (call $alloc (i64.extend_i32_u (local.get $n))))
    (loop $next
      (call $store_u8 (i64.add (local.get $b) (i64.extend_i32_u (local.get $i))) (i32.load8_u (i32.add (local.get $at) (local.get $i))))
      (br_if $next (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
    (call $output_set (local.get $b) (i64.extend_i32_u (local.get $n)))
    (i32.const 0))
  (func (export "describe") (result i32) (call $answer (i32.const 70100) (i32.const %d)))
  (func (export "resolve") (result i32) (local $b i64) (local $p i64) (local $d i64) (local $f i64) (local $i i32) (local $n i32)
    (loop $v
      (i32.store (i32.add (i32.const 131072) (i32.mul (local.get $i) (i32.const 8))) (i32.const 150000))
      (i32.store (i32.add (i32.const 131076) (i32.mul (local.get $i) (i32.const 8))) (i32.const 64))
      (br_if $v (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 1024))))
    (local.set $b (call $alloc (i64.const 1048576)))
    (local.set $p (call $alloc (i64.const 4096)))
    (local.set $i (i32.const 0))
    (loop $c
      (call $store_u8 (i64.add (local.get $p) (i64.extend_i32_u (local.get $i))) (i32.load8_u (i32.add (i32.const 65536) (local.get $i))))
      (br_if $c (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (i32.const 4096))))
    (local.set $d (call $alloc (i64.const 1)))
    (call $store_u8 (local.get $d) (i32.const 100))
    (local.set $f (call $alloc (i64.const 1)))
    (call $store_u8 (local.get $f) (i32.const 102))
    %s %s
    (local.set $n (i32.wrap_i64 (call $input_length)))
    (loop $again
      %s
      (br_if $again (i32.gt_s (local.tee $n (i32.sub (local.get $n) (i32.const 1))) (i32.const 0))))
    (call $answer (i32.const 70300) (i32.const 16)))
  (data (i32.const 70300) "{\"resources\":[]}"))`,
		imports.String(), path, wasmtest.Quote(callsDescription), len(callsDescription), open(70000, 0, 70010), open(70001, 2, 70014), call))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

const callsDescription = `{"abi":1,"name":"calls","version":"1.0.0","resolvers":[{"name":"r","kinds":["skill"],"reads":["**"]}]}`

// callsTree is what the calls see.
func callsTree(t testing.TB) *vfs.Root {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 64<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 1000 { // other names cost less than other files
		if err := os.Link(filepath.Join(dir, "f"), filepath.Join(dir, "d", fmt.Sprintf("entry-%04d", i))); err != nil {
			t.Fatal(err)
		}
	}
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}

// costOf returns what one call is charged, and takes in the fastest of some
// runs.
func costOf(t testing.TB, h *Host, root *vfs.Root, imp *hostImport, call string) (fuel int64, took time.Duration) {
	t.Helper()
	m, err := h.Load(t.Context(), callsOf(t, imp, call), Limits{Time: 5 * time.Minute})
	if err != nil {
		t.Fatalf("%s: %v", imp.name, err)
	}
	defer func() { _ = m.Close() }()
	filter, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := func(n int) *Result {
		r := root.Begin(filter, vfs.Limits{Opens: 1 << 20, ReadBytes: 1 << 40, Entries: 1 << 30})
		defer func() { _ = r.Close() }()
		res, err := m.ResolveJSON(t.Context(), "r", make([]byte, n), r)
		if err != nil {
			t.Fatalf("%s: %v", imp.name, err)
		}
		return res
	}
	few, n, times := 8, 408, 5 // the quickest counts
	if !timely() {
		n, times = 28, 1
	}
	none, all := time.Hour, time.Hour
	for range times {
		one, many := run(few), run(n)
		fuel = (many.Fuel - one.Fuel) / int64(n-few)
		none, all = min(none, one.Duration), min(all, many.Duration)
	}
	return fuel, max(all-none, 0) / time.Duration(n-few)
}

// timely reports whether there is time to measure it, and the figure says something.
func timely() bool { return !testing.Short() && !testenv.Race }

// TestDearestCalls holds every import to what the table says of it: the charge
// exactly, and in the long form the time to some three hundred times what its charge
// stands for, since a shared machine measures it.
func TestDearestCalls(t *testing.T) {
	h, root := New(Options{}), callsTree(t)
	for i := range hostImports {
		imp := &hostImports[i]
		if imp.name == "proc_exit" {
			continue // ends the run
		}
		want, ok := dearest[imp.name]
		if !ok {
			t.Errorf("%s %s isn't in the table", imp.module, imp.name)
			continue
		}
		fuel, took := costOf(t, h, root, imp, want.call)
		t.Logf("%q: {`%s`, %d, %d},", imp.name, want.call, fuel, took.Nanoseconds())
		if fuel != want.fuel {
			t.Errorf("%s is charged %d, the table says %d", imp.name, fuel, want.fuel)
		}
		if limit := time.Duration(fuel) * 100 * time.Nanosecond; took > limit && timely() {
			t.Errorf("%s takes %v and is charged %d, which stands for %v at most", imp.name, took, fuel, limit)
		}
	}
}

// TestImports: the table knows every function that there is, with its type.
func TestImports(t *testing.T) {
	r := wazero.NewRuntime(t.Context())
	defer func() { _ = r.Close(t.Context()) }()
	m, err := wasi_snapshot_preview1.NewBuilder(r).Compile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exported := m.ExportedFunctions()
	for _, name := range slices.Sorted(maps.Keys(exported)) {
		imp := lookupImport(nsWASI, name)
		if imp == nil {
			t.Errorf("wazero has %s, the table hasn't", name)
			continue
		}
		params, results := imp.wazeroTypes()
		if !slices.Equal(params, exported[name].ParamTypes()) || !slices.Equal(results, exported[name].ResultTypes()) {
			t.Errorf("%s has another type in wazero", name)
		}
	}
	text, err := os.ReadFile("../../abi/ABI.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range hostImports {
		imp := &hostImports[i]
		if imp.module == nsWASI {
			if exported[imp.name] == nil {
				t.Errorf("wazero has no %s", imp.name)
			}
		} else if !strings.Contains(string(text), "`"+imp.name+"`") {
			t.Errorf("ABI.md says nothing of %s", imp.name)
		}
		for _, b := range imp.bounds {
			if b.arg >= len(imp.params) || imp.params[b.arg] != 'i' {
				t.Errorf("%s has no argument %d of 32 bits", imp.name, b.arg)
			}
		}
	}
}

// TestBounds: a WASI function answers an argument beyond its bound with the
// errno, and isn't called.
func TestBounds(t *testing.T) {
	for i := range hostImports {
		imp := &hostImports[i]
		for _, b := range imp.bounds {
			for _, v := range []uint32{b.most + 1, 1 << 29, 1 << 31, 1<<32 - 1} {
				in := &instance{gov: newGovernor(t.Context(), Limits{}.WithDefaults(), 0), fs: new(mount)}
				stack := make([]uint64, len(imp.params))
				stack[b.arg] = uint64(v)
				imp.guard(in, stack)
				if stack[0] != uint64(b.errno) || in.gov.charged != imp.weight {
					t.Errorf("%s with %d as argument %d: errno %d, charged %d", imp.name, v, b.arg, stack[0], in.gov.charged)
				}
			}
		}
	}
}
