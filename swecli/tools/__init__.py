"""What the model can do: tools, permissions, the sandbox they run in."""
