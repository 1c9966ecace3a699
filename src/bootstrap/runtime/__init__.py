"""From the request to the claim: snippets, sessions, tools, values, error reports; the rail decides what agent code may do."""
