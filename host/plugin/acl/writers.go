package acl

import "fmt"

// Kind is what sort of somebody a Writer is.
type Kind int

// The kinds.
const (
	// Everyone is whoever isn't named otherwise.
	Everyone Kind = iota
	// OwningGroup is the file's group.
	OwningGroup
	// User and Group are those with an ID.
	User
	Group
	// Principal is somebody that only a server knows, by Name.
	Principal
)

// Writer is somebody other than the owner whom a list lets write, or change
// who may.
type Writer struct {
	Kind Kind
	ID   uint32
	Name string
}

// String says who it is.
func (w Writer) String() string {
	switch w.Kind {
	case OwningGroup:
		return "its group"
	case User:
		return fmt.Sprintf("the user %d", w.ID)
	case Group:
		return fmt.Sprintf("the group %d", w.ID)
	case Principal:
		return fmt.Sprintf("%q", w.Name)
	default:
		return "everyone"
	}
}

// format is one form of lists.
type format struct {
	attribute string
	parse     func([]byte) (writers []Writer, has bool, err error)
}

var formats = []format{{"system.posix_acl_access", ParsePOSIX}, {"system.nfs4_acl", ParseNFS4}}
