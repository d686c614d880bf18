#!/usr/bin/env python3
"""Bad luck for an hour: trainings, jobs and pages are killed, cut short and corrupted, and must end with the same bits.

    cargo build --release && python3 tools/soak.py --minutes 60 --kills 1000

Each round does one piece of work to its end through a dozen faults, then compares the result with an undisturbed one.
Every refusal must be one sentence with exit code 2, every damaged file must be noticed, and no temporary file may stay.
Every other round runs on a full disk of 1.5 MB, where one may be mounted (root); elsewhere file sizes are limited.
Which faults are drawn depends on the seed; the moment of a kill depends on the machine.
"""

import argparse
import collections
import json
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
#: Two members of two convolutions with batch norms.
NETWORK = """kind = "sequence"
name = "small"
input = { channels = 1, height = 8, width = 8 }
members = 2
layers = [
    { type = "conv", width = 6, kernel = 3, norm = "batch", activation = "relu" },
    { type = "conv", width = 5, kernel = 3, stride = 2, norm = "batch", activation = "relu" },
    { type = "global-average-pool" },
    { type = "dense", width = 10 },
]
"""


class Wrong(Exception):
    """What the program did and should not have done."""


def write_inputs(place):
    """A network, and 8x8 images in MNIST's files: noise, with a bright bar where the class says."""
    (place / "small.toml").write_text(NETWORK)
    for name, count in [("train", 400), ("t10k", 100)]:
        noise, pixels = random.Random(name), bytearray()
        for index in range(count):
            pixels += bytes(noise.randrange(128) + 120 * (row == index % 10) for row in range(8) for _ in range(8))
        (place / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, count, 8, 8) + pixels)
        labels = bytes(index % 10 for index in range(count))
        (place / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, count) + labels)


class Work:
    """A command that is given again until it succeeds; `DATA` and `OUT` in it stand for directories."""

    def __init__(self, name, line, result, before=None, after=None, kills_only=False):
        self.name, self.line, self.result, self.before, self.after = name, line, result, before, after
        #: Of works that keep nothing between two commands.
        self.kills_only = kills_only

    def words(self, line, out):
        return [str(PROGRAM), *(word.replace("DATA", str(INPUTS)).replace("OUT", str(out)) for word in line.split()), "--quiet"]

    def command(self, out):
        return [*self.words(self.line, out), "--threads", "1"]

    def prepare(self, out):
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        if self.before:
            succeed(self.words(self.before, out))

    def finish(self, out):
        succeed(self.command(out))
        if self.after:
            succeed(self.words(self.after, out))

    def undisturbed(self, out):
        """Remembers what comes of it, and how long it takes."""
        self.prepare(out)
        start = time.monotonic()
        self.finish(out)
        self.seconds, self.expected = time.monotonic() - start, self.result(out)


def succeed(words):
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Wrong(f"`{' '.join(words[1:])}` ended with {done.returncode}: {done.stderr.strip()}")


def newest_checkpoint(out):
    numbered = [path for path in out.glob("checkpoint-*") if path.name.split("-")[1].isdigit()]
    return max(numbered, key=lambda path: int(path.name.split("-")[1]), default=None)


def trained(out):
    """Names of files, tensors, and epochs without durations.

    Headers and the checkpoint's name count the saves, which faults change; every start writes an event file of its own.
    """
    newest = newest_checkpoint(out)
    names = ("checkpoint" if path == newest else path.name for path in out.iterdir() if ".tfevents." not in path.name)
    found = {"files": sorted(names)}
    for name in ["model.safetensors", "training.safetensors"]:
        content = (newest / name).read_bytes()
        found[name] = content[8 + struct.unpack("<Q", content[:8])[0] :]
    epochs = [json.loads(line) for line in (out / "epochs.jsonl").read_text().splitlines()]
    durations = {"seconds", "images_per_second", "waited"}
    found["epochs"] = [{key: value for key, value in epoch.items() if key not in durations} for epoch in epochs]
    return found


def gathered(out):
    return {name: (out / name).read_bytes() for name in ["sweep.json", "sweep.csv"]}


def files(out):
    """Every file but temporary ones and the cache of finished parts, which keep durations."""
    paths = [path for path in out.rglob("*") if path.is_file() and "parts" not in path.parts and ".collegial-" not in path.name]
    return {str(path.relative_to(out)): path.read_bytes() for path in paths}


WORKS = [
    Work("training", "train DATA/small.toml --data DATA --epochs 8 --set batch=20 --set learning_rate=0.01 --save-every 2"
         " --seed 5 --resume --out OUT", trained),
    Work("jobs of a plan", "job OUT 0-3", gathered, after="gather OUT",
         before="sweep DATA/small.toml fc3-8 --data DATA --epochs 4 --runs 2 --set batch=20 --seconds-per-step 0.001 --plan OUT"),
    Work("a share of a fit", "fit bottleneck-32 --trials 100000 --shard 2/3 --out OUT/share.json", files, kills_only=True),
    Work("pages of a figure", "reproduce fig3 --scale smoke --out OUT/pages", files, kills_only=True),
]  # fmt: skip


