#!/usr/bin/env bash
# Runs docs/operations/rushgate.service under a systemd of its own, which is process 1 of new namespaces
# and has a copy of this system's root (an overlay in memory: nothing is kept). Checks that the service
# gets ready, lives longer than WatchdogSec, is restarted when it hangs, and stops. Needs root.
#   run_unit.sh <the rushgate program>
set -euo pipefail

project="$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)"
watchdog_seconds=4  # instead of 30

# ---- In the new system, as a service ----

if [[ "$1" == --drive ]]; then
  exec > /result/log 2>&1
  unit() { systemctl show rushgate --value -p "$1"; }
  expect() { [[ "$2" == "$3" ]] || { echo "$1: $2 instead of $3"; exit 1; }; }
  is_ready() { expect readyz "$(curl -s -m 5 http://127.0.0.1:8080/readyz)" '{"status":"ready"}'; }
  drive() {
    systemctl start rushgate  # returns when it has sent READY=1
    is_ready
    pid="$(unit MainPID)"
    sleep $((3 * watchdog_seconds))
    expect 'restarts of a service that works' "$(unit NRestarts)" 0
    kill -STOP "$pid"
    sleep $((3 * watchdog_seconds))
    expect 'restarts of one that hangs' "$(unit NRestarts)" 1
    is_ready
    systemctl stop rushgate
    expect 'state after the stop' "$(unit ActiveState) $(unit Result) $(unit ExecMainStatus)" 'inactive success 0'
    echo passed
  }
  drive || journalctl -u rushgate --no-pager | tail -30
  exec systemctl --force --force poweroff > /dev/null 2>&1
fi

# ---- In new namespaces: make the system, and become its systemd ----

if [[ "$1" == --boot ]]; then
  program="$2" result="$3"
  base="$(mktemp -d)"
  mount --make-rprivate /
  mount -t tmpfs overlay "$base"
  mkdir "$base/upper" "$base/work" "$base/root"
  root="$base/root"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$base/upper,workdir=$base/work" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  mount -t tmpfs run "$root/run"
  mount -t tmpfs tmp "$root/tmp"
  mkdir "$root/result"
  mount --bind "$result" "$root/result"
  ip link set lo up

  # As docs/operations.md says.
  install "$program" "$root/usr/local/bin/rushgate"
  chroot "$root" useradd --system --home-dir /var/lib/rushgate rushgate
  chroot "$root" install -d -o rushgate -m 750 /etc/rushgate
  head -c 32 /dev/urandom | base64 > "$root/etc/rushgate/token"
  chroot "$root" chown rushgate /etc/rushgate/token
  chmod 400 "$root/etc/rushgate/token"
  units="$root/etc/systemd/system"
  rm -rf "$units"/*.wants "$root/etc/fstab"  # this system's own services
  sed "s/^WatchdogSec=.*/WatchdogSec=$watchdog_seconds/" \
    "$project/docs/operations/rushgate.service" > "$units/rushgate.service"
  install "${BASH_SOURCE[0]}" "$root/usr/local/bin/drive"
  printf '[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart=/usr/local/bin/drive --drive\n' \
    > "$units/drive.service"
  exec chroot "$root" env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    /lib/systemd/systemd --system --unit=drive.service --log-target=null
fi

result="$(mktemp -d)"
trap 'rm -rf "$result"' EXIT
# The end of the system ends the namespaces.
timeout 120 unshare --mount --pid --fork --uts --ipc --cgroup --net --kill-child \
  bash "${BASH_SOURCE[0]}" --boot "$(realpath "$1")" "$result" || true
cat "$result/log"
[[ "$(tail -n 1 "$result/log")" == passed ]]
