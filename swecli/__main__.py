"""`python -m swecli` and the `swecli` command."""

from swecli.cli.main import main

if __name__ == "__main__":
    main()
