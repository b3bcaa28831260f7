"""A session in an editor: the agent's side of the Agent Client Protocol, version 1, on stdin and stdout."""
