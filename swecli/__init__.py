"""swecli: a coding assistant in the terminal whose memory its user can see, tune and trust."""

__version__ = "0.2.0"
