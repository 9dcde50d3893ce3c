package hostile

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"waymark/host/vfs"
	"waymark/test/contracts/vfstest"
	"waymark/test/wasmtest"
)

// patternSeed makes the generated cases the same in every process.
const patternSeed = 1

// patternCases are descriptions whose patterns multiply: those that are
// refused, and the worst of those that aren't, under a guest that asks for long
// paths as fast as it can.
func patternCases() []Case {
	var list []Case
	for i, kind := range vfstest.PatternKinds() {
		if kind == "escapes" {
			continue // no backslash gets into a description
		}
		r := rand.New(rand.NewPCG(patternSeed, uint64(i)))
		var sets [8][]string
		for n, size := 0, 0; n < 8*256 && size < 900_000; n++ { // an answer has less than 1 MiB
			p := vfstest.HostilePattern(r, kind, n)
			sets[n%8], size = append(sets[n%8], p), size+len(p)+8
		}
		path := vfstest.HostilePath(r)
		list = append(list, Case{
			Name: "compiling/patterns-" + kind, Class: ClassCompiling,
			Module: func() []byte { return module{Description: describingReads(sets[:]...)}.build() },
			Want:   rejected(`pattern ".*(in all|expand)`),
		}, Case{
			Name: "time/patterns-" + kind, Class: ClassTime, Limits: limits(deadline), Want: ends(Deadline, Limit),
			Module: func() []byte { return asking(admissible(sets[0]), path) },
		})
	}
	return list
}

// describingReads is a Description of resolvers with these reads.
func describingReads(sets ...[]string) string {
	type resolver struct {
		Name  string   `json:"name"`
		Kinds []string `json:"kinds"`
		Reads []string `json:"reads"`
	}
	var resolvers []resolver
	for i, reads := range sets {
		resolvers = append(resolvers, resolver{fmt.Sprint("r", i), []string{"instruction_file"}, reads})
	}
	text, err := json.Marshal(map[string]any{"abi": 1, "name": hostileName, "version": "1.0.0", "resolvers": resolvers})
	if err != nil {
		panic(err) // strings can be marshaled
	}
	return string(text)
}

// admissible is the longest beginning of a list that is admitted.
func admissible(list []string) []string {
	n := len(list)
	for n > 0 && new(vfs.Allowance).Take("reads", list[:n]) != nil {
		n--
	}
	return list[:n]
}

// asking asks for a path below ever other directories, for ever.
func asking(reads []string, path string) []byte {
	return module{
		Imports: kernel + files, Description: describingReads(reads),
		Fields: fmt.Sprintf(`(data (i32.const 65536) "aaaaaaaa/") (data (i32.const 65545) %s)`, wasmtest.Quote(path)),
		Resolve: fmt.Sprintf(`(loop $l
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (i32.store8 (i32.const 65536) (i32.add (i32.const 97) (i32.and (local.get $i) (i32.const 1))))
      (i32.store8 (i32.const 65537) (i32.add (i32.const 97) (i32.and (i32.shr_u (local.get $i) (i32.const 1)) (i32.const 1))))
      (i32.store8 (i32.const 65538) (i32.add (i32.const 97) (i32.and (i32.shr_u (local.get $i) (i32.const 2)) (i32.const 1))))
      (local.set $n (call $text (i32.const 65536) (i32.const %d)))
      (local.set $m (call $fs_stat (local.get $n)))
      (if (i64.ne (local.get $m) (i64.const 0)) (then (call $free (local.get $m))))
      (call $free (local.get $n))
      (br $l))`, 9+len(path)),
	}.build()
}
