package e2e

import (
	"context"
	"os/exec"

	"waymark/agentapi/client"
	"waymark/test/process"
)

// AgentOptions say how to run an agent.
type AgentOptions struct {
	Program string
	Home    Home
	// Root is the working directory to look into; Sources are further places.
	Root    string
	Sources []string
	// URL and TokenFile lead to the hub; empty means the one that the user's agents
	// share.
	URL, TokenFile string
	// Args are further arguments.
	Args []string
	// Command changes the command before it is started; it may be nil.
	Command func(*exec.Cmd)
}

// Agent is a running `agent run`.
type Agent struct {
	*process.Process
	// Client asks it over the home's socket.
	Client client.Client
}

// StartAgent starts an agent. It doesn't wait for anything.
func StartAgent(ctx context.Context, opts AgentOptions) (*Agent, error) {
	args := []string{"run", "--root", opts.Root}
	if opts.URL != "" {
		args = append(args, "--url", opts.URL, "--token-file", opts.TokenFile)
	}
	for _, s := range opts.Sources {
		args = append(args, "--source", s)
	}
	cmd := exec.CommandContext(ctx, opts.Program, append(args, opts.Args...)...)
	cmd.Env, cmd.Dir = opts.Home.Environ(), opts.Home.Dir
	if opts.Command != nil {
		opts.Command(cmd)
	}
	p, err := process.Start(cmd)
	if err != nil {
		return nil, err
	}
	return &Agent{Process: p, Client: client.New(opts.Home.Socket(), client.Options{})}, nil
}
