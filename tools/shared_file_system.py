"""What saturates first on a shared file system when jobs of a plan run on many workers, and at how many.

    python3 tools/shared_file_system.py [--program target/release/collegial]

Counts by strace what a job asks of the file system, in the plan's and in the data's directory, and what a checkpoint adds (from
trainings of one and of five epochs). Then a closed queueing network, solved exactly by mean value analysis: every worker computes,
then waits for each of the file system's stations in turn, and begins again. The rates of the stations are assumptions (RATES); say
your own by --metadata, --syncs, --read and --write.
"""

import argparse
import json
import pathlib
import re
import struct
import subprocess
import tempfile

#: What a file server of moderate size does a second: names looked up, opened, made, renamed and removed; files forced to disk;
#: bytes read and written.
RATES = {"metadata": 5_000.0, "syncs": 1_000.0, "read": 1e9, "write": 5e8}

#: Calls that a client sends to the server that keeps names.
METADATA = {
    "open", "openat", "creat", "stat", "lstat", "statx", "newfstatat", "access", "faccessat2", "readlink", "readlinkat", "mkdir", "mkdirat",
    "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "getdents64", "flock", "ftruncate",
}  # fmt: skip
SYNCS = {"fsync", "fdatasync"}

#: Bytes of a checkpoint per parameter: the network, and one moment of SGD.
CHECKPOINT_BYTES = 8

#: Seconds between two checkpoints of a job at least.
APART = 20

#: Jobs of the plan whose file every job reads.
JOBS = 25_000

WORK = [
    # (what, seconds of computing, epochs, bytes of the data set, jobs that find it in memory, parameters)
    ("Table 1, a ResNeXt-29 on CIFAR-10, 300 epochs at 50 GFLOP/s: 44 days a job", 3.8e6, 300, 180e6, 1, 13.8e6),
    ("the same a hundred times as fast", 3.8e4, 300, 180e6, 1, 13.8e6),
    ("25,000 small networks on CIFAR-10, 10 epochs, 10 minutes each, data read by every job", 600.0, 10, 180e6, 1, 3e5),
    ("the same, 25 jobs after each other with the data in the host's memory", 600.0, 10, 180e6, 25, 3e5),
    ("the same, a minute each", 60.0, 10, 180e6, 25, 3e5),
    ("the same, a minute each, data read by every job", 60.0, 10, 180e6, 1, 3e5),
]


def write_data(root, train, test):
    root.mkdir()
    for name, count in (("train", train), ("t10k", test)):
        pixels = bytes((37 * place + 11 * place // 784) % 251 for place in range(count * 784))
        (root / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 28, 28) + pixels)
        (root / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + bytes(index % 10 for index in range(count)))


def job(program, root, runs):
    """Calls and bytes of one job of a plan of so many, as if all others were finished."""
    plan = root / f"plan-{runs}"
    words = ["sweep", "fc2-4", "--data", root / "data", "--epochs", 1, "--runs", runs, "--set", "batch=100"]
    words += ["--seconds-per-step", "0.001", "--plan", plan, "--quiet"]
    subprocess.run([program, *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    for index in range(runs):
        (plan / "parts" / f"other-{index:016x}.json").touch()
    return traced([program, "job", str(plan), "1", "--threads", "1", "--quiet"], root)


def training(program, root, epochs):
    """Calls and bytes of a training that saves a checkpoint after every epoch."""
    words = ["train", "fc2-4", "--data", root / "data", "--epochs", epochs, "--set", "batch=100", "--threads", 1, "--quiet"]
    return traced([program, *map(str, words), "--out", str(root / f"run-{epochs}")], root)


def traced(command, root):
    """Calls and bytes of a command under a directory."""
    trace = root / "trace"
    calls = "trace=%file,read,pread64,write,pwrite64,fsync,fdatasync,getdents64,flock,ftruncate"
    subprocess.run(["strace", "-f", "-y", "-qq", "-o", str(trace), "-e", calls, *command], check=True, stdout=subprocess.DEVNULL)
    found = {"metadata": 0, "syncs": 0, "read": 0, "write": 0}
    for line in trace.read_text(errors="replace").splitlines():
        call = re.match(r"\d+\s+(\w+)\((.*)\)\s+= (-?\d+)", line)
        if call is None or str(root) not in call[2]:
            continue
        name, result = call[1], max(int(call[3]), 0)
        if name in METADATA:
            found["metadata"] += 1
        elif name in SYNCS:
            found["syncs"] += 1
        else:
            found["read" if "read" in name else "write"] += result
    return found


def most_workers(think, demands, efficiency):
    """The most workers of whom each still does this share of what it does alone."""
    alone, limit = think + sum(demands.values()), 1 << 20
    lengths, number = dict.fromkeys(demands, 0.0), 0
    while number < limit:
        number += 1
        waits = {station: demand * (1 + lengths[station]) for station, demand in demands.items()}
        time = think + sum(waits.values())
        if alone / time < efficiency:
            return number - 1
        lengths = {station: number / time * wait for station, wait in waits.items()}
    return limit


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="target/release/collegial")
    for name, rate in RATES.items():
        parser.add_argument(f"--{name}", type=float, default=rate)
    options = vars(parser.parse_args())
    program = str(pathlib.Path(options.pop("program")).resolve())
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        write_data(root / "data", 400, 100)
        size = sum(path.stat().st_size for path in (root / "data").iterdir())
        one, many = job(program, root, 10), job(program, root, 1010)
        checkpoint, five = training(program, root, 1), training(program, root, 5)
    checkpoint = {name: (five[name] - checkpoint[name]) / 4 for name in five}
    further = {name: (many[name] - one[name]) / 1000 for name in one}
    print(f"a job of one epoch: {one['metadata']} names, {one['syncs']} syncs, the data set read {one['read'] / size:.2f} times")
    print(f"a checkpoint more: {checkpoint['metadata']:.1f} names, {checkpoint['syncs']:.1f} syncs")
    print(f"a thousand jobs more in the plan: {1000 * further['metadata']:.0f} names, {1000 * further['read']:.0f} bytes read")
    print("assumed:", json.dumps(options))
    for what, seconds, epochs, data, sharing, parameters in WORK:
        saves = min(epochs, seconds / APART)
        demands = {
            "metadata": (one["metadata"] + JOBS * further["metadata"] + saves * checkpoint["metadata"]) / options["metadata"],
            "syncs": (one["syncs"] + saves * checkpoint["syncs"]) / options["syncs"],
            "read": (data / sharing + JOBS * further["read"]) / options["read"],
            "write": (saves + 1) * CHECKPOINT_BYTES * parameters / options["write"],
        }
        first = max(demands, key=demands.get)
        saturated = (seconds + sum(demands.values())) / demands[first]
        print(f"{what}:")
        print("   seconds of each station per job: " + ", ".join(f"{name} {demand:.3f}" for name, demand in demands.items()))
        print(f"   {first} saturates first, at {saturated:.0f} workers; up to {most_workers(seconds, demands, 0.9)} workers lose less than 10 %")


if __name__ == "__main__":
    main()
