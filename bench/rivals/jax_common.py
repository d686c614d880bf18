"""What the JAX scripts share. Import before jax: the thread count must be settled when its CPU client starts."""

import os

from measure import emit, parser


def start(description, add=None):
    """Parse the command line, hold XLA to the asked threads and return the options; `add` adds a script's own flags.

    XLA sizes its thread pool by the processor's affinity mask and has no other switch for it in this version.
    """
    arguments = parser(description)
    if add is not None:
        add(arguments)
    options = arguments.parse_args()
    processors = sorted(os.sched_getaffinity(0))
    if options.threads > len(processors):
        raise SystemExit(f"--threads {options.threads}: this process may use only {len(processors)} processors")
    os.sched_setaffinity(0, processors[: options.threads])
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    emit(rival="jax", version=jax.__version__, threads=options.threads)
    return options
