package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"waymark/agentapi"
	"waymark/internal/httpapi/apiclient"
)

const (
	// followWait is how long one request of Follow waits for output.
	followWait = 30 * time.Second
	// followPage is how much Follow asks for at once, in bytes.
	followPage = 1 << 20
	// followRetry is the longest pause between attempts to reconnect.
	followRetry = 2 * time.Second
)

// OmittedError says that output is lost, because more was written than the agent keeps.
type OmittedError struct {
	Bytes int64
}

// Error implements error.
func (e *OmittedError) Error() string {
	return fmt.Sprintf("%d bytes of output are gone: more was written than the agent keeps", e.Bytes)
}

// LostError says that a process can't be followed to its end although the agent answers,
// because what held the process has ended.
type LostError struct {
	Reason string
}

// Error implements error.
func (e *LostError) Error() string { return "the process is lost: " + e.Reason }

// Follow yields everything that a process writes, byte for byte from the beginning to the
// end, without gaps or repetition, even if the agent is restarted meanwhile. Afterwards
// [Client.ProcessOutput] has its exit code.
//
// An *OmittedError takes the place of lost bytes; the loop may continue. If the connection
// to the agent is lost, Follow yields one error and, if the loop continues, waits for the
// agent's return. A *LostError, a refusal of the agent, and the absence of any agent at the
// beginning are the last value. It ends without an error when the process has ended, and
// when ctx ends.
func Follow(ctx context.Context, c Client, id string) iter.Seq2[[]byte, error] {
	return FollowFrom(ctx, c, id, 0)
}

// FollowFrom is like Follow, but begins at an offset.
func FollowFrom(ctx context.Context, c Client, id string, offset int64) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		f := follower{client: c, id: id, offset: offset, yield: yield}
		for page, err := range apiclient.Follow(ctx, followRetry, f.next) {
			if !f.more(page, err) {
				return
			}
		}
	}
}

// follower is the state of a Follow.
type follower struct {
	client Client
	id     string
	offset int64
	yield  func([]byte, error) bool
}

// next waits for the next page.
func (f *follower) next(ctx context.Context, c *apiclient.Connection[*agentapi.ProcessOutput]) error {
	page, err := f.client.ProcessOutput(ctx, f.id, agentapi.OutputOptions{Offset: &f.offset, Limit: followPage, WaitFor: followWait, Raw: true})
	if err != nil {
		return err
	}
	c.Open()
	if page.NextOffset == nil {
		return errors.New("the agent's answer has no next_offset")
	}
	if page.Running && *page.NextOffset == f.offset && page.OmittedBytes == 0 {
		return nil // nothing was written during the wait
	}
	c.Yield(page)
	return nil
}

// more yields a page, and reports whether to go on.
func (f *follower) more(page *agentapi.ProcessOutput, err error) bool {
	if err != nil {
		return f.yield(nil, err)
	}
	if page.OmittedBytes > 0 && !f.yield(nil, &OmittedError{page.OmittedBytes}) {
		return false
	}
	if len(page.Data) > 0 && !f.yield(page.Data, nil) {
		return false
	}
	old := f.offset
	f.offset = *page.NextOffset
	if page.Running || f.offset > old {
		return true
	}
	if page.Lost != "" {
		f.yield(nil, &LostError{page.Lost})
	}
	return false
}
