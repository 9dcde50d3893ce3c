package extism_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waymark/abi"
	"waymark/cmd/harness/internal/extism"
	"waymark/host/sandbox"
	"waymark/host/vfs"
	"waymark/test/testenv"
	"waymark/test/wasmtest"
)

// convention is extism:host/env as abi/ABI.md has it, and user what a host adds:
// the functions with what they take and give.
var convention = map[string]string{
	"alloc": "(param i64) (result i64)", "free": "(param i64)", "length": "(param i64) (result i64)",
	"length_unsafe": "(param i64) (result i64)", "load_u8": "(param i64) (result i32)", "load_u64": "(param i64) (result i64)",
	"store_u8": "(param i64 i32)", "store_u64": "(param i64 i64)", "input_length": "(result i64)", "input_offset": "(result i64)",
	"input_load_u8": "(param i64) (result i32)", "input_load_u64": "(param i64) (result i64)", "output_set": "(param i64 i64)",
	"error_set": "(param i64)", "error_get": "(result i64)", "config_get": "(param i64) (result i64)", "get_log_level": "(result i32)",
	"log_trace": "(param i64)", "log_debug": "(param i64)", "log_info": "(param i64)", "log_warn": "(param i64)", "log_error": "(param i64)",
	"memory_bytes": "(result i64)",
}

var user = map[string]string{
	"fs_read": "(param i64 i64 i64) (result i64)", "fs_list": "(param i64) (result i64)", "fs_stat": "(param i64) (result i64)",
	"memo_begin": "(param i64) (result i64)", "memo_end": "(param i64)", "block_copy": "(param i64 i64 i64)",
	"front_matter": "(param i64 i64) (result i64)",
}

// seen is all that a run shows of itself: what its calls gave, as hexadecimal
// numbers in a warning or in log lines, how it ended, and what it logged.
type seen struct {
	Warnings []string
	Failed   bool
	Error    string
	Logs     []string
}

// TestConvention has random sequences of valid calls of all functions made here
// and in the stock SDK. Everything that they show must be equal but the numbers
// of handles.
func TestConvention(t *testing.T) {
	t.Parallel()
	seed := testenv.Seed(t)
	used, ends := map[string]int{}, map[string]int{}
	for n := range testenv.Rounds(40, 80, 4000) {
		s := newScript(testenv.RandOf(seed, uint64(n)))
		s.write()
		for name, calls := range s.used {
			used[name] += calls
		}
		ends[s.end]++
		s.compare(t, fmt.Sprintf("round %d", n))
		if t.Failed() {
			break
		}
	}
	if t.Failed() {
		return
	}
	for _, functions := range []map[string]string{convention, user} {
		for name := range functions {
			if used[name] < 5 {
				t.Errorf("%s was called %d times: the test doesn't reach it", name, used[name])
			}
		}
	}
	for _, end := range endings {
		if ends[end] == 0 {
			t.Errorf("no run ended with %s", end)
		}
	}
}

// compare runs the script in both hosts.
func (s *script) compare(t *testing.T, label string) {
	t.Helper()
	wasm, err := wasmtest.WAT(s.module())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ours, theirs := here(t, wasm, dir, s.input), there(t, wasm, dir, s.input)
	if len(ours.Warnings)+len(ours.Logs) == 0 && s.end != "nothing" {
		t.Errorf("%s: it shows nothing", label)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%s (%s): ours (+) is not as the stock SDK's (-):\n%s\n%s", label, s.end, s.first(theirs, ours), diff)
	}
}

func openRun(t *testing.T, dir string) *vfs.Run {
	t.Helper()
	root, err := vfs.OpenRoot(dir, vfs.RootOptions{})
	if err != nil {
		t.Fatal(err)
	}
	filter, err := vfs.View{Reads: []string{"**"}}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	run := root.Begin(filter, vfs.Limits{})
	t.Cleanup(func() { _, _ = run.Close(), root.Close() })
	return run
}

