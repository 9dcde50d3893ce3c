package connect

import "context"

// Apply does what Plan said, as Connect does, so that a test can have something happen
// in between.
func (c *Connector) Apply(ctx context.Context, client *Client, changes []*Change) error {
	return c.locked(ctx, func() error { return c.apply(client, changes) })
}