class Faults:
    """Draws faults, lets them happen, and counts those that hit."""

    def __init__(self, seed, small):
        self.chance, self.small, self.tally = random.Random(seed), small, collections.Counter()
        #: Kills wait at most this share of a work's time; it falls when a process ended before it could be killed.
        self.pace = 0.3

    def strike(self, work, out):
        usual = ["kill"] * 5 + ["SIGTERM", "flipped bit", "cut file"] + ["full disk" if self.small in out.parents else "file limit"] * 2
        fault = "kill" if work.kills_only else self.chance.choice(usual)
        act = {"kill": self.signalled, "SIGTERM": self.signalled, "full disk": self.full_disk, "file limit": self.file_limit}
        if act.get(fault, self.damaged)(fault, work, out):
            self.tally[fault] += 1

    def signalled(self, fault, work, out):
        child = subprocess.Popen(work.command(out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(self.chance.random() * self.pace * work.seconds)
        child.send_signal(signal.SIGKILL if fault == "kill" else signal.SIGTERM)
        try:
            code = child.wait(60)
        except subprocess.TimeoutExpired:
            child.kill()
            raise Wrong(f"{work.name} did not end a minute after {fault}") from None
        self.pace = min(1.1 * self.pace, 0.5) if code else max(0.5 * self.pace, 0.01)
        if code not in {0, -signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGTERM}:
            raise Wrong(f"{work.name} ended with exit code {code} on {fault}")
        return code != 0

    def refused(self, work, out, words, **options):
        """Whether the program refused to go on, in one sentence with these words; it may succeed."""
        done = subprocess.run(work.command(out), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)
        said = done.stderr.strip()
        if done.returncode == 0 or (done.returncode == 2 and "\n" not in said and words in said):
            return done.returncode == 2
        raise Wrong(f"{work.name} ended with exit code {done.returncode} and said: {said}")

    def file_limit(self, _, work, out):
        """A checkpoint has two files of 10 kB."""
        most = self.chance.randrange(512, 12_288)

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

        return self.refused(work, out, "cannot write", preexec_fn=limit)

    def full_disk(self, _, work, out):
        ballast = self.small / "ballast"
        ballast.write_bytes(bytes(max(0, shutil.disk_usage(self.small).free - 4096 * self.chance.randrange(12))))
        try:
            return self.refused(work, out, "No space left on device")
        finally:
            ballast.unlink()

    def damaged(self, fault, work, out):
        """Changes a file of the newest checkpoint, which must be refused, and puts it right again."""
        if not (newest := newest_checkpoint(out)):
            return False
        path = newest / self.chance.choice(["model.safetensors", "training.safetensors"])
        whole = path.read_bytes()
        at = self.chance.randrange(len(whole))
        flipped = bytes([whole[at] ^ 1 << self.chance.randrange(8)]) + whole[at + 1 :]
        path.write_bytes(whole[:at] + (flipped if fault == "flipped bit" else b""))
        if not self.refused(work, out, path.name):
            raise Wrong(f"a change of byte {at} of {path} was not noticed")
        path.write_bytes(whole)
        return True


def round_of(work, out, faults):
    work.prepare(out)
    for _ in range(faults.chance.randrange(2, 14)):
        faults.strike(work, out)
    work.finish(out)
    found, expected = work.result(out), work.expected
    if other := [name for name in {**expected, **found} if found.get(name) != expected.get(name)]:
        raise Wrong(f"{work.name} ended with other bits in {', '.join(other)}")
    left = [path.name for path in out.iterdir() if path.name.startswith(".collegial-") or path.name == ".saving"]
    if left and not work.kills_only:  # Elsewhere a temporary file is only removed once it is old.
        raise Wrong(f"{work.name} left {', '.join(left)}")
    faults.tally[f"{work.name}: finished with the same bits"] += 1


def soak(options, place):
    small = place / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1536k", "collegial-soak", small]
    mounted = subprocess.run(mount, capture_output=True).returncode == 0
    if not mounted:
        print("soak: no file system may be mounted; file sizes are limited instead", file=sys.stderr)
    faults, start, rounds = Faults(options.seed, small), time.monotonic(), 0
    try:
        for index, work in enumerate(WORKS):
            work.undisturbed(place / f"undisturbed-{index}")
        while time.monotonic() - start < 60 * options.minutes or faults.tally["kill"] < options.kills:
            # Trainings, alone and as jobs, have most to lose.
            for work in WORKS if rounds % 4 == 0 else WORKS[:2]:
                disk = small if mounted and rounds % 2 == 1 and not work.kills_only else place
                round_of(work, disk / "work", faults)
            rounds += 1
    finally:
        if mounted:
            subprocess.run(["umount", small], check=True)
    print(f"{(time.monotonic() - start) / 60:.1f} minutes: {dict(faults.tally)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--kills", type=int, default=1000, help="go on until so many processes were killed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target" / "release" / "collegial")
    parsed = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that the small disk is unmounted.
    PROGRAM = parsed.program.resolve()
    PLACE = pathlib.Path(tempfile.mkdtemp(prefix="collegial-soak-"))
    INPUTS = PLACE / "inputs"
    INPUTS.mkdir()
    write_inputs(INPUTS)
    try:
        soak(parsed, PLACE)
    except Wrong as wrong:
        sys.exit(f"soak: {wrong}; see {PLACE}")
    shutil.rmtree(PLACE)
