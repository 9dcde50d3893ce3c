package reverse

// KindClientContext asks an agent what a coding agent would see that is started where it
// works, and changes nothing. The bodies are a Request and an Answer of package
// clientview. An agent tells a hub only of what is pushed to it; see there.
const KindClientContext = "client.context"
