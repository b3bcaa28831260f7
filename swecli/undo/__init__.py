"""Takes back what turns did: conversation, files, strategies."""
