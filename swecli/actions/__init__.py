"""What the user asks for by a slash command or a subcommand, written once for both."""
