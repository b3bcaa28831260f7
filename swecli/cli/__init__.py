"""The command line: parses arguments, prepares a run, and answers subcommands."""
