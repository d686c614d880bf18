"""What the JAX scripts share. Import before jax: the flags must be there when its CPU client starts."""

import os

from measure import emit, parser


def start(description):
    """Parse the command line, hold XLA to the asked threads and return the options.

    XLA sizes its thread pool by the processor's affinity mask and has no other switch for it in this version. One virtual device for each
    thread is offered to the forms that use `pmap`; the others run on the first, which may still use every thread.
    """
    options = parser(description).parse_args()
    processors = sorted(os.sched_getaffinity(0))
    if options.threads > len(processors):
        raise SystemExit(f"--threads {options.threads}: this process may use only {len(processors)} processors")
    os.sched_setaffinity(0, processors[: options.threads])
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={options.threads}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    # neural-tangents imports tensorflow, which would announce the absence of a GPU.
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import jax

    emit(rival="jax", version=jax.__version__, threads=options.threads)
    return options
