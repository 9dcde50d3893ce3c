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
	// followWait is how long one request of Follow waits for a byte.
	followWait = 30 * time.Second
	// followPage is how much Follow asks for at once, in bytes.
	followPage = 1 << 20
	// followRetry is the longest pause between attempts to find a lost agent again.
	followRetry = 2 * time.Second
)

// OmittedError says that output is gone: more had been written than the agent
// keeps.
type OmittedError struct {
	Bytes int64
}

// Error implements error.
func (e *OmittedError) Error() string {
	return fmt.Sprintf("%d bytes of output are gone: more was written than the agent keeps", e.Bytes)
}

// LostError says that a process can't be followed to its end, although the agent
// answers: what held it has ended.
type LostError struct {
	Reason string
}

// Error implements error.
func (e *LostError) Error() string { return "the process is lost: " + e.Reason }

// Follow yields all that a process writes, to the byte, from its first to its end,
// without gap or repetition, also when the agent is restarted meanwhile. Its exit code is
// in [Client.ProcessOutput] afterwards.
//
// An *OmittedError stands where bytes are gone; what follows comes if the loop goes
// on. When the agent is lost Follow yields an error, once, and, if the loop goes
// on, waits for its return. A *LostError, what the agent refuses, and that there is
// no agent at all are the last thing it yields. It ends without an error when the
// process has ended, and when ctx ends.
func Follow(ctx context.Context, c Client, id string) iter.Seq2[[]byte, error] {
	return FollowFrom(ctx, c, id, 0)
}

// FollowFrom is Follow from an offset on.
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

// follower is where one Follow stands.
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
		return nil // it was waited for nothing
	}
	c.Yield(page)
	return nil
}

// more hands a page on, and reports whether there is another.
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
