"""Interactive use: the prompt, what is drawn, slash commands."""
