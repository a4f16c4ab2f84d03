// A child process in network namespaces of its own, laid out like a container's: one end of a veth
// pair in the namespace that the child ends up in, the other in a namespace that stands for the
// host.
#pragma once

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>

#include "netlink/message.hpp"
#include "netlink/socket.hpp"
#include "tests/offline/netlink/wire.hpp"

namespace vethgate::scratch {

inline constexpr int kLived = 42;
inline constexpr unsigned kChildSeconds = 30;  // SIGALRM kills a child that hangs

inline void require(bool condition, const char* what) {
  if (!condition) {
    throw std::runtime_error(what);
  }
}

// A new network namespace, for a test run without root too: in a user namespace of one's own then.
inline void enterNewNamespace() {
  if (const uid_t user = geteuid(); user != 0) {
    require(unshare(CLONE_NEWUSER) == 0, "no user namespace");
    std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
    require(geteuid() == 0, "not root of the user namespace");
  }
  require(unshare(CLONE_NEWNET) == 0, "no network namespace");
}

// Sends one rtnetlink request and requires its acknowledgement.
inline void change(MessageBuilder& builder) {
  NetlinkSocket socket(NETLINK_ROUTE);
  RawMessage request = std::move(builder).finish();
  stampMessage(request, socket.nextSequence(), socket.portId());
  require(socket.sendDatagram(request), "no memory");
  const auto answer = socket.receive(Deadline::after(std::chrono::seconds(5)));
  const Acknowledgement acknowledgement = readAcknowledgement(answer.at(0));
  if (acknowledgement.error != 0) {
    throwKernelError(acknowledgement, "preparing the namespace");
  }
}

inline void setUp(int index) {
  MessageBuilder builder(RTM_NEWLINK, NLM_F_ACK);
  ifinfomsg header{};
  header.ifi_index = index;
  header.ifi_flags = IFF_UP;
  header.ifi_change = IFF_UP;
  builder.header(header);
  change(builder);
}

inline constexpr int kIndex = 5;
inline constexpr int kPeer = 9;

// Leaves the child in the job's namespace, with "eth0" (kIndex) there and its peer (kPeer)
// elsewhere.
inline void becomeAJob() {
  enterNewNamespace();
  // Stays open across an exec: without a process in it, this descriptor alone keeps the namespace.
  const int host = open("/proc/self/ns/net", O_RDONLY);  // NOLINT(android-cloexec-open)
  require(host >= 0, "no namespace to name");
  require(unshare(CLONE_NEWNET) == 0, "no second network namespace");
  MessageBuilder builder(RTM_NEWLINK, NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
  ifinfomsg own{};
  own.ifi_index = kIndex;
  builder.header(own);
  builder.putString(IFLA_IFNAME, "eth0");
  {
    const auto info = builder.nest(IFLA_LINKINFO);
    builder.putString(IFLA_INFO_KIND, "veth");
    const auto data = builder.nest(IFLA_INFO_DATA);
    // The peer's ifinfomsg stands in the attribute, before the peer's own attributes.
    ifinfomsg peer{};
    peer.ifi_index = kPeer;
    builder.put(VETH_INFO_PEER,
                wire::join({wire::raw(peer), wire::attribute(IFLA_IFNAME, wire::text("host0")),
                            wire::attribute(IFLA_NET_NS_FD, wire::raw(host))}));
  }
  change(builder);
  setUp(1);
  setUp(kIndex);
}

// The wait status of a child that runs `body`; it exits with kLived when `body` returns.
inline int inChild(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kChildSeconds);
    try {
      body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "child: %s\n", error.what());
      _exit(1);
    }
    _exit(kLived);
  }
  int status = 0;
  require(waitpid(child, &status, 0) == child, "the child is lost");
  return status;
}

inline bool lived(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == kLived; }

}  // namespace vethgate::scratch
