package meter

// effort counts what makes compiling slow. Compiling is not metered: 50 KB of
// a function can take 15 s, because the compiler keeps track of every variable
// at every block, and of every block at some others.
type effort struct {
	blocks  int // blocks, branches and what is injected, in basic blocks
	targets int // of branch tables
	calls   int
	values  int // that calls, blocks and branches carry
}

// Basic blocks that the compiler makes for what is injected, beyond the block
// itself.
const (
	loopBlocks = 3
	bulkBlocks = 3
)

// sum is the estimate in microseconds, on a machine where wazero 1.12 compiles
// 3 MB of Go code per second. It was fitted to functions that hold thousands
// of one thing each, of which every term is one; it is within a factor of three
// of what those took. Real functions take less than the estimate.
func (e effort) sum(locals, mutableGlobals, regions int) int {
	blocks := e.blocks + e.targets/4
	return blocks*blocks/100 + locals*blocks + mutableGlobals*(e.calls+regions) + 2*e.values
}
