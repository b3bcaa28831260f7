"""`python -m swecli`. Started with `-I`, as the installed command does it, most of this cleanup is unnecessary."""
# ruff: noqa: PTH100, PTH117, PTH118, PTH120  (pathlib would be searched in the folder too)

import sys
from os import curdir, environ, path, pathsep


def _clean_module_path() -> None:
    """Remove the working directory, and PYTHONPATH entries in or relative to it, from the module path before imports,
    so that a `json.py` in that directory is not run. The same for the folder of the package, if that lies there: what
    it imports from now on it finds by its own path."""
    try:
        current_folder = path.abspath(curdir)
    except OSError:  # the folder was deleted: nothing in it can be run
        return
    if not sys.flags.safe_path and sys.path[:1] == [current_folder]:
        del sys.path[0]  # added by -m
    # Python itself has read this variable before
    python_path = "" if sys.flags.ignore_environment else environ.get("PYTHONPATH", "")
    for entry in python_path.split(pathsep):
        folder = path.abspath(entry)
        inside = folder == current_folder or folder.startswith(path.join(current_folder, ""))
        if folder in sys.path and (inside or not path.isabs(entry)):
            sys.path.remove(folder)
    source = path.dirname(path.dirname(path.abspath(__file__)))
    is_environment = source.startswith(path.join(sys.prefix, ""))
    if not is_environment and path.join(source, "").startswith(path.join(current_folder, "")):
        sys.path[:] = [entry for entry in sys.path if path.abspath(entry) != source]


if __name__ == "__main__":
    _clean_module_path()
    from swecli.cli.main import main

    main()
