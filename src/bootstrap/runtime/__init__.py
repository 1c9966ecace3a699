"""The runtime: from the request to the claim. It refuses to decide what agent code may do: the rail does."""
