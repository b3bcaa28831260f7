"""Use without a screen: prompts from arguments and pipes, answers as text or JSON."""
