package codecache

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

// check makes sure that wazero will find the code, by name and version: else
// it would compile again, in this process and without limits.
func (c *Code) check(recipe Recipe) error {
	files, err := c.scratch.natives()
	if err != nil {
		return err
	}
	name := nativeName(c.Wasm, recipe.CloseOnDone)
	if !slices.ContainsFunc(files, func(f native) bool { return f.name == name }) {
		return errors.New("the compiler wrote code for another CPU, or names it in a way unknown here")
	}
	f, _, err := c.scratch.open(filepath.Join(c.scratch.native, name))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	header := make([]byte, 7)
	if _, err := io.ReadFull(f, header); err != nil {
		return err
	}
	version := make([]byte, header[6])
	if _, err := io.ReadFull(f, version); err != nil {
		return err
	}
	if !strings.HasPrefix(c.scratch.native, "wazero-"+string(version)+"-") {
		return fmt.Errorf("the compiler is wazero %q, and %s is needed", version, c.scratch.native)
	}
	return nil
}
