"""Runs a Python script, and says whether a module of the project came from another place than the copy under test.

It is started by itself, in the sandbox, by the interpreter of the project: it imports nothing of ours."""

import os
import runpy
import sys
from pathlib import Path


def main() -> None:
    """Run the script that the command line names."""
    sys.argv = sys.argv[1:]
    # reads the environment: this is a program of its own, which gets its marker by it
    copy = Path(os.environ["SWECLI_COPY"]).resolve()
    folders = [folder for folder in (copy, copy / "src") if folder.is_dir()]
    module_names = {path.name.partition(".")[0] for folder in folders for path in folder.iterdir()}
    try:
        runpy.run_path(sys.argv[0], run_name="__main__")
    finally:
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name in module_names and file and not Path(file).resolve().is_relative_to(copy):
                print(f"{os.environ['SWECLI_MARKER']} elsewhere {name} {file}", flush=True)


if __name__ == "__main__":
    main()
