"""Runs what a study still lacks, one single-threaded process per worker, at the lowest priority.

    python research/run.py STUDY[:PART]... --program collegial --data DATA --work WORK [--workers 2]

DATA holds `mnist` and `cifar-10-batches-bin`; WORK gets the validation sets (`validation.py`) and
temporary files. Finished runs are rows of STUDY/runs/*.csv and are never repeated, so the same
command goes on after any interruption. While the file WORK/PAUSE (or --pause FILE) exists, nothing
is started and what runs is stopped (SIGSTOP); it goes on when the file is gone. A study's `plan.py` has
`jobs(done)`: the runs in order, which may depend on the rows that are done. With :PART only parts
whose names begin so are run; two runners must not share parts.
"""

import argparse
import csv
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import validation

# Workers solve at once in one process; OpenBLAS with threads of its own once stopped there for ever.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

HERE = Path(__file__).parent
SETS = {"mnist": "mnist", "cifar10": "cifar-10-batches-bin"}


class Study:
    """A folder with a plan and the rows of its finished runs."""

    def __init__(self, name: str):
        name, _, self.prefix = name.partition(":")
        self.folder = HERE / name
        found = importlib.util.spec_from_file_location(f"plan_{name.replace('-', '_')}", self.folder / "plan.py")
        self.plan = importlib.util.module_from_spec(found)
        found.loader.exec_module(self.plan)

    def done(self) -> list[dict]:
        rows = []
        for path in sorted((self.folder / "runs").glob("*.csv")):
            with path.open(newline="") as file:
                rows += [{"part": path.stem, **row} for row in csv.DictReader(file)]
        return rows

    def missing(self) -> list[dict]:
        """Jobs of the plan without a row: a row belongs to a job if all keys of the job's `key` match."""
        done = self.done()
        have = {(row["part"], *(row[k] for k in self.plan.KEYS)) for row in done}
        return [job for job in self.plan.jobs(done)
                if job["part"].startswith(self.prefix) and identity(job, self.plan.KEYS) not in have]

    def append(self, part: str, row: dict) -> None:
        path = self.folder / "runs" / f"{part}.csv"
        path.parent.mkdir(exist_ok=True)
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, row.keys(), lineterminator="\n")
            if new:
                writer.writeheader()
            writer.writerow(row)


def identity(job: dict, keys: list[str]) -> tuple:
    return (job["part"], *(str(job[k]) for k in keys))


class Machine:
    """Where programs, data and temporary files are, and how a process is run to its end."""

    def __init__(self, options: argparse.Namespace):
        self.program, self.data, self.work = options.program, Path(options.data), Path(options.work)
        self.pause = Path(options.pause) if options.pause else self.work / "PAUSE"
        self.mark = os.getpid()
        self.work.mkdir(parents=True, exist_ok=True)
        if not (self.work / "cifar10-validation").exists():
            validation.mnist(self.data / "mnist", self.work / "mnist-validation")
            validation.cifar10(self.data / "cifar-10-batches-bin", self.work / "cifar10-validation")

    def dataset(self, name: str) -> str:
        return str(self.data / SETS[name] if name in SETS else self.work / name)

    def paused(self) -> bool:
        return self.pause.exists()

    def run(self, command: list[str]) -> str:
        """Standard output of the command; stopped while paused. A failure raises with its message."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: os.nice(19), cwd=HERE)
        stopped = threading.Event()
        guard = threading.Thread(target=self.guard, args=(process, stopped), daemon=True)
        guard.start()
        out, err = process.communicate()
        stopped.set()
        if process.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {err.strip()[-500:]}")
        return out

    def guard(self, process: subprocess.Popen, stopped: threading.Event) -> None:
        halted = False
        while not stopped.wait(1.0):
            if self.paused() != halted and process.poll() is None:
                process.send_signal(signal.SIGCONT if halted else signal.SIGSTOP)
                halted = not halted


def train(machine: Machine, job: dict, slot: int) -> dict:
    """One training; its settings are the job's, its result the last line that `train --json` prints."""
    out = machine.work / f"run-{machine.mark}-{slot}"
    shutil.rmtree(out, ignore_errors=True)
    settings = [piece for change in job["set"] for piece in ("--set", change)]
    command = [machine.program, "train", job["model"], "--data", machine.dataset(job["data"]), "--seed",
               str(job["seed"]), "--threads", "1", "--quiet", "--json", "--out", str(out),
               "--set", f"learning_rate={job['rate']}", *settings]
    begun = time.time()
    lines = [json.loads(line) for line in machine.run(command).splitlines()]
    shutil.rmtree(out, ignore_errors=True)
    last = lines[-2]
    return {"loss": f"{last['loss']:.6f}" if last["loss"] is not None else "nan",
            "test_loss": f"{last['test_loss']:.6f}" if last["test_loss"] is not None else "nan",
            "error": f"{100 * last['test_error']:.2f}", "seconds": f"{time.time() - begun:.1f}"}


class Queue:
    """Hands out the first missing job that nobody runs; rows are written under one lock."""

    def __init__(self, studies: list[Study], machine: Machine):
        self.studies, self.machine = studies, machine
        self.lock, self.running, self.failed = threading.Lock(), set(), {}

    def next(self) -> tuple[Study, dict] | None:
        with self.lock:
            for study in self.studies:
                for job in study.missing():
                    name = (study.folder.name, *identity(job, study.plan.KEYS))
                    if name not in self.running and self.failed.get(name, 0) < 3:
                        self.running.add(name)
                        return study, job
            return None

    def work(self, slot: int) -> None:
        while True:
            while self.machine.paused():
                time.sleep(2.0)
            found = self.next()
            if found is None:
                if not self.running:
                    return
                time.sleep(2.0)  # an adaptive plan may grow when the others have finished
                continue
            study, job = found
            name = (study.folder.name, *identity(job, study.plan.KEYS))
            try:
                result = getattr(study.plan, "run", train)(self.machine, job, slot)
                row = {k: job[k] for k in study.plan.KEYS} | result
                with self.lock:
                    study.append(job["part"], row)
                print(time.strftime("%H:%M:%S"), *name, result, flush=True)
            except Exception as error:  # a failed run is tried three times, then left and said
                self.failed[name] = self.failed.get(name, 0) + 1
                print(time.strftime("%H:%M:%S"), "FAILED", *name, error, flush=True)
            finally:
                with self.lock:
                    self.running.discard(name)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("studies", nargs="+")
    parser.add_argument("--program", default="collegial")
    parser.add_argument("--data", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--pause", help="a file that halts all work while it exists [default: WORK/PAUSE]")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--count", action="store_true", help="say how many known runs are missing, run nothing")
    options = parser.parse_args()
    studies = [Study(name) for name in options.studies]
    if options.count:
        for study in studies:
            print(f"{study.folder.name}: {len(study.done())} runs done, {len(study.missing())} known to be missing")
        return 0
    queue = Queue(studies, Machine(options))
    workers = [threading.Thread(target=queue.work, args=(slot,)) for slot in range(options.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return 1 if queue.failed else 0


if __name__ == "__main__":
    sys.exit(main())
