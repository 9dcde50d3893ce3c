package meter

// Some compilers have no structured control flow to begin with and write a function
// as a loop around a branch table, which dispatches on a local: Go's do so with every
// function. Whoever wants to go somewhere sets the local and goes back to the head of
// the loop. Where that leads forward it can as well go there at once, as the block
// whose end is meant is still open. The engine then has neither to look into the table
// nor to carry all locals through the loop's head, and nothing is charged and checked
// that need not be: only what goes back can go on for ever.

// dispatch is a loop that begins with a branch table: what is between them opens
// blocks and reads the local that the table takes.
type dispatch struct {
	local    uint32
	from, to int // its targets in dispatcher.places; the last is for all other values
}

// place is a target of a table: a frame, by its index and where it was opened, since
// another may have taken the index.
type place struct{ frame, at int }

// dispatcher recognizes such loops and the jumps back to them.
type dispatcher struct {
	dispatches []dispatch
	places     []place

	// head is where the instructions that a dispatch may begin with have ended, and
	// gotten where the one that reads the local has; 0 where there are none.
	head, gotten int
	loop         int    // frame of the loop
	local        uint32 // that was read, or set to the constant
	set          int    // end of an instruction that sets a local to a constant
}

func (d dispatcher) cleared() dispatcher {
	return dispatcher{dispatches: d.dispatches[:0], places: d.places[:0]}
}

// dispatchOpens sees a block, loop or if that was opened.
func (b *body) dispatchOpens(f frame) {
	switch {
	case f.op == opLoop && f.params == 0:
		b.head, b.loop = b.pos, len(b.frames)-1
	case f.op == opBlock && f.params == 0 && b.at == b.head:
		b.head = b.pos
	}
}

func (b *body) dispatchReads(local uint32) {
	if b.at == b.head {
		b.gotten, b.local = b.pos, local
	}
}

// dispatchSets sees a local set to what is on the stack.
func (b *body) dispatchSets(local uint32) {
	if b.at == b.constantAt {
		b.set, b.local = b.pos, local
	}
}

// dispatchTable returns the dispatch whose table is read, or nil if it's that of none.
func (b *body) dispatchTable() *dispatch {
	if b.err != nil || b.dead || b.at != b.gotten {
		return nil
	}
	n := len(b.places)
	b.dispatches = append(b.dispatches, dispatch{local: b.local, from: n, to: n})
	b.frames[b.loop].dispatch = len(b.dispatches)
	return &b.dispatches[len(b.dispatches)-1]
}

func (d *dispatch) add(b *body, frame int) {
	if d != nil {
		b.places = append(b.places, place{frame, b.frames[frame].at})
		d.to++
	}
}

// thread returns the label that a jump to the head of a dispatch comes to.
func (b *body) thread(label uint32) (uint32, bool) {
	if b.err != nil || b.dead || b.at != b.set {
		return 0, false
	}
	f := &b.frames[len(b.frames)-1-int(label)]
	if f.op != opLoop || f.dispatch == 0 {
		return 0, false
	}
	d := b.dispatches[f.dispatch-1]
	if d.local != b.local {
		return 0, false
	}
	p := b.places[d.from+int(min(uint64(b.constant), uint64(d.to-d.from-1)))]
	if p.frame == 0 || p.frame >= len(b.frames) {
		return 0, false
	}
	if to := b.frames[p.frame]; to.at != p.at || to.op == opLoop || to.results > 0 {
		return 0, false
	}
	return uint32(len(b.frames) - 1 - p.frame), true
}
