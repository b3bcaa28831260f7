"""The database of sessions, strategies and findings, the only place with SQL."""
