"""Tools of MCP servers, which the user approved one by one: each is started when it is first called,
and nothing that it says is trusted."""
