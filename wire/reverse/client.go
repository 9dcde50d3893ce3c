package reverse

// KindClientContext asks an agent what a coding agent would see that is started where it
// works, and changes nothing. The bodies are a Request and an Answer of package
// clientview. An agent tells a hub only of what is pushed to it; see there.
const KindClientContext = "client.context"

// KindContextCoverage asks an agent which files lie where agents look and aren't used, and
// changes nothing. The request has no body, the answer is a Coverage of package clientview.
// A hub that isn't the user's own is told how many files these are, since nothing of them
// is pushed.
const KindContextCoverage = "context.coverage"
