"""Settings, folders and files of the user and of projects, and what of them is trusted."""
