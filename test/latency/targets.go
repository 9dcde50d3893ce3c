package latency

// The names of figures that have a target.
const (
	nameInPlace = "edit → stored, in place, socket"
	nameRename  = "edit → stored, rename, socket"
	nameCPU     = "CPU per edit"
	nameCold    = "start → stored, cold"
	nameWarm    = "start → stored, warm"
	nameStop    = "SIGTERM → ended"
	nameIdle    = "resident, after a rest"
	nameEdited  = "resident, after edits"
)

type target struct {
	name   string
	skills int
}

// targets are those of the design's section 7, and of issue 4 for the end.
var targets = map[target]float64{
	{nameInPlace, 50}: 25, {nameInPlace, 200}: 35,
	{nameRename, 50}: 25, {nameRename, 200}: 35,
	{nameCPU, 200}: 5,
	{nameCold, 50}: 200, {nameCold, 200}: 200,
	{nameWarm, 50}: 40, {nameWarm, 200}: 40,
	{nameStop, 50}: 1000, {nameStop, 200}: 1000,
	{nameIdle, 200}: 60, {nameEdited, 200}: 60,
}
