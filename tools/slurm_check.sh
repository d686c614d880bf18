#!/usr/bin/env bash
# Runs a small sweep on a real Slurm of one node, kills one of its jobs on the way, and compares the bytes with those of one process.
#
# Needs root and Debian's slurmctld, slurmd, slurm-client and munge; starts them for itself, in a directory that is removed again, and
# stops them. Usage: tools/slurm_check.sh [PATH OF collegial]
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

sweep=("$program" sweep fc3-24 fc3-3x8 --data "$here/data" --epochs 60 --runs 2 --set batch=20 --threads 1 --quiet)
"${sweep[@]}" --out "$here/whole" --json > "$here/whole.json"
"${sweep[@]}" --plan "$here/plan" > "$here/plan.txt"
cd "$here"
array=$(COLLEGIAL=$program sbatch --parsable --output="$here/job-%a.txt" "$here/plan/array.sbatch")

# One job is killed when it has its first checkpoint, and requeued.
for _ in $(seq 600); do
    first=$(ls -d "$here"/plan/parts/*.run/checkpoint-* 2> /dev/null | head -1 || true)
    [ -n "$first" ] && break
    sleep 0.1
done
[ -n "$first" ] || { echo "no job began" >&2; exit 1; }
element=$(squeue --noheader --states=R --format=%K | head -1)
scontrol requeue "${array}_$element"
echo "requeued element $element of the array"

for _ in $(seq 600); do
    [ -z "$(squeue --noheader --format=%A)" ] && break
    sleep 0.5
done
"$program" status "$here/plan" --once
"$program" gather "$here/plan" --quiet > /dev/null
cmp "$here/whole.json" "$here/plan/sweep.json"
echo "4 jobs of a Slurm array, one of them killed and requeued: the bytes of one process"
