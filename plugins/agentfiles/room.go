package agentfiles

import (
	"strconv"
	"strings"

	"waymark/abi"
	"waymark/plugins/conventions"
	"waymark/plugins/internal/places"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/jsonlite"
)

const (
	// describedMax is the size of the response from which rows have no descriptions, and
	// listedMax the size at which they end, in bytes. The host accepts 4 MiB from the
	// built-in module; the rest is for warnings.
	describedMax = 3 << 20
	listedMax    = 4<<20 - 64<<10
)

// needs is what a part takes of shared budgets.
type needs struct {
	yaml        int // bytes that went through the YAML library, or would have
	description int // bytes of the row for its description
}

func (n needs) String() string {
	if n.yaml == 0 {
		return strconv.Itoa(n.description)
	}
	return strconv.Itoa(n.description) + " " + strconv.Itoa(n.yaml)
}

func parseNeeds(note string) (n needs) {
	description, yaml, _ := strings.Cut(note, " ")
	n.description, _ = strconv.Atoi(description)
	n.yaml, _ = strconv.Atoi(yaml)
	return n
}

// encode makes a part of one row.
func encode(r *guest.Resource, n needs) (part guest.Part) {
	if r.Description != "" {
		n.description = len(`,"description":`) + jsonlite.StringLen(r.Description)
	}
	part.Rows, part.Note = guest.Encode(*r), n.String()
	return part
}

// addPart adds the result of a unit, from this run or an earlier one. The shared budgets, for
// YAML and for room in the response, are spent here and in addRow, because these see the
// parts of every run in the same order.
func (f *finder) addPart(c *conventions.Convention, part guest.Part) {
	if part.Rows.Len() == 0 {
		return
	}
	n := parseNeeds(part.Note)
	if !f.yaml.spend(n.yaml) {
		part.Rows, n.description = change(part.Rows, func(r *guest.Resource) {
			*r = guest.Resource{Kind: r.Kind, Path: r.Path, Key: r.Key, Content: r.Content, Convention: r.Convention, Name: places.Name(c, r.Path[len(f.below):])}
			f.unparsed(r, c, errYAMLBudget)
		}), 0
	}
	f.addRow(part.Rows, n.description)
}

// addRow appends a row while there is room, so that too many or too long rows don't cost the
// whole answer. description is the part of its bytes for the description.
func (f *finder) addRow(row guest.Rows, description int) {
	size := row.Len() + len(",")
	if f.size+size-description > listedMax {
		f.unlisted++
		return
	}
	if description > 0 && f.size+size > describedMax {
		row = change(row, func(r *guest.Resource) { r.Description = "" })
		size -= description
		f.undescribed++
	}
	f.size += size
	f.resp.Rows = append(f.resp.Rows, row)
}

// change makes other rows from those of a part.
func change(rows guest.Rows, how func(*guest.Resource)) guest.Rows {
	list, err := rows.Decode()
	if err != nil {
		return rows // impossible: encode made them
	}
	for i := range list {
		how(&list[i])
	}
	return guest.Encode(list...)
}

func fail(r *guest.Resource, err error) {
	r.Status, r.Error = abi.StatusInvalid, guest.Truncate(err.Error(), abi.MaxError)
}
