// The requests of a capture and the order they are sent in; see collect.hpp.
#include "verifier/collect.hpp"

#include <linux/bpf.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <utility>

#include "base/error.hpp"
#include "netlink/message.hpp"
#include "netlink/socket.hpp"
#include "probe/namespace.hpp"
#include "verifier/envelope.hpp"
#include "verifier/nft_layout.hpp"
#include "verifier/programs.hpp"

namespace vethgate {
namespace {

constexpr std::uint32_t kEgress = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_EGRESS);
constexpr std::uint32_t kIngress = TC_H_MAKE(TC_H_CLSACT, TC_H_MIN_INGRESS);

RawMessage trafficControlRequest(std::uint16_t type, std::uint32_t link, std::uint32_t parent) {
  MessageBuilder builder(type, NLM_F_DUMP);
  tcmsg header{};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = static_cast<int>(link);
  header.tcm_parent = parent;
  builder.header(header);
  if (type == RTM_GETQDISC) {
    // Without it the kernel leaves out the qdiscs that it made by itself below others.
    builder.putFlag(TCA_DUMP_INVISIBLE);
  }
  return std::move(builder).finish();
}

// AF_UNSPEC: the objects of every family.
RawMessage nftRequest(std::uint16_t message, std::uint16_t flags) {
  MessageBuilder builder(static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message), flags);
  builder.header(nfgenmsg{AF_UNSPEC, NFNETLINK_V0, 0});
  return std::move(builder).finish();
}

RawMessage elementsRequest(const std::string& set) {
  MessageBuilder builder(
      static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | NFT_MSG_GETSETELEM), NLM_F_DUMP);
  builder.header(nfgenmsg{NFPROTO_NETDEV, NFNETLINK_V0, 0});
  builder.putString(NFTA_SET_ELEM_LIST_TABLE, nft::kNetdevTable);
  builder.putString(NFTA_SET_ELEM_LIST_SET, set);
  return std::move(builder).finish();
}

// Whether the kernel knows no such request: nfnetlink says EINVAL of a subsystem that is not there
// (nfnetlink_rcv_msg()), rtnetlink EOPNOTSUPP of a message type (rtnetlink_rcv_msg()).
bool isLack(int error) {
  return error == EINVAL || error == EOPNOTSUPP || error == EPROTONOSUPPORT;
}

// Runs one step of the collection and says what a kernel's refusal of it means.
template <class Step>
auto asking(DumpId id, const Step& step) {
  try {
    return step();
  } catch (const KernelError& error) {
    const std::string what = "dump " + std::string(dumpName(id)) + ": " + error.what();
    if (error.error() == EPERM || error.error() == EACCES) {
      throw Failure(ExitCode::kUnsupported, what + "; CAP_NET_ADMIN is needed");
    }
    if (isLack(error.error())) {
      throw Failure(ExitCode::kUnsupported, what + "; this kernel lacks the mechanism");
    }
    throw Failure(ExitCode::kRefused, what + "; what is there is not known");
  }
}

// Tells whether links, qdiscs, filters or chains changed since it was made: unlike nf_tables,
// traffic control marks neither generations nor interrupted dumps.
class ChangeWatch {
 public:
  ChangeWatch() : socket_(NETLINK_ROUTE) {
    socket_.joinGroup(RTNLGRP_LINK);
    socket_.joinGroup(RTNLGRP_TC);
  }
  [[nodiscard]] bool changed() const {
    pollfd waiting{socket_.fd(), POLLIN, 0};
    return poll(&waiting, 1, 0) != 0;  // an error of the socket or of poll(2) counts as a change
  }

 private:
  NetlinkSocket socket_;
};

// Links, and what traffic control has on them; `again`: the second reading.
void collectRoute(NetlinkSocket& socket, Capture& capture, std::uint32_t job, bool again,
                  const Deadline& deadline) {
  const auto place = [again](DumpId id) { return again ? againOf(id) : id; };
  capture.dump(place(DumpId::kLinks)) =
      asking(DumpId::kLinks, [&] { return dumpLinks(socket, deadline); });
  const auto ask = [&](DumpId id, std::uint16_t type, std::uint32_t link, std::uint32_t parent) {
    capture.dump(place(id)) = asking(
        id, [&] { return dump(socket, trafficControlRequest(type, link, parent), deadline); });
  };
  ask(DumpId::kQdiscs, RTM_GETQDISC, 0, 0);
  ask(DumpId::kFiltersEgress, RTM_GETTFILTER, job, kEgress);
  ask(DumpId::kFiltersIngress, RTM_GETTFILTER, job, kIngress);
  ask(DumpId::kChainsEgress, RTM_GETCHAIN, job, kEgress);
  ask(DumpId::kChainsIngress, RTM_GETCHAIN, job, kIngress);
}

// Returns whether every set is there.
bool collectElements(NetlinkSocket& socket, Capture& capture, const std::vector<std::string>& sets,
                     const Deadline& deadline) {
  auto& elements = capture.dump(DumpId::kNftElements).emplace();
  for (const std::string& set : sets) {
    try {
      auto answer = dump(socket, elementsRequest(set), deadline);
      std::move(answer.begin(), answer.end(), std::back_inserter(elements));
    } catch (const KernelError& error) {
      if (error.error() == ENOENT) {
        return false;
      }
      asking(DumpId::kNftElements, [&error]() -> void { throw error; });
    }
  }
  return true;
}

