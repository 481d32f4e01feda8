"""`python -m dormouse`: the command line, which came with the package."""

import os
import sys


def main() -> None:
    """Becomes the program."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_release", "bin", "dormouse")
    try:
        os.execv(program, [program, *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"dormouse: the program of this package cannot be started: {error}\nhint: install the package again")


if __name__ == "__main__":
    main()
