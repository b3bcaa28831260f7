"""Access to models: providers, their protocols, prices and errors."""
