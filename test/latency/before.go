package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program returns the path of an agent of another version: a program as it is, or
// that of a revision of the repository in dir, which is built once and kept in the
// user's cache directory.
func Program(ctx context.Context, dir, what string, progress io.Writer) (string, error) {
	if info, err := os.Stat(what); err == nil && info.Mode().IsRegular() {
		return filepath.Abs(what)
	}
	commit, err := output(ctx, dir, "git", "rev-parse", "--verify", "--quiet", "--end-of-options", what+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%s is neither a program nor a revision: %w", what, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	kept := filepath.Join(cache, "waymark", "bench", commit)
	program := filepath.Join(kept, "agent")
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	fmt.Fprintf(progress, "\r\x1b[Kbuilding %s", what)
	if err := os.MkdirAll(kept, 0o700); err != nil {
		return "", err
	}
	return program, build(ctx, dir, commit, program)
}

// build makes the agent of a commit, in a work tree that goes afterwards.
func build(ctx context.Context, dir, commit, program string) (err error) {
	tree, err := os.MkdirTemp("", "wm")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tree)) }()
	tree = filepath.Join(tree, "tree")
	if _, err := output(ctx, dir, "git", "worktree", "add", "--detach", tree, commit); err != nil {
		return err
	}
	defer func() {
		_, gone := output(context.WithoutCancel(ctx), dir, "git", "worktree", "remove", "--force", tree)
		err = errors.Join(err, gone)
	}()
	if _, err := output(ctx, tree, "make", "build"); err != nil {
		return err
	}
	// Whoever builds the same at the same time gets the same.
	unfinished := program + ".new"
	if err := copyFile(unfinished, filepath.Join(tree, "bin", "agent")); err != nil {
		return err
	}
	return os.Rename(unfinished, program)
}

func copyFile(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o700)
}

// output runs a command and returns what it prints, without the end of its last line.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	// A make that runs this has told its own flags and variables.
	cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=", "MAKEOVERRIDES=")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w %s", name, args[0], err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
