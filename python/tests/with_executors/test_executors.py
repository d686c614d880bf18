"""The same sweep on real engines: dask's local cluster, submitit's local executor, and mpi4py under `mpirun`."""

import subprocess
import sys
import textwrap

import distributed
import pytest
import submitit

import collegial
from collegial.executors import SubmititExecutor

MODELS = ["fc3-8", "fc3-2x4"]


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    return collegial.sweep(MODELS, data, runs=2, epochs=2, out=tmp_path_factory.mktemp("whole"))


def test_dask(data, whole, tmp_path):
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            executor = client.get_executor()
            assert collegial.sweep(MODELS, data, runs=2, epochs=2, out=tmp_path, executor=executor) == whole


def test_submitit(data, whole, tmp_path):
    executor = submitit.AutoExecutor(folder=tmp_path / "logs", cluster="local")
    executor.update_parameters(timeout_min=5)
    executor = SubmititExecutor(executor, every=0.1)
    assert collegial.sweep(MODELS, data, runs=2, epochs=2, out=tmp_path / "out", executor=executor) == whole


def test_mpi(data, whole, tmp_path):
    script = tmp_path / "sweep.py"
    script.write_text(
        textwrap.dedent(f"""
        from mpi4py.futures import MPIPoolExecutor
        import collegial
        if __name__ == "__main__":
            with MPIPoolExecutor() as executor:
                found = collegial.sweep({MODELS!r}, {str(data)!r}, runs=2, epochs=2, out={str(tmp_path / "out")!r}, executor=executor)
            print(found.to_dict())
        """)
    )
    command = ["mpirun", "-n", "3", "--allow-run-as-root", "--oversubscribe", sys.executable, "-m", "mpi4py.futures", str(script)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert found.stdout.strip() == str(whole.to_dict())
