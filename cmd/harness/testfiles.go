package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// fixtureFiles finds the fixtures that are meant.
func fixtureFiles(module string, names []string, only *regexp.Regexp) ([]string, error) {
	if len(names) == 0 {
		dir := filepath.Join(filepath.Dir(module), "testdata")
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("there is no %s beside the module: make it and write a fixture, see harness test --help, or name fixtures", dir)
		}
		names = []string{dir}
	}
	var files []string
	for _, name := range names {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("fixture %s does not exist: check the path", name)
		case err != nil:
			return nil, err
		case !info.IsDir():
			files = append(files, name)
			continue
		}
		entries, err := os.ReadDir(name)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if filepath.Ext(e.Name()) == ".txtar" {
				files = append(files, filepath.Join(name, e.Name()))
			}
		}
	}
	all := len(files)
	files = slices.DeleteFunc(files, func(file string) bool { return !only.MatchString(fixtureName(file)) })
	switch {
	case all == 0:
		return nil, fmt.Errorf("there are no fixtures (*.txtar) in %s: write one, see harness test --help", strings.Join(names, ", "))
	case len(files) == 0:
		return nil, fmt.Errorf("--run %s: none of %d fixtures is called so", only, all)
	}
	return files, nil
}

func fixtureName(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}
