"""`python -m swecli`. The installed command starts it with `-I`, where nothing of this is left to do."""
# ruff: noqa: PTH100, PTH117, PTH118  (pathlib itself would be looked for in the folder)

import sys
from os import curdir, environ, path, pathsep


def _leave_folder_out() -> None:
    """Take the working folder off the module path before any module is looked for: a `json.py` that lies in a folder
    is not ours to run. So is what PYTHONPATH names in that folder, or relative to it."""
    try:
        here = path.abspath(curdir)
    except OSError:  # the folder was deleted: nothing in it can be run
        return
    if not sys.flags.safe_path and sys.path[:1] == [here]:
        del sys.path[0]  # put there by -m
    # reads the environment: Python has done so before
    given = "" if sys.flags.ignore_environment else environ.get("PYTHONPATH", "")
    for entry in given.split(pathsep):
        folder = path.abspath(entry)
        inside = folder == here or folder.startswith(path.join(here, ""))
        if folder in sys.path and (inside or not path.isabs(entry)):
            sys.path.remove(folder)


if __name__ == "__main__":
    _leave_folder_out()
    from swecli.cli.main import main

    main()
