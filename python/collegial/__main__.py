"""The program `collegial`, as the wheel installs it."""

import os
import signal
import sys

from . import _collegial


def main():
    sys.exit(_under_torchrun() if "TORCHELASTIC_RUN_ID" in os.environ else _program())


def _program():
    # Python would only note a Ctrl-C and go on; the program has its own way with it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _collegial.main(["collegial", *sys.argv[1:]])


def _under_torchrun():
    """The first process is the program; the others share its trainings."""
    from .torch import ranks

    if not ranks.is_torchrun():
        return _program()
    code = ranks.run(_program)
    # A thread of gloo may still let go of a tensor, for which it takes the interpreter's lock: where the
    # interpreter is being finalised that aborts the process.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
