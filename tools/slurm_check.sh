#!/usr/bin/env bash
# Runs a small sweep on a real Slurm of one node. On the way one of its jobs is killed and requeued, and then the node is lost: slurmd
# and all that it runs get SIGKILL, and it comes back later. Slurm must have run both jobs again (Restarts), and the results must
# have the bytes of one process.
#
# Needs root and Debian's slurm-wlm and munge; starts them for itself, in a directory that is removed again, and stops them. Takes
# about four minutes, most of them Slurm's own waiting before a requeued job. Usage: tools/slurm_check.sh [PATH OF collegial]
set -euo pipefail
program=$(realpath "${1:-target/release/collegial}")
here=$(mktemp -d)
host=$(hostname)
stop() {
    status=$?
    if [ "$status" -ne 0 ]; then tail -n 20 "$here"/*.log >&2 || true; fi
    pkill -F "$here/slurmd.pid" 2> /dev/null || true
    pkill -F "$here/slurmctld.pid" 2> /dev/null || true
    pkill -F "$here/munged.pid" 2> /dev/null || true
    sleep 1
    rm -rf "$here"
    exit "$status"
}
trap stop EXIT

# Authentication: a key of our own.
chmod 755 "$here"
dd if=/dev/urandom of="$here/munge.key" bs=1024 count=1 status=none
chmod 600 "$here/munge.key"
munged --key-file "$here/munge.key" --socket "$here/munge.socket" --pid-file "$here/munged.pid" --log-file "$here/munged.log" \
    --seed-file "$here/munge.seed" --force

cat > "$here/slurm.conf" << CONF
ClusterName=collegial
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$here/munge.socket
CredType=cred/munge
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobRequeue=1
SlurmdTimeout=10
ReturnToService=2
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$here/state
SlurmdSpoolDir=$here/spool
SlurmctldPidFile=$here/slurmctld.pid
SlurmdPidFile=$here/slurmd.pid
SlurmctldLogFile=$here/slurmctld.log
SlurmdLogFile=$here/slurmd.log
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF="$here/slurm.conf"
mkdir "$here/state" "$here/spool"
slurmctld
slurmd

# Noise in MNIST's files.
python3 - "$here/data" << 'PY'
import os, random, struct, sys
root = sys.argv[1]
os.mkdir(root)
random.seed(0)
for name, count in (("train", 200), ("t10k", 60)):
    with open(f"{root}/{name}-images-idx3-ubyte", "wb") as file:
        file.write(struct.pack(">IIII", 0x803, count, 28, 28) + random.randbytes(count * 784))
    with open(f"{root}/{name}-labels-idx1-ubyte", "wb") as file:
        file.write(struct.pack(">II", 0x801, count) + bytes(index % 10 for index in range(count)))
PY

sweep=("$program" sweep fc3-24 fc3-3x8 --data "$here/data" --epochs 300 --runs 2 --set batch=20 --threads 1 --quiet)
echo "$(slurmctld -V), $(munged --version | head -1), $("$program" --version)"
"${sweep[@]}" --out "$here/whole" --json > "$here/whole.json"
"${sweep[@]}" --plan "$here/plan" > "$here/plan.txt"
cd "$here"
array=$(COLLEGIAL=$program sbatch --parsable --output="$here/job-%a.txt" "$here/plan/array.sbatch")

# Waits for a checkpoint of an element of the array that runs, and prints its number.
running() {
    for _ in $(seq 3000); do
        for element in $(squeue --noheader --states=R --format=%K); do
            part=$(python3 -c "import json, sys; print(json.load(open(sys.argv[1]))['jobs'][int(sys.argv[2])]['part'])" \
                "$here/plan/plan.json" "$element")
            if ls "$here/plan/parts/$part.run"/checkpoint-* > /dev/null 2>&1; then echo "$element"; return; fi
        done
        sleep 0.05
    done
    echo "no job began" >&2
    exit 1
}
restarts() { scontrol show job "${array}_$1" | grep -o 'Restarts=[0-9]*'; }

first=$(running)
scontrol requeue "${array}_$first"
echo "element $first of the array: killed and requeued"

second=$(running)
# The jobs, and what Slurm has above each.
lost=$(for job in $(pgrep -f "job $here/plan"); do echo "$job" "$(ps -o ppid= -p "$job")"; done)
pkill -KILL -F "$here/slurmd.pid"
# shellcheck disable=SC2086
kill -KILL $lost 2> /dev/null || true
for _ in $(seq 120); do
    sinfo --noheader --format=%T | grep -q down && break
    sleep 0.5
done
echo "element $second of the array: its node is $(sinfo --noheader --format=%T)"
slurmd

for _ in $(seq 600); do
    [ -z "$(squeue --noheader --format=%A)" ] && break
    sleep 0.5
done
for element in "$first" "$second"; do
    echo "element $element: $(restarts "$element")"
    [ "$(restarts "$element")" != Restarts=0 ] || { echo "Slurm did not run it again" >&2; exit 1; }
done
"$program" status "$here/plan" --once
"$program" gather "$here/plan" --quiet > /dev/null
cmp "$here/whole.json" "$here/plan/sweep.json"
echo "4 jobs of a Slurm array, one killed and requeued, one lost with its node: the bytes of one process"
