"""The program `collegial`, as the wheel installs it."""

import signal
import sys

from . import _collegial


def main():
    # Python would only note a Ctrl-C and go on; the program has its own way with it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_collegial.main(["collegial", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
