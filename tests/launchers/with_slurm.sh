#!/usr/bin/env bash
# with_slurm.sh COMMAND...: starts a Slurm of one node with four GPUs in a folder of its own, runs the command, and stops
# Slurm. The GPUs are device nodes without a driver. Skipped, with exit code 77, where Slurm is absent or this is not
# root; fails, with the logs, where Slurm does not start.
set -euo pipefail
skip() { echo "skipped: $*"; exit 77; }
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd srun sinfo setpriv; do
  command -v "$program" >/dev/null || skip "there is no $program"
done
[ "$(id -u)" -eq 0 ] || skip "a Slurm of one's own takes root"

folder=$(mktemp -d /tmp/cuenv_slurm.XXXXXX)
daemons=()
stop() {
  trap - EXIT
  # In the reverse order of their start; a daemon that does not end in 5 s is killed.
  for ((i = ${#daemons[@]} - 1; i >= 0; --i)); do
    kill "${daemons[i]}" 2>/dev/null || continue
    for _ in {1..50}; do kill -0 "${daemons[i]}" 2>/dev/null || break; sleep 0.1; done
    kill -KILL "${daemons[i]}" 2>/dev/null || true
    wait "${daemons[i]}" 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap stop EXIT
trap 'exit 143' TERM INT HUP
fail() {
  echo "FAILED: $*"
  tail -n 20 "$folder"/*.log 2>/dev/null
  exit 1
}
# A daemon in the foreground, which dies with this script whatever ends it.
start() {
  setpriv --pdeathsig KILL "$@" >>"$folder/daemons.log" 2>&1 &
  daemons+=($!)
}
# Returns when the command succeeds; fails when a daemon has ended, or after a minute.
wait_for() {
  for _ in {1..300}; do
    if "$@" >/dev/null 2>&1; then return; fi
    for pid in "${daemons[@]}"; do kill -0 "$pid" 2>/dev/null || fail "a daemon of Slurm has ended"; done
    sleep 0.2
  done
  fail "Slurm is not ready after a minute: $*"
}
free_port() {
  local port
  while true; do
    port=$((20000 + RANDOM % 10000))
    if ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then echo "$port"; return; fi
  done
}

chmod 755 "$folder"
mkdir -m 700 "$folder/munge" "$folder/state" "$folder/spool"
mkdir -m 755 "$folder/socket" "$folder/dev"
for i in 0 1 2 3; do
  mknod "$folder/dev/nvidia$i" c 195 "$i" 2>/dev/null || skip "device nodes cannot be made here"
done
(umask 077; head -c 1024 /dev/urandom >"$folder/munge/key")
host=$(hostname -s)
cat >"$folder/slurm.conf" <<CONF
ClusterName=cuenv
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
AuthType=auth/munge
AuthInfo=socket=$folder/socket/munge
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 Gres=gpu:4 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES State=UP
CONF
echo "NodeName=$host Name=gpu File=$folder/dev/nvidia[0-3]" >"$folder/gres.conf"
export SLURM_CONF=$folder/slurm.conf

start munged --foreground --force --key-file="$folder/munge/key" --socket="$folder/socket/munge" \
  --pid-file="$folder/munge/pid" --log-file="$folder/munged.log" --seed-file="$folder/munge/seed"
wait_for test -S "$folder/socket/munge"
start slurmctld -D -f "$SLURM_CONF"
start slurmd -D -f "$SLURM_CONF"
idle() { sinfo --noheader --format=%t | grep -qx idle; }
wait_for idle

code=0
timeout 120 "$@" || code=$?
[ "$code" -ne 124 ] || fail "not done after two minutes: $*"
exit "$code"
