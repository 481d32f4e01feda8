"""The application."""
import os
import sys

from util.math import add

# TODO: read the configuration
VERSION = "1.4.2"


def main(argv):
    # FIXME: no argument is checked
    total = add(*[int(x) for x in argv[1:]])
    print(f"total: {total}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
