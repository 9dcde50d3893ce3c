package agent

import (
	"errors"
	"net/http"

	"waymark/host"
	"waymark/host/metrics"
	"waymark/host/push"
	"waymark/host/resolve"
	"waymark/host/sandbox"
	"waymark/host/watch"
)

// observe records a refresh in the metrics.
func (d *Agent) observe(r *host.Report) {
	info := metrics.RefreshInfo{Duration: r.Duration, Published: r.Changed, Snapshot: r.Snapshot}
	for i := range r.Checked {
		info.Resolves = append(info.Resolves, resolveInfo(&r.Checked[i]))
	}
	d.metrics.Refresh(info)
}

func resolveInfo(o *resolve.Outcome) metrics.ResolveInfo {
	info := metrics.ResolveInfo{Resolver: o.Resolver, Duration: o.Duration, Reason: metrics.ReasonFirst}
	if o.Changed != "" {
		info.Reason = metrics.ReasonChanged
	}
	switch {
	case o.Reused:
		return metrics.ResolveInfo{Resolver: o.Resolver, Result: metrics.ResultReused}
	case o.Quarantined, o.Rests:
		return metrics.ResolveInfo{Resolver: o.Resolver, Result: metrics.ResultQuarantined}
	case o.Postponed:
		return metrics.ResolveInfo{Resolver: o.Resolver, Result: metrics.ResultPostponed}
	case o.Err != nil:
		info.Result, info.Kill = metrics.ResultFailed, killOf(o.Err)
	default:
		info.Result = metrics.ResultRun
	}
	return info
}

// killOf returns a word for what ended a run.
func killOf(err error) string {
	for word, kind := range map[string]error{
		"deadline": sandbox.ErrDeadline, "limit": sandbox.ErrLimit, "crashed": sandbox.ErrCrashed,
		"answer": sandbox.ErrAnswer, "error": sandbox.ErrGuest, "canceled": sandbox.ErrCanceled,
	} {
		if errors.Is(err, kind) {
			return word
		}
	}
	return "other"
}

// observeWatch records a batch of file events.
func (d *Agent) observeWatch(b watch.Batch) { d.metrics.Batch(b.Reason) }

// observePush records an attempt to push.
func (d *Agent) observePush(a push.Attempt) {
	d.metrics.Push(metrics.PushInfo{Result: string(a.Result), Duration: a.Duration, Bytes: a.Bytes, Delta: a.Delta})
}

// metricsHandler serves the metrics, and updates gauges first.
func (d *Agent) metricsHandler() http.Handler {
	next := d.metrics.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := d.host.Status()
		d.metrics.Watch(metrics.WatchInfo{Mode: s.Watch.Mode, Directories: s.Watch.Dirs})
		if s.Push != nil {
			d.metrics.PushState(string(s.Push.State))
		}
		next.ServeHTTP(w, r)
	})
}
