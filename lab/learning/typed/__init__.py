"""A session that is typed into the real program, with a model whose answers were written by hand."""
