package launch_test

func probe(args []string) int { return len(args) }
