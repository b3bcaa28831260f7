"""The models that are used when only a key is set, and named in help: the newest of their family in the price table."""

OPENAI = "openai/gpt-6.1-sol"
ANTHROPIC = "anthropic/claude-sonnet-5-5"
EXAMPLES = f"for example {OPENAI}, ollama_chat/qwen3, demo"
