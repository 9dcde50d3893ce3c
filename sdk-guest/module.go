package guest

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"waymark/abi"
	"waymark/sdk-guest/jsonlite"
)

// Validate reports the first mistake in a module for which a host would reject it.
func (m Module) Validate() error {
	if m.Name == "" && len(m.Resolvers) == 0 {
		return errors.New("there is no module: call guest.Serve with one in a function init")
	}
	if !validName(m.Name) {
		return errors.New("module name " + strconv.Quote(m.Name) + " is not lower-case words joined by hyphens, such as acme-rules")
	}
	if m.Version == "" {
		return errors.New("module " + m.Name + " has no version; for example 1.0.0")
	}
	if len(m.Resolvers) == 0 {
		return errors.New("module " + m.Name + " has no resolvers")
	}
	for i, r := range m.Resolvers {
		if err := r.validate(); err != nil {
			return err
		}
		if first, _ := m.find(r.Name); first != i {
			return errors.New("two resolvers are named " + r.Name)
		}
	}
	return nil
}

func (r Resolver) validate() error {
	if !validName(r.Name) {
		return errors.New("resolver name " + strconv.Quote(r.Name) + " is not lower-case words joined by hyphens, such as acme-rules")
	}
	if len(r.Kinds) == 0 {
		return errors.New("resolver " + r.Name + " declares no kinds")
	}
	for _, k := range r.Kinds {
		if k == abi.KindMCPServer {
			return errors.New("resolver " + r.Name + " declares mcp_server, which comes from the host alone; declare mcp_config")
		}
	}
	if r.Resolve == nil {
		return errors.New("resolver " + r.Name + " has no Resolve function")
	}
	return nil
}

// maxNameLen is the ABI's bound for the names of modules and resolvers.
const maxNameLen = 64

func validName(s string) bool {
	if s == "" || len(s) > maxNameLen {
		return false
	}
	for word := range strings.SplitSeq(s, "-") {
		if word == "" {
			return false
		}
		for i := range len(word) {
			if c := word[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
				return false
			}
		}
	}
	return true
}

// find returns the index of the first resolver with a name.
func (m Module) find(name string) (int, bool) {
	for i := range m.Resolvers {
		if m.Resolvers[i].Name == name {
			return i, true
		}
	}
	return 0, false
}

// HandleDescribe answers describe: the Description as JSON.
//
// # Errors
//
// Those of Validate.
func (m Module) HandleDescribe() ([]byte, error) {
	if err := m.Validate(); err != nil {
		return nil, err
	}
	var w jsonlite.Writer
	writeDescription(&w, m)
	return w.Bytes(), nil
}

// HandleResolve answers resolve: it decodes a Request from input, runs the resolver that it
// names over root and encodes the Response. The wasm build runs the same code, so tests can
// run it natively.
//
// # Errors
//
// For an input that isn't a Request of this ABI version, for a resolver that the module
// doesn't have, and whatever the resolver returns.
func (m Module) HandleResolve(input []byte, root fs.FS) ([]byte, error) {
	a, err := m.resolve(input, root)
	if err != nil {
		return nil, err
	}
	return a.text, nil // natively no text lies elsewhere
}

func (m Module) resolve(input []byte, root fs.FS) (*answer, error) {
	req, err := decodeRequest(input)
	if err != nil {
		return nil, err
	}
	i, ok := m.find(req.Resolver)
	if !ok {
		return nil, errors.New("module " + m.Name + " has no resolver " + strconv.Quote(req.Resolver))
	}
	resp, err := m.Resolvers[i].Resolve(req, root)
	if err != nil {
		return nil, err
	}
	if resp == nil {
		resp = &Response{}
	}
	return encodeResponse(resp), nil
}
