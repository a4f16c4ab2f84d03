#!/usr/bin/env bash
# Records the link dumps in this folder: capture.sh LINK-DUMP [XDP-OBJECT] > links-KERNEL.hex
# LINK-DUMP is the program of that name in the build folder; XDP-OBJECT is any program that passes
# (section "xdp"). Run it as root in a VM: tests/live/vm/boot --kernel 6.1 -- …/capture.sh …
# A section a namespace, "## name", holds the dump. A kind of device that the kernel lacks is left out.
set -uo pipefail
dump=$1 xdp=${2:-}

job() { ip -n job "$@"; }
cap() { echo "## $1" && ip netns exec job "$dump"; }
empty() {
  ip netns del job 2>/dev/null
  ip netns del host 2>/dev/null
  ip netns add job && ip netns add host
  job link set lo up
}
# As a container engine leaves it: one end here, the other on the host.
fresh() {
  empty
  ip -n host link add hv index 77 type veth peer name eth0 netns job
  ip -n host link set hv up
  job link set eth0 address 02:42:ac:11:00:02 up
  sleep 0.3
}

mkdir -p /run/netns
for module in veth bridge dummy bonding 8021q macvlan ipvlan tun; do modprobe -q $module; done
echo "# Linux $(uname -r | sed "s,-.*,,"); made by capture.sh"

fresh && cap accepted
job link set eth0 down && cap down
fresh && ip -n host link set hv down && sleep 0.3 && cap no-carrier
fresh && job link add tw0 type veth peer name tw1 && cap pair-inside
empty && job link add eth0 type veth peer name eth1 && job link set eth0 up && cap peer-inside
empty && cap loopback-only
empty && ip -n host link add hv index 2 type veth peer name eth0 netns job index 2 &&
  job link set eth0 up && cap same-index
fresh && job link add br0 type bridge && cap bridge
job link set eth0 master br0 && cap in-bridge
fresh && job link add d0 type dummy && cap dummy
fresh && job link add bond0 type bond && job link set eth0 down && job link set eth0 master bond0 && cap bond
fresh && job link add link eth0 name v5 type vlan id 5 && cap vlan
fresh && job link add link eth0 name mv type macvlan && cap macvlan
fresh && job link add link eth0 name iv type ipvlan && cap ipvlan
fresh && job tuntap add tap0 mode tap && cap tap
fresh && job tuntap add tun0 mode tun && cap tun
fresh && job link property add dev eth0 altname other-name && job link set eth0 alias "some text" && cap names
if [[ $xdp ]]; then
  fresh && job link set dev eth0 xdpgeneric obj "$xdp" sec xdp && cap xdp-generic
  fresh && job link set dev eth0 xdpdrv obj "$xdp" sec xdp && cap xdp-driver
  fresh && job link set dev lo xdpgeneric obj "$xdp" sec xdp && cap xdp-loopback
fi
for module in sit ipip ip_gre ip_vti ip6_vti ip6_tunnel ip6_gre; do modprobe -q $module; done
fresh && [[ $(job link show type sit) ]] && cap fallback &&
  job link set sit0 up && cap fallback-up
ip netns del job && ip netns del host
