"""The rule-based assistant that ships in the package: it reads a request and decides the next step, offline."""
