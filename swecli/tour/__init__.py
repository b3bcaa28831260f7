"""The offline demo model, found by its entry point only."""
