"""What `progress=` may be: a callable, or True for a bar."""

import contextlib
import json
import sys


@contextlib.contextmanager
def watching(progress):
    """A callable (done, total) for the time of the work, or None."""
    if not progress:
        yield None
    elif callable(progress):
        yield progress
    else:
        with _bar() as bar:
            yield lambda done, total: bar.update(100.0 * done / total - bar.n)


def _bar():
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line()
    return tqdm(total=100.0, bar_format="{l_bar}{bar}| {elapsed}<{remaining}")


class _Line:
    """Per cents on stderr, where there is no tqdm."""

    n = 0.0

    def update(self, more):
        self.n += more
        print(f"\r{self.n:3.0f} %", end="", file=sys.stderr, flush=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        print(file=sys.stderr)


def every_epoch(callback):
    """A callable for the JSON of an epoch, or None."""
    return None if callback is None else lambda document: callback(json.loads(document))