// here runs a module in host/sandbox.
func here(t *testing.T, wasm []byte, dir, input string) seen {
	t.Helper()
	m, err := ours.Load(t.Context(), wasm, sandbox.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	res, err := m.ResolveJSON(t.Context(), "r", []byte(input), openRun(t, dir))
	var s seen
	for _, l := range res.Logs {
		s.Logs = append(s.Logs, l.Level+" "+l.Text)
	}
	if err != nil {
		var run *sandbox.RunError
		if !errors.As(err, &run) {
			t.Fatal(err)
		}
		if s.Failed, s.Error = true, run.GuestText; !errors.Is(run, sandbox.ErrGuest) {
			s.Error = run.Detail
		}
		return s
	}
	s.Warnings = res.Response.Warnings
	return s
}

// there runs it in the stock SDK.
func there(t *testing.T, wasm []byte, dir, input string) seen {
	t.Helper()
	m, err := extism.Load(t.Context(), wasm, extism.Limits{Time: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	a := m.Resolve(t.Context(), []byte(input), openRun(t, dir))
	s := seen{Failed: a.Failed, Error: string(a.Error) + a.Crash}
	for _, l := range a.Logs {
		s.Logs = append(s.Logs, l.Level+" "+string(l.Text))
	}
	if a.Failed {
		return s
	}
	var r abi.Response
	if err := json.Unmarshal(a.Output, &r); err != nil {
		t.Fatalf("%v: %q", err, a.Output)
	}
	s.Warnings = r.Warnings
	return s
}

// files are in the root.
var files = map[string]string{"a.txt": "some text of a file", "empty": "", "long.txt": strings.Repeat("0123456789", 700)}

// slot is a local of the guest that holds a block's handle.
type slot struct {
	length int
	live   bool
}

// endings are the ways in which a run ends.
var endings = []string{"answer", "answer and error", "error", "error without a result", "no reason", "nothing"}

// script is a module in the making: steps of random valid calls, each of which
// adds what it gave to a transcript in the module's own memory.
type script struct {
	rand   *rand.Rand
	code   strings.Builder
	data   strings.Builder
	labels []string // what each number of the transcript is of
	used   map[string]int
	slots  []slot
	input  string
	end    string
	// pressing scripts use so much memory that Extism uses freed blocks again,
	// with what was in them: there a block is filled before it is read. In the
	// others what nobody has written is 0.
	pressing bool
	room     int // bytes to allocate
	errorIn  int // the slot that holds the error, or -1
}

const (
	slotCount = 24
	dataAt    = 64 << 10
	outAt     = 2 << 20
	answer    = `{"resources":[],"warnings":["`
)

func newScript(r *rand.Rand) *script {
	s := &script{rand: r, used: map[string]int{}, slots: make([]slot, slotCount), errorIn: -1, pressing: r.IntN(3) == 0, room: 40_000}
	if s.pressing {
		s.room = 1 << 20
	}
	s.input = string(s.printable(r.IntN(60)))
	s.end = endings[max(0, r.IntN(len(endings)+3)-3)] // most with an answer
	return s
}

// printable are characters that every host shows as they are.
func (s *script) printable(n int) []byte {
	text := make([]byte, n)
	for i := range text {
		text[i] = "abcdefghijklmnopqrstuvwxyz0123456789"[s.rand.IntN(36)]
	}
	return text
}

// add writes instructions. $name stands for a local, and counts as a call where
// it is a function.
func (s *script) add(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for _, part := range strings.Split(text, "(call $")[1:] {
		name, _, _ := strings.Cut(part, " ")
		s.used[strings.TrimRight(name, ")")]++
	}
	s.code.WriteString("    " + text + "\n")
}

// see adds a number to the transcript.
func (s *script) see(label, format string, args ...any) {
	s.labels = append(s.labels, label)
	s.add("(call $see "+format+")", args...)
}

// text is a block with a text, made by the guest.
func (s *script) text(text []byte) string {
	at := dataAt + s.data.Len()
	s.data.Write(text)
	return fmt.Sprintf("(call $text (i32.const %d) (i32.const %d))", at, len(text))
}

// empty returns a slot that holds no block, or -1.
func (s *script) empty() int {
	return s.any(func(_ int, b slot) bool { return !b.live })
}

// block returns a slot that holds a live block of at least so many bytes, or -1.
func (s *script) block(length int) int {
	return s.any(func(_ int, b slot) bool { return b.live && b.length >= length })
}

// spare returns a slot whose block nothing else depends on: a host may take what
// was made the error.
func (s *script) spare() int {
	return s.any(func(i int, b slot) bool { return b.live && i != s.errorIn })
}

func (s *script) any(ok func(i int, b slot) bool) int {
	var fit []int
	for i, b := range s.slots {
		if ok(i, b) {
			fit = append(fit, i)
		}
	}
	if len(fit) == 0 {
		return -1
	}
	return fit[s.rand.IntN(len(fit))]
}

// write writes the whole script.
func (s *script) write() {
	steps := []func(){
		s.alloc, s.alloc, s.alloc, s.alloc, s.allocNothing, s.free, s.free, s.freeNothing, s.lengths, s.lengthOfNothing,
		s.load8, s.load64, s.store8, s.store64, s.store8, s.store64, s.sum, s.sum, s.inputLoad8, s.inputLoad64, s.inputBlock,
		s.inputStore, s.outputSet, s.errorSet, s.errorClear, s.errorGet, s.configGet, s.level, s.log, s.log, s.log, s.logNothing,
		s.memoryBytes, s.fsRead, s.fsRead, s.failures, s.fsJSON, s.memo, s.copy,
	}
	s.see("input_length", "(call $input_length)")
	s.see("input_offset is 0", "(i64.extend_i32_u (i64.eqz (call $input_offset)))")
	for range 20 + s.rand.IntN(150) {
		steps[s.rand.IntN(len(steps))]()
	}
	for i, b := range s.slots {
		if b.live {
			s.see(fmt.Sprintf("sum of $h%d in the end", i), "(call $sum (local.get $h%d))", i)
		}
	}
	s.finish()
}

func (s *script) alloc() {
	i, n := s.empty(), 1+s.rand.IntN(40)
	switch {
	case s.pressing && s.rand.IntN(3) == 0:
		n = 1 + s.rand.IntN(70_000)
	case s.rand.IntN(4) == 0:
		n = 1 + s.rand.IntN(3000)
	}
	if i < 0 || n+16 > s.room {
		return
	}
	s.room -= n + 16
	s.slots[i] = slot{n, true}
	s.add("(local.set $h%d (call $alloc (i64.const %d)))", i, n)
	s.see(fmt.Sprintf("alloc of %d is 0", n), "(i64.extend_i32_u (i64.eqz (local.get $h%d)))", i)
	if s.pressing {
		s.add("(call $fill (local.get $h%d) (i64.const %d))", i, s.rand.Int64())
	}
}

func (s *script) allocNothing() { s.see("alloc(0)", "(call $alloc (i64.const 0))") }

func (s *script) free() {
	i := s.spare()
	if i < 0 {
		return
	}
	s.slots[i].live = false
	s.add("(call $free (local.get $h%d))", i)
	// At once: the next block may have the same handle.
	s.see("length of what was freed", "(call $length (local.get $h%d))", i)
	if s.rand.IntN(4) == 0 {
		s.add("(call $free (local.get $h%d))", i)
	}
}

// freeNothing frees what is no block.
func (s *script) freeNothing() {
	s.add("(call $free (i64.const 0))")
	if i := s.block(2); i >= 0 {
		s.add("(call $free (i64.add (local.get $h%d) (i64.const %d)))", i, 1+s.rand.IntN(s.slots[i].length-1))
		s.see("length after freeing a place inside", "(call $length (local.get $h%d))", i)
	}
}

func (s *script) lengths() {
	if i := s.block(1); i >= 0 {
		s.see("length", "(call $length (local.get $h%d))", i)
		s.see("length_unsafe", "(call $length_unsafe (local.get $h%d))", i)
	}
}

func (s *script) lengthOfNothing() {
	s.see("length(0)", "(call $length (i64.const 0))")
	s.see("length_unsafe(0)", "(call $length_unsafe (i64.const 0))")
	if i := s.block(2); i >= 0 {
		s.see("length inside of a block", "(call $length (i64.add (local.get $h%d) (i64.const %d)))", i, 1+s.rand.IntN(s.slots[i].length-1))
	}
}

// place is the offset of size bytes in a live block.
func (s *script) place(size int) (string, bool) {
	i := s.block(size)
	if i < 0 {
		return "", false
	}
	last := s.slots[i].length - size
	at := s.rand.IntN(last + 1)
	switch s.rand.IntN(4) { // the ends are where mistakes are
	case 0:
		at = 0
	case 1:
		at = last
	}
	return fmt.Sprintf("(i64.add (local.get $h%d) (i64.const %d))", i, at), true
}

func (s *script) load8() {
	if at, ok := s.place(1); ok {
		s.see("load_u8 "+at, "(i64.extend_i32_u (call $load_u8 %s))", at)
	}
}

func (s *script) load64() {
	if at, ok := s.place(8); ok {
		s.see("load_u64 "+at, "(call $load_u64 %s)", at)
	}
}

// store8 stores a byte out of a number that may be larger.
func (s *script) store8() {
	if at, ok := s.place(1); ok {
		s.add("(call $store_u8 %s (i32.const %d))", at, int32(s.rand.Uint32()))
	}
}

func (s *script) store64() {
	if at, ok := s.place(8); ok {
		s.add("(call $store_u64 %s (i64.const %d))", at, s.rand.Int64())
	}
}

func (s *script) sum() {
	if i := s.block(1); i >= 0 {
		s.see(fmt.Sprintf("sum of $h%d", i), "(call $sum (local.get $h%d))", i)
	}
}

func (s *script) inputLoad8() {
	if n := len(s.input); n > 0 {
		s.see("input_load_u8", "(i64.extend_i32_u (call $input_load_u8 (i64.const %d)))", s.rand.IntN(n))
	}
	s.see("input_load_u8 behind it", "(i64.extend_i32_u (call $input_load_u8 (i64.const %d)))", len(s.input)+s.rand.IntN(100))
}

func (s *script) inputLoad64() {
	if n := len(s.input); n >= 8 {
		s.see("input_load_u64", "(call $input_load_u64 (i64.const %d))", s.rand.IntN(n-7))
	}
}

// inputBlock looks at the input as the block that it is.
func (s *script) inputBlock() {
	s.see("length of the input", "(call $length (call $input_offset))")
	s.see("length_unsafe of the input", "(call $length_unsafe (call $input_offset))")
	s.see("sum of the input", "(call $sum (call $input_offset))")
}

func (s *script) inputStore() {
	if n := len(s.input); n > 0 {
		s.add("(call $store_u8 (i64.add (call $input_offset) (i64.const %d)) (i32.const %d))", s.rand.IntN(n), s.rand.IntN(256))
	}
}

// outputSet sets outputs that a later one replaces; a block that is part of one
// stays live until then.
func (s *script) outputSet() {
	i := s.block(1)
	if i < 0 || s.end != "answer" {
		return
	}
	from := s.rand.IntN(s.slots[i].length)
	s.add("(call $output_set (i64.add (local.get $h%d) (i64.const %d)) (i64.const %d))", i, from, s.rand.IntN(s.slots[i].length-from+1))
}

func (s *script) errorSet() {
	if i := s.block(1); i >= 0 {
		s.errorIn = i
		s.add("(call $error_set (local.get $h%d))", i)
	}
}

func (s *script) errorClear() {
	s.errorIn = -1
	s.add("(call $error_set (i64.const 0))")
	s.see("error_get after clearing", "(call $error_get)")
}

func (s *script) errorGet() {
	s.see("error_get is 0", "(i64.extend_i32_u (i64.eqz (call $error_get)))")
	s.see("length of the error", "(call $length (call $error_get))")
	s.see("sum of the error", "(call $sum (call $error_get))")
	if s.errorIn >= 0 {
		s.see("error_get is what was set", "(i64.extend_i32_u (i64.eq (call $error_get) (local.get $h%d)))", s.errorIn)
	}
}

// configGet asks for what there isn't; the key stays the guest's.
func (s *script) configGet() {
	key := s.printable(s.rand.IntN(20))
	s.add("(local.set $t %s)", s.text(key))
	s.see("config_get", "(call $config_get (local.get $t))")
	s.see("length of the key", "(call $length (local.get $t))")
	s.add("(call $free (local.get $t))")
	s.room -= len(key) + 16
}

func (s *script) level() {
	s.see("get_log_level", "(i64.extend_i32_u (call $get_log_level))")
}

// log logs a text, or a block whatever it holds if that isn't kept. The host
// frees it.
func (s *script) log() {
	level := []string{"trace", "debug", "info", "warn", "error"}[s.rand.IntN(5)]
	if i := s.spare(); i >= 0 && (level == "trace" || level == "debug") {
		s.slots[i].live = false
		s.add("(call $log_%s (local.get $h%d))", level, i)
		s.see("length of what was logged", "(call $length (local.get $h%d))", i)
		return
	}
	text := s.printable(s.rand.IntN(80))
	s.room -= len(text) + 16
	s.add("(local.set $t %s)", s.text(text))
	s.add("(call $log_%s (local.get $t))", level)
	s.see("length of what was logged", "(call $length (local.get $t))")
}

func (s *script) logNothing() {
	s.add("(call $log_%s (i64.const 0))", []string{"trace", "debug", "info", "warn", "error"}[s.rand.IntN(5)])
}

// memoryBytes: how much there is, is the host's business; it never gets less.
func (s *script) memoryBytes() {
	s.see("memory_bytes got less", "(i64.extend_i32_u (i64.lt_u (call $memory_bytes) (local.get $m)))")
	s.add("(local.set $m (call $memory_bytes))")
	s.see("memory_bytes is 0", "(i64.extend_i32_u (i64.eqz (local.get $m)))")
}

// fsRead reads parts of files, also of such that aren't there, and may keep
// what it gets or free it; the text of a failure as well.
func (s *script) fsRead() {
	names := []string{"a.txt", "empty", "long.txt", "none", ".", "../x", ""}
	s.add("(local.set $t %s)", s.text([]byte(names[s.rand.IntN(len(names))])))
	s.errorIn = -1
	s.add("(local.set $r (call $fs_read (local.get $t) (i64.const %d) (i64.const %d)))", s.rand.IntN(30)-2, s.rand.IntN(100)-2)
	s.room -= 300
	s.see("length of what was read", "(call $length (local.get $r))")
	s.see("sum of it", "(call $sum (local.get $r))")
	s.errorGet()
	s.add("(call $free (local.get $t))")
	s.add("(call $free (local.get $r))")
	switch s.rand.IntN(4) {
	case 0: // the text of a failure is a block like others
		s.add("(local.set $t (call $error_get))")
		s.add("(call $error_set (i64.const 0)) (call $free (local.get $t))")
	case 1:
		s.errorClear()
	}
}

// noSuchFile is what a failure says of a file that isn't there.
const noSuchFile = `{"errno":"ENOENT","message":"no such file or directory"}`

// failures has two reads fail, or the second succeed. The text of the first is a
// block like others: the guest keeps it, or frees it and makes another of its
// size.
func (s *script) failures() {
	i := s.empty()
	if i < 0 || s.room < 1000 {
		return
	}
	s.room -= 500
	s.slots[i] = slot{len(noSuchFile), true}
	s.add("(local.set $t %s)", s.text([]byte("none")))
	s.see("a read that fails", "(call $fs_read (local.get $t) (i64.const 0) (i64.const 10))")
	s.add("(local.set $h%d (call $error_get))", i)
	if s.rand.IntN(2) == 0 {
		s.add("(call $free (local.get $h%[1]d)) (local.set $h%[1]d (call $alloc (i64.const %[2]d)))", i, len(noSuchFile))
		s.add("(call $fill (local.get $h%d) (i64.const %d))", i, s.rand.Int64())
	}
	if s.rand.IntN(2) == 0 {
		s.add("(call $free (local.get $t)) (local.set $t %s)", s.text([]byte("a.txt")))
	}
	s.add("(local.set $r (call $fs_read (local.get $t) (i64.const 0) (i64.const 10)))")
	s.add("(call $free (local.get $t)) (call $free (local.get $r))")
	s.see("length of what is left of the first failure", "(call $length (local.get $h%d))", i)
	s.see("sum of it", "(call $sum (local.get $h%d))", i)
	s.errorClear()
}

func (s *script) fsJSON() {
	names := []string{"a.txt", ".", "none", "long.txt", "a: b", ""}
	s.add("(local.set $t %s)", s.text([]byte(names[s.rand.IntN(len(names))])))
	s.add("(local.set $r (call $%s))", []string{"fs_list (local.get $t)", "fs_stat (local.get $t)", "front_matter (local.get $t) (i64.const 1)"}[s.rand.IntN(3)])
	s.room -= 500
	s.see("length of the JSON", "(call $length (local.get $r))")
	s.see("sum of it", "(call $sum (local.get $r))")
	s.add("(call $free (local.get $r)) (call $free (local.get $t))")
}

// memo begins or ends a unit, in and out of turn.
func (s *script) memo() {
	key := s.printable(s.rand.IntN(12))
	s.room -= 200
	s.add("(local.set $t %s)", s.text(key))
	if s.rand.IntN(2) == 0 {
		s.see("memo_begin", "(call $memo_begin (local.get $t))")
	} else {
		s.add("(call $memo_end (local.get $t))")
	}
	s.add("(call $free (local.get $t))")
	s.errorIn = -1
	s.see("length of the error", "(call $length (call $error_get))")
	s.see("sum of the error", "(call $sum (call $error_get))")
	s.errorClear()
}

// copy copies from one block to another, or within one.
func (s *script) copy() {
	n := 1 + s.rand.IntN(20)
	from, ok := s.place(n)
	if !ok {
		return
	}
	to, _ := s.place(n)
	s.add("(call $block_copy %s %s (i64.const %d))", to, from, n)
}

// finish ends the run. What it has seen goes into the answer, or into log lines
// where there is none.
func (s *script) finish() {
	if s.end == "answer" || s.end == "answer and error" {
		s.room = 1 << 20
		if s.end == "answer" {
			s.add("(call $error_set (i64.const 0))")
		} else {
			s.add("(call $error_set %s)", s.text(s.printable(10)))
		}
		s.add("(call $answer (i64.const %d) (i64.const %d)) (return (i32.const 0))", s.rand.IntN(10), s.rand.IntN(10))
		return
	}
	s.add("(call $shout)")
	switch s.end {
	case "error", "error without a result":
		s.add("(call $error_set %s)", s.text(s.printable(1+s.rand.IntN(200))))
	default:
		s.add("(call $error_set (i64.const 0))")
	}
	result := 0
	if s.end == "error" || s.end == "no reason" {
		result = []int{1, 2, -1, 1 << 30}[s.rand.IntN(4)]
	}
	s.add("(return (i32.const %d))", result)
}

// first finds the first number that differs.
func (s *script) first(theirs, ours seen) string {
	a, b := transcript(theirs), transcript(ours)
	for i, label := range s.labels {
		if x, y := number(a, i), number(b, i); x != y {
			return fmt.Sprintf("first in %s (number %d of %d): %s there, %s here", label, i, len(s.labels), x, y)
		}
	}
	return "what calls gave is equal"
}

func transcript(s seen) string {
	if !s.Failed {
		return strings.Join(s.Warnings, "")
	}
	var b strings.Builder
	for _, l := range s.Logs {
		if text, ok := strings.CutPrefix(l, "info ="); ok {
			b.WriteString(text)
		}
	}
	return b.String()
}

func number(transcript string, i int) string {
	if len(transcript) < 16*(i+1) {
		return "nothing"
	}
	return transcript[16*i:][:16]
}

// module is the whole module in the text format.
func (s *script) module() string {
	var b strings.Builder
	b.WriteString("(module\n")
	for namespace, functions := range map[string]map[string]string{"extism:host/env": convention, "extism:host/user": user} {
		for name, signature := range functions {
			fmt.Fprintf(&b, "  (import %q %q (func $%s %s))\n", namespace, name, name, signature)
		}
	}
	const description = `{"abi":1,"name":"random","version":"1.0.0","resolvers":[{"name":"r","kinds":["command"],"reads":["**"]}]}`
	fmt.Fprintf(&b, `  (memory (export "memory") 64)
  (global $out (mut i32) (i32.const %d))
  (data (i32.const 1024) %s)
  (data (i32.const %d) %s)
  (data (i32.const %d) %s)
`, outAt+len(answer), wasmtest.Quote(description), dataAt, wasmtest.Quote(s.data.String()), outAt, wasmtest.Quote(answer))
	b.WriteString(helpers)
	fmt.Fprintf(&b, `
  (func (export "describe") (result i32)
    (call $output_set (call $text (i32.const 1024) (i32.const %[1]d)) (i64.const %[1]d))
    (i32.const 0))
  (func (export "resolve") (result i32) (local $t i64) (local $r i64) (local $m i64)%[2]s
%[3]s    (unreachable)))
`, len(description), locals(), s.code.String())
	return b.String()
}

func locals() string {
	var b strings.Builder
	for i := range slotCount {
		fmt.Fprintf(&b, " (local $h%d i64)", i)
	}
	return b.String()
}

// helpers are functions of the guest. see adds a number to the transcript, sum
// reads a whole block, fill writes one, text makes one out of memory; answer
// puts the transcript into an answer that lies somewhere in a block, shout into
// log lines.
const helpers = `
  (func $see (param $v i64) (local $i i32) (local $d i32)
    (loop $next
      (local.set $d (i32.wrap_i64 (i64.shr_u (local.get $v) (i64.const 60))))
      (local.set $v (i64.shl (local.get $v) (i64.const 4)))
      (i32.store8 (global.get $out) (i32.add (local.get $d) (select (i32.const 48) (i32.const 87) (i32.lt_u (local.get $d) (i32.const 10)))))
      (global.set $out (i32.add (global.get $out) (i32.const 1)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 16)))))
  (func $sum (param $h i64) (result i64) (local $n i64) (local $sum i64)
    (local.set $n (call $length (local.get $h)))
    (local.set $sum (i64.const 1469598103934665603))
    (block $done
      (loop $next
        (br_if $done (i64.lt_u (local.get $n) (i64.const 8)))
        (local.set $sum (i64.mul (i64.xor (local.get $sum) (call $load_u64 (local.get $h))) (i64.const 1099511628211)))
        (local.set $h (i64.add (local.get $h) (i64.const 8)))
        (local.set $n (i64.sub (local.get $n) (i64.const 8)))
        (br $next)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (local.set $sum (i64.mul (i64.xor (local.get $sum) (i64.extend_i32_u (call $load_u8 (local.get $h)))) (i64.const 1099511628211)))
        (local.set $h (i64.add (local.get $h) (i64.const 1)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next)))
    (local.get $sum))
  (func $fill (param $h i64) (param $v i64) (local $n i64)
    (local.set $n (call $length (local.get $h)))
    (block $done
      (loop $next
        (br_if $done (i64.lt_u (local.get $n) (i64.const 8)))
        (call $store_u64 (local.get $h) (local.get $v))
        (local.set $v (i64.add (i64.mul (local.get $v) (i64.const 6364136223846793005)) (i64.const 1442695040888963407)))
        (local.set $h (i64.add (local.get $h) (i64.const 8)))
        (local.set $n (i64.sub (local.get $n) (i64.const 8)))
        (br $next)))
    (block $done
      (loop $next
        (br_if $done (i64.eqz (local.get $n)))
        (call $store_u8 (local.get $h) (i32.wrap_i64 (local.get $v)))
        (local.set $h (i64.add (local.get $h) (i64.const 1)))
        (local.set $n (i64.sub (local.get $n) (i64.const 1)))
        (br $next))))
  (func $put (param $h i64) (param $at i32) (param $n i32)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $n)))
        (call $store_u8 (local.get $h) (i32.load8_u (local.get $at)))
        (local.set $h (i64.add (local.get $h) (i64.const 1)))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $n (i32.sub (local.get $n) (i32.const 1)))
        (br $next))))
  (func $text (param $at i32) (param $n i32) (result i64) (local $h i64)
    (local.set $h (call $alloc (i64.extend_i32_u (local.get $n))))
    (call $put (local.get $h) (local.get $at) (local.get $n))
    (local.get $h))
  (func $answer (param $before i64) (param $behind i64) (local $h i64) (local $n i32)
    (i32.store8 (global.get $out) (i32.const 34))
    (i32.store8 (i32.add (global.get $out) (i32.const 1)) (i32.const 93))
    (i32.store8 (i32.add (global.get $out) (i32.const 2)) (i32.const 125))
    (local.set $n (i32.sub (i32.add (global.get $out) (i32.const 3)) (i32.const 2097152)))
    (local.set $h (call $alloc (i64.add (i64.extend_i32_u (local.get $n)) (i64.add (local.get $before) (local.get $behind)))))
    (call $output_set (i64.add (local.get $h) (local.get $before)) (i64.extend_i32_u (local.get $n)))
    (call $put (i64.add (local.get $h) (local.get $before)) (i32.const 2097152) (local.get $n)))
  (func $shout (local $at i32) (local $n i32)
    (local.set $at (i32.const 2097180))
    (block $done
      (loop $next
        (local.set $n (i32.sub (global.get $out) (local.get $at)))
        (br_if $done (i32.le_s (local.get $n) (i32.const 1)))
        (if (i32.gt_u (local.get $n) (i32.const 800)) (then (local.set $n (i32.const 800))))
        (i32.store8 (local.get $at) (i32.const 61))
        (call $log_info (call $text (local.get $at) (local.get $n)))
        (local.set $at (i32.sub (i32.add (local.get $at) (local.get $n)) (i32.const 1)))
        (br $next))))
`

// TestHelpersAgree: the numbers in the helpers are those of the layout.
func TestHelpersAgree(t *testing.T) {
	if !strings.Contains(helpers, fmt.Sprintf("(i32.const %d)", outAt)) || !strings.Contains(helpers, fmt.Sprintf("(i32.const %d)", outAt+len(answer)-1)) {
		t.Error("the helpers look elsewhere for the transcript")
	}
	if !slices.Contains(endings, "answer") || len(convention) != 23 {
		t.Errorf("there are %d functions in the convention, 23 belong to it", len(convention))
	}
}
