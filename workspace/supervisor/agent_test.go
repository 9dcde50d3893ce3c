package supervisor_test

func agentMain([]string) int { return 0 }
