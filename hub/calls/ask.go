package calls

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"waymark/hub/mcpserver"
	"waymark/internal/await"
	"waymark/wire"
	"waymark/wire/reverse"
	"waymark/wire/waymark"
)

const (
	// maxAsks limits the concurrent questions of readers to an agent, maxChatCalls the
	// calls for chats. The latter is half of what its channel accepts, and the agent's own
	// limit. The rest of the channel is for approvals.
	maxAsks, maxChatCalls = 2, 8
	// maxAnswer limits an agent's answer, in bytes. It is the agent's own limit.
	maxAnswer = 1 << 20
	// askAgain is how soon to ask another hub again that didn't have the agent.
	askAgain = 250 * time.Millisecond
)

// asked are the requests that readers and chats may send to an agent, with their maximum
// duration, which includes looking at files and starting servers to list their tools. Other
// hubs can't send any other request.
var asked = map[string]time.Duration{
	reverse.KindClientContext: 20 * time.Second, reverse.KindContextCoverage: 20 * time.Second, reverse.KindSkillFiles: manifestsTimeout, reverse.KindSkillFile: time.Minute, reverse.KindToolsList: 30 * time.Second, reverse.KindToolsCall: mcpserver.MaxCall, reverse.KindMCPRequest: mcpserver.MaxCall,
}

// Reasons for a missing answer. Those of an agent are *reverse.Error.
var (
	errAway      = errors.New("the agent is not connected: nothing can be asked of it until it is back")
	errNoAddress = errors.New("the agent is connected to another hub of this database, which can't be asked: start all of them with --advertise, or have the balancer send the connection of an agent and the requests about it to one hub")
	errNotThere  = errors.New("the agent is changing from one hub to another, or the hub to which it was connected doesn't answer: ask again in half a minute")
	errNoChannel = errors.New("the agent has no channel on which this hub could ask: it has just come, or its version is older than that")
	errLost      = errors.New("the connection to the agent ended in the middle of the call: whether it was done is not known")
	errTooOld    = errors.New("the agent takes no such requests from a hub: its version is older than that; update the agent")
	errAnswer    = errors.New("the agent's answer is not what it should be")
)

// ask asks an agent, through this hub or the one that it is connected to. If the agent
// isn't connected, it waits up to patience for it.
func (c *Calls) ask(ctx context.Context, agentID, kind string, body []byte, patience time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, asked[kind])
	defer cancel()
	over := time.NewTimer(patience)
	defer over.Stop()
	pauses := await.Backoff{Shortest: askAgain, Longest: time.Second}
	for {
		changed := c.channels.changed.Changed()
		if one := c.channels.of(agentID); one != nil && !one.Ended() {
			return one.ask(ctx, kind, body)
		}
		err := errAway
		if c.opts.Transport.Connected(agentID) {
			err = errNoChannel
		} else if at, atErr := c.opts.Store.HubOf(ctx, agentID); atErr == nil && at.ID != c.opts.Self.ID {
			if at.URL == "" {
				err = errNoAddress
			} else {
				var answer []byte
				if answer, err = c.askThrough(ctx, at, agentID, kind, body); !errors.Is(err, errNotThere) {
					return answer, err
				}
			}
		}
		if patience == 0 {
			return nil, err
		}
		select {
		case <-changed:
		case <-time.After(pauses.Next()):
		case <-over.C:
			patience = 0 // by now there may be another reason
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ask asks the agent, and fetches the complete answer.
func (c *agentChannel) ask(ctx context.Context, kind string, body []byte) ([]byte, error) {
	if !c.Peer().Knows(kind) {
		return nil, errTooOld
	}
	slots, plain := c.calls, false
	if kind == reverse.KindClientContext || kind == reverse.KindContextCoverage || kind == reverse.KindSkillFiles {
		slots, plain = c.asks, true
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	default:
		return nil, &reverse.Error{Code: wire.CodeBusy, Text: fmt.Sprintf("%d calls are under way at this agent: wait for one of them", cap(slots))}
	}
	answer, err := c.call(ctx, kind, body)
	if err != nil || plain {
		return answer, err
	}
	return c.whole(ctx, body, answer)
}

// whole assembles an answer that may have been too long for a frame.
func (c *agentChannel) whole(ctx context.Context, request, first []byte) ([]byte, error) {
	var asked waymark.ToolsList // the capability field is the same in all requests
	var part waymark.ToolsAnswer
	if proto.Unmarshal(request, &asked) != nil || proto.Unmarshal(first, &part) != nil {
		return nil, errAnswer
	}
	answer, size := part.GetJson(), int(part.GetSize())
	if size > maxAnswer || len(answer) > size {
		return nil, errAnswer
	}
	for rest := part.GetRest(); len(answer) < size; {
		body, err := proto.Marshal(&waymark.ToolsMore{
			Capability: asked.GetCapability(), Rest: rest, Offset: uint32(len(answer)), //nolint:gosec // at most maxAnswer
		})
		if err != nil {
			return nil, err
		}
		if body, err = c.call(ctx, reverse.KindToolsMore, body); err != nil {
			return nil, err
		}
		if proto.Unmarshal(body, &part) != nil || len(part.GetJson()) == 0 || len(answer)+len(part.GetJson()) > size {
			return nil, errAnswer
		}
		answer = append(answer, part.GetJson()...)
	}
	return answer, nil
}

// call makes a single request.
func (c *agentChannel) call(ctx context.Context, kind string, body []byte) ([]byte, error) {
	answer, err := c.Call(ctx, kind, body)
	var no *reverse.Error
	if err != nil && ctx.Err() == nil && !errors.As(err, &no) {
		return nil, errLost
	}
	return answer, err
}
