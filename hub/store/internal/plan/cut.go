package plan

import "waymark/hub/store"

// Past is what decides whether a revision is kept.
type Past struct {
	Revision  int64
	Step      int64
	CreatedAt int64 // microseconds
	Bytes     int64 // what it wrote
}

// Cut returns the newest of the past revisions that is not kept; what is
// older goes with it. 0 means that all are kept.
//
// past is without the newest revision, which is always kept, and begins with
// the one before it; ended is when that one ceased to be the newest. As many
// of them as keep.Revisions are enough. keep is effective.
func Cut(past []Past, ended, now int64, keep store.Retention) int64 {
	var total int64
	for i, r := range past {
		total += r.Bytes
		if i+1 >= keep.Revisions || total > keep.Bytes || ended < now-keep.Age.Microseconds() {
			return r.Revision
		}
		ended = r.CreatedAt
	}
	return 0
}
