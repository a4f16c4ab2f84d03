# Names that prepare and boot share. Sourced, never run.
# shellcheck shell=bash disable=SC2034
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$(realpath -m "${VETHGATE_CACHE:-/var/cache/vethgate}")/vm
suite=bookworm # the target: its stock kernel, its iptables-nft, its runsc
kernels=(6.1 6.12)

die() {
  local code=$1
  shift
  printf '%s\n' "$*" >&2
  exit "$code"
}
