package places

import (
	"errors"
	"slices"

	"waymark/abi"
	"waymark/plugins/conventions"
	guest "waymark/sdk-guest"
	"waymark/sdk-guest/jsonlite"
)

// ScopeConfigured is the scope of an operator's conventions for whoever compiles them:
// the host hands out those that are for a root.
const ScopeConfigured conventions.Scope = ""

var errConventions = errors.New("config key conventions is not a list of tables with the fields of a convention")

// Configured returns those of an operator's conventions that have one of the kinds. The
// host has checked them.
//
// # Errors
//
// For what isn't a list of tables.
func Configured(config guest.Config, kinds []abi.Kind) (table []conventions.Convention, err error) {
	list, ok := config.Value("conventions")
	if !ok {
		return nil, nil
	}
	if list.Kind() != jsonlite.Array {
		return nil, errConventions
	}
	for row := range list.Elements() {
		c, err := configured(row)
		if err != nil {
			return nil, err
		}
		if slices.Contains(kinds, c.Kind) {
			table = append(table, c)
		}
	}
	return table, nil
}

func configured(row jsonlite.Value) (c conventions.Convention, err error) {
	if row.Kind() != jsonlite.Object {
		return c, errConventions
	}
	text := func(v jsonlite.Value) string {
		s, ok := v.Text()
		if !ok {
			err = errConventions
		}
		return s
	}
	for key, v := range row.Members() {
		switch key {
		case "id":
			c.ID = text(v)
		case "kind":
			c.Kind = abi.Kind(text(v))
		case "format":
			c.Format = conventions.Format(text(v))
		case "name":
			c.Name = conventions.Derivation(text(v))
		case "description":
			c.Description = conventions.Derivation(text(v))
		case "mode":
			c.Applies.Mode = text(v)
		case "globs_key":
			c.Applies.GlobsKey = text(v)
		case "places":
			for e := range v.Elements() {
				c.Places = append(c.Places, text(e))
			}
		}
	}
	return c, err
}
