"""Long calls: Ctrl-C, and progress."""

import signal
import subprocess
import sys
import time

import pytest

import collegial

LONG = {
    "fit": 'collegial.fit("bottleneck-256", trials=100_000_000)',
    "search": 'collegial.search("resnext29-1x128d", variance="measured", precision=1e-5)',
    "exact search": 'collegial.search("fc6-90000")',
    "ntk": 'collegial.ntk("resnext50-1x64d", count=64, trace=True)',
    "forward": 'collegial.forward("resnext50-1x64d", None, numpy.zeros((400, 3 * 224 * 224), "float32"))',
}


@pytest.mark.parametrize("call", LONG.values(), ids=LONG)
def test_ctrl_c_raises_at_once(call, wait_until_at_work):
    code = f"""
import collegial, numpy, signal, time
# Whoever started the tests in the background of a shell has told them to ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    assert collegial.moments("fc3-100").members == 1
    print("alive", flush=True)
    # The computation itself has ended, not only the call: half a second passes without work.
    deadline = time.monotonic() + 60
    while True:
        before = time.process_time()
        time.sleep(0.5)
        if time.process_time() - before < 0.05:
            break
        assert time.monotonic() < deadline, "it computes on"
    print("idle", flush=True)
"""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    wait_until_at_work(process)
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    # Half a second of grace, and room for a busy machine.
    assert time.monotonic() - start < 10
    assert process.stdout.readline() == "alive\n"
    assert process.stdout.readline() == "idle\n"
    assert process.wait(timeout=60) == 0


def test_progress_is_reported_and_ends_at_the_total():
    seen = []
    collegial.fit("bottleneck-128", [8, 32, 128], trials=4000, progress=lambda done, total: seen.append(done / total))
    assert seen == sorted(seen) and 0 < seen[0] <= seen[-1] == pytest.approx(1.0)


def test_an_error_in_the_callback_ends_the_call():
    def refuse(done, total):
        raise KeyError("enough")

    start = time.monotonic()
    with pytest.raises(KeyError, match="enough"):
        collegial.fit("bottleneck-256", trials=100_000_000, progress=refuse)
    assert time.monotonic() - start < 30


@pytest.mark.parametrize("installed", [True, False])
def test_a_bar_with_and_without_tqdm(installed, capsys, monkeypatch):
    if not installed:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    collegial.fit("bottleneck-128", [8, 32, 128], trials=4000, progress=True)
    said = capsys.readouterr()
    assert said.out == "" and "100" in said.err and "%" in said.err


def test_calls_work_after_a_fork():
    import os

    collegial.fit("bottleneck-16", widths=[1, 8], trials=100)
    child = os.fork()
    if child == 0:
        os._exit(0 if collegial.fit("bottleneck-16", widths=[1, 8], trials=100).trials == 100 else 1)
    deadline = time.monotonic() + 60
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.05)
    assert ended[1] == 0
