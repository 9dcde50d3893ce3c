package sandbox

import (
	"waymark/host/sandbox/meter"
	"waymark/internal/text"
)

// Shape describes a module without running it, whether or not it would be admitted.
type Shape struct {
	Imports []Symbol `json:"imports"`
	Exports []Symbol `json:"exports"`
	// Start says that there is a start function.
	Start bool `json:"start"`
	// Functions is the number of functions that the module defines. CodeBytes is the size of
	// all their bodies, LargestFunction that of the largest, in bytes.
	Functions       int `json:"functions"`
	CodeBytes       int `json:"code_bytes"`
	LargestFunction int `json:"largest_function"`
}

// Symbol is one import or export.
type Symbol struct {
	Module string `json:"module,omitempty"` // of an import
	Name   string `json:"name"`
	Kind   string `json:"kind"` // function, table, memory, global
	// Type is that of a function, as in "(i64 i32) -> (i64)".
	Type string `json:"type,omitempty"`
}

// maxPages is the most that a memory can have. Callers of Load set the limit for a module.
const maxPages = 65536

// ShapeOf analyzes a module. It fails for what isn't a module that could be metered; the
// error is an ErrRejected.
func ShapeOf(wasm []byte) (*Shape, error) {
	if err := checkHeader(wasm); err != nil {
		return nil, err
	}
	m, err := meter.Rewrite(wasm, meter.Options{
		Wrap:   []string{meter.StartExport},
		Limits: meter.Limits{MaxModule: MaxModule, MaxMemoryPages: maxPages},
	})
	if err != nil {
		return nil, asMeterReject(err)
	}
	s := &Shape{
		Imports: []Symbol{}, Exports: []Symbol{}, Start: m.HasStart,
		Functions: m.Stats.Functions, CodeBytes: m.Stats.BodyBytes, LargestFunction: m.Stats.LargestBody,
	}
	for _, i := range m.Imports {
		s.Imports = append(s.Imports, symbol(i.Module, i.Name, i.Kind, i.Type))
	}
	for _, e := range m.Exports {
		s.Exports = append(s.Exports, symbol("", e.Name, e.Kind, e.Type))
	}
	return s, nil
}

// symbol makes names, which may be anything, fit for display.
func symbol(module, name string, kind meter.Kind, t meter.FuncType) Symbol {
	s := Symbol{Module: text.Line(module, guestTextMax), Name: text.Line(name, guestTextMax), Kind: kind.String()}
	if kind == meter.KindFunc {
		s.Type = t.String()
	}
	return s
}

// Admissible checks a module without compiling or running it. A module that passes can still
// be refused for what it does. Errors are a *RejectError.
func Admissible(wasm []byte, limits Limits) error {
	_, err := admit(wasm, int(limits.WithDefaults().pages()))
	return err
}
