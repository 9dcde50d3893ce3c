package meter

// region is the instructions that have the same innermost loop, or none. It is
// charged and checked at its head: the function's entry or the loop's header.
// Small regions are paid for there as a whole. Others are divided into parts,
// which begin where blocks end, and each is paid for where it begins: else a
// function that dispatches on its program counter, as all of Go's do, would
// pay for all of itself in every round, and ask for more all the time.
//
// Within a region control goes forward only. A part may therefore begin at the
// end of a block, and must where some branch to that end comes from an earlier
// part: it would not have paid for the one that it lands in.
type region struct {
	first, part int // its first part and the current one
	// straight is true as long as only straight code has come since the head:
	// nothing that branches, calls, or is charged by its size.
	straight bool
	// next is the loop that straight code leads into, if it is above 0.
	next int
	// again is true where code at the head can branch to the head: it is a loop's,
	// and nothing on the operand stack goes with the branch.
	again bool
}

// part is a part of a region.
type part struct {
	cost   int64
	region int
}

const (
	// regionMax is the cost up to which a region is not divided. Dividing makes
	// code larger and, in small pieces, slower by some percent; a round through
	// 2,000 units still is a thousandth of a sensible slice.
	regionMax = 2000
	// partMin is the cost from which a part ends at the next opportunity.
	partMin = 250
	// foldMax is the cost of a head that is folded whatever the loop's own.
	// Go's functions consist of a loop and a few instructions around it.
	foldMax = 32
)

// Values of frame.source other than the number of a part.
const (
	noSource    = -1
	manySources = -2
)

func (b *body) currentRegion() *region { return &b.regions[b.frames[len(b.frames)-1].region] }

// openRegion begins the region of the innermost frame.
func (b *body) openRegion(cost int64) {
	i := len(b.regions)
	f := &b.frames[len(b.frames)-1]
	f.region = i
	b.regions = append(b.regions, region{
		first: len(b.parts), part: len(b.parts), straight: true, again: f.op == opLoop && f.params == 0,
	})
	b.edits = append(b.edits, edit{pos: b.pos, kind: editCheck, arg: uint32(len(b.parts))})
	b.parts = append(b.parts, part{cost: cost, region: i})
	b.track(flowCall, 0, 0, 0)
}

// charge adds to the cost of the current part.
func (b *body) charge(cost int64) { b.parts[b.currentRegion().part].cost += cost }

// divide begins a new part.
func (b *body) divide() {
	r := b.currentRegion()
	r.part = len(b.parts)
	b.edits = append(b.edits, edit{pos: b.pos, kind: editCharge, arg: uint32(r.part)})
	b.parts = append(b.parts, part{region: b.frames[len(b.frames)-1].region})
}

// comesFrom records that control may go to a block's end from a part.
func (f *frame) comesFrom(part int) {
	if f.source == noSource {
		f.source = part
	} else if f.source != part {
		f.source = manySources
	}
}

// blockEnds begins a new part at the end of a block, the frame that was just
// closed, where it has to or where the current one is long enough.
func (b *body) blockEnds(f frame) {
	if f.op == opLoop || f.source == noSource {
		return
	}
	if current := b.currentRegion().part; f.source != current || b.parts[current].cost >= partMin {
		b.divide()
	}
}

// settle decides where costs are charged and returns the largest of a region.
func (b *body) settle() (largest int64) {
	totals := make([]int64, len(b.regions))
	for _, p := range b.parts {
		totals[p.region] += p.cost
		largest = max(largest, totals[p.region])
	}
	for i, p := range b.parts {
		if r := b.regions[p.region]; i != r.first && totals[p.region] <= regionMax {
			b.parts[r.first].cost += p.cost
			b.parts[i].cost = 0
		}
	}
	for _, r := range b.regions {
		b.fold(r)
	}
	return largest
}

// fold moves the cost of a region's head to the loop that it leads into: whatever
// passes the one head passes the other, at least as often. It saves a counter,
// and charges too much in every round of the loop, so that it is done only where
// that is little.
func (b *body) fold(r region) {
	if r.next == 0 {
		return
	}
	head, next := &b.parts[r.first], &b.parts[b.regions[r.next].first]
	if head.cost <= foldMax+next.cost/8 {
		next.cost += head.cost
		head.cost = 0
	}
}