// Returns whether the answers must follow each other: a question about a set that is not there
// leaves a gap.
bool collectNft(Capture& capture, const std::vector<std::string>& sets, const Deadline& deadline) {
  NetlinkSocket socket(NETLINK_NETFILTER);
  const auto generation = [&](DumpId id) {
    capture.dump(id) = std::vector<RawMessage>{
        asking(id, [&] { return query(socket, nftRequest(NFT_MSG_GETGEN, 0), deadline); })};
  };
  const auto ask = [&](DumpId id, std::uint16_t message) {
    capture.dump(id) =
        asking(id, [&] { return dump(socket, nftRequest(message, NLM_F_DUMP), deadline); });
  };
  generation(DumpId::kNftGenerationBefore);
  ask(DumpId::kNftTables, NFT_MSG_GETTABLE);
  ask(DumpId::kNftChains, NFT_MSG_GETCHAIN);
  ask(DumpId::kNftRules, NFT_MSG_GETRULE);
  ask(DumpId::kNftSets, NFT_MSG_GETSET);
  const bool whole = collectElements(socket, capture, sets, deadline);
  ask(DumpId::kNftObjects, NFT_MSG_GETOBJ);
  ask(DumpId::kNftFlowtables, NFT_MSG_GETFLOWTABLE);
  generation(DumpId::kNftGenerationAfter);
  return whole;
}

// The two generation messages, bytes only: everything behind the message header is the same.
bool generationHeld(const Capture& capture) {
  const RawMessage& before = capture.dump(DumpId::kNftGenerationBefore)->front();
  const RawMessage& after = capture.dump(DumpId::kNftGenerationAfter)->front();
  return std::equal(before.begin() + sizeof(nlmsghdr), before.end(),
                    after.begin() + sizeof(nlmsghdr), after.end());
}

// BPF_PROG_QUERY's part of union bpf_attr as Linux 6.6 has it (include/uapi/linux/bpf.h): a hook of
// a device goes by its index, and the kernel writes to `revision` whatever size it is told.
struct ProgramQuery {
  std::uint32_t link;
  std::uint32_t attachType;
  std::uint32_t queryFlags;
  std::uint32_t attachFlags;
  std::uint64_t programs;  // no list is asked for, only their number
  std::uint32_t count;
  std::uint32_t padding;
  std::uint64_t programFlags;
  std::uint64_t links;
  std::uint64_t linkFlags;
  std::uint64_t revision;
};
static_assert(sizeof(ProgramQuery) == 64);
constexpr std::uint32_t kTcxIngress = 46;  // BPF_TCX_INGRESS
constexpr std::uint32_t kTcxEgress = 47;   // BPF_TCX_EGRESS

ProgramAnswer askProgram(std::uint32_t link, ProgramHook hook) {
  ProgramQuery query{};
  query.link = link;
  query.attachType = hook == ProgramHook::kTcxIngress ? kTcxIngress : kTcxEgress;
  const bool answered = syscall(SYS_bpf, BPF_PROG_QUERY, &query, sizeof query) == 0;
  return {link, hook, answered ? 0U : static_cast<std::uint32_t>(errno),
          answered ? query.count : 0U};
}

std::vector<ProgramAnswer> askPrograms(std::uint32_t job) {
  std::vector<ProgramAnswer> answers;
  for (const std::uint32_t link : {kLoopbackIndex, job}) {
    for (const ProgramHook hook : {ProgramHook::kTcxIngress, ProgramHook::kTcxEgress}) {
      answers.push_back(askProgram(link, hook));
    }
  }
  return answers;
}

std::string kernelRelease() {
  utsname name{};
  if (uname(&name) != 0) {
    throw Failure(ExitCode::kDefect, "the kernel's release cannot be read");
  }
  return name.release;  // NOLINT(cppcoreguidelines-pro-bounds-array-to-pointer-decay)
}

}  // namespace

Surroundings::Surroundings() : kernel(kernelRelease()), netns(currentNamespace()) {}

Reading readNamespace(std::uint32_t job, const std::vector<std::string>& sets,
                      const Surroundings& surroundings, const Deadline& deadline) {
  const ChangeWatch watch;
  Reading reading;
  Capture& capture = reading.capture;
  capture.kernel = surroundings.kernel;
  capture.netns = surroundings.netns;
  NetlinkSocket route(NETLINK_ROUTE);
  collectRoute(route, capture, job, false, deadline);
  const bool whole = collectNft(capture, sets, deadline);
  capture.legacy = surroundings.legacy.names();
  capture.programs = askPrograms(job);
  collectRoute(route, capture, job, true, deadline);
  reading.still =
      !watch.changed() && generationHeld(capture) && (!whole || sequencesFollow(capture));
  return reading;
}

Capture collect(std::uint32_t job, const std::vector<std::string>& sets,
                const Surroundings& surroundings, const Deadline& deadline) {
  for (int attempt = 0; attempt < kCollectAttempts; ++attempt) {
    Reading reading = readNamespace(job, sets, surroundings, deadline);
    if (reading.still) {
      return std::move(reading.capture);
    }
  }
  throw Failure(ExitCode::kRefused, "the namespace changed while it was read, " +
                                        std::to_string(kCollectAttempts) + " times in a row");
}

}  // namespace vethgate
