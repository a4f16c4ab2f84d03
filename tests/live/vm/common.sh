# Names that prepare and boot share. Sourced, never run.
# shellcheck shell=bash disable=SC2034
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$(realpath -m "${VETHGATE_CACHE:-/var/cache/vethgate}")/vm
suite=bookworm # the target: its stock kernel, its iptables-nft, its runsc
declare -A kernel_suites=([6.1]=$suite [6.12]=$suite-backports)
busybox=$cache/busybox/bin/busybox
runsc_bookworm=$cache/runsc-bookworm/usr/bin/runsc
runsc_backports=$cache/runsc-backports/usr/bin/runsc
# Container engines, one tree of /usr and /etc for each release whose packages they are.
engines=$cache/engines
newer_suite=trixie

die() {
  local code=$1
  shift
  printf '%s\n' "$*" >&2
  exit "$code"
}
