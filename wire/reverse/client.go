package reverse

// KindClientContext asks an agent what a coding agent would see that is started in its
// directory, and changes nothing. The bodies are a Request and an Answer of package
// hub/api, which says what an agent withholds from a hub: everything that isn't pushed to
// it.
const KindClientContext = "client.context"

// KindContextCoverage asks an agent which files lie where agents look and aren't used, and
// changes nothing. The request has no body, the answer is a Coverage of package hub/api. A
// hub that isn't the user's own gets only the number of these files, because none of them is
// pushed.
const KindContextCoverage = "context.coverage"
