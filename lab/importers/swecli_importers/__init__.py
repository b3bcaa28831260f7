"""Importers of transcripts that swecli itself does not read."""
