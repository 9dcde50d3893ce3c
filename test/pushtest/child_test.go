package pushtest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Order is what the process of the agents is told to do next.
type Order struct {
	Do       string // "connect", "once", "steady", "saturate", "disconnect", "start", "current"
	Plan     *Plan  `json:",omitempty"` // of connect and start
	Form     Form
	Workers  int
	Interval time.Duration
	For      time.Duration
	Since    time.Time
}

// Serve is the process of the agents: it reads orders, a line each, and
// writes results, until there are no more.
func Serve(ctx context.Context, r io.Reader, w io.Writer) error {
	var fleet *Fleet
	var pushers *Pushers
	defer func() {
		if pushers != nil {
			pushers.Close()
		}
		if fleet != nil {
			fleet.Close()
		}
	}()
	orders, results := json.NewDecoder(bufio.NewReader(r)), json.NewEncoder(w)
	for {
		var o Order
		if err := orders.Decode(&o); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var result Result
		switch o.Do {
		case "connect":
			begin := time.Now()
			var err error
			if fleet, err = Connect(ctx, o.Plan); err != nil {
				return err
			}
			result = Result{Pushes: len(o.Plan.Tokens), Seconds: time.Since(begin).Seconds()}
		case "disconnect":
			fleet.Close()
			result, fleet = Result{Pushes: 1}, nil
		case "once":
			result = fleet.Once(ctx, o.Workers, o.Form)
		case "steady":
			result = fleet.Steady(ctx, o.Interval, o.For, o.Form)
		case "saturate":
			result = fleet.Saturate(ctx, o.Workers, o.For, o.Form)
		case "start":
			var err error
			if pushers, err = StartPushers(ctx, o.Plan); err != nil {
				return err
			}
			result = Result{Pushes: len(o.Plan.Tokens)}
		case "current":
			var err error
			limited, cancel := context.WithTimeout(ctx, o.For)
			if result, err = pushers.Current(limited, o.Since); err != nil {
				result.Error = err.Error()
			}
			cancel()
		default:
			return fmt.Errorf("unknown order %q", o.Do)
		}
		if err := results.Encode(result); err != nil {
			return err
		}
	}
}
