// The reading here is coarse on purpose: anything unknown refuses. The exact account of a namespace
// is the verifier's, which shares none of this.
#include "applier/preconditions.hpp"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "applier/exchange.hpp"
#include "applier/flower.hpp"
#include "applier/iptables.hpp"
#include "base/error.hpp"
#include "netlink/message.hpp"
#include "netlink/nft_family.hpp"

namespace vethgate {
namespace {

constexpr const char* kNoCapability =
    "this process lacks CAP_NET_ADMIN in the namespace's user namespace: start it with that "
    "capability, as user 0; nothing was touched";

// `choice`: how a policy may do without, if it may.
[[noreturn]] void lacks(const std::string& mechanism, const std::string& reason,
                        const char* choice = "") {
  throw Failure(ExitCode::kUnsupported,
                "the kernel lacks " + mechanism + ": " + reason + choice + "; nothing was touched");
}

// `read` turned so that the kernel's errors become exit codes.
template <class Read>
auto reading(const char* what, const Read& read) {
  try {
    return read();
  } catch (const KernelError& error) {
    if (error.error() == EPERM) {
      throw Failure(ExitCode::kUnsupported, kNoCapability);
    }
    throw Failure(ExitCode::kUnsupported, std::string(what) + " cannot be read: " + error.what());
  }
}

// The text of one top-level attribute, or nothing when it is absent or no NUL-terminated string.
std::optional<std::string> textAttribute(const RawMessage& message, std::size_t headerBytes,
                                         std::uint16_t type) {
  ByteView rest = ByteView(message).subspan(
      std::min(message.size(), static_cast<std::size_t>(NLMSG_HDRLEN) + NLMSG_ALIGN(headerBytes)));
  while (rest.size() >= sizeof(nlattr)) {
    nlattr attribute{};
    std::memcpy(&attribute, rest.data(), sizeof attribute);
    if (attribute.nla_len < NLA_HDRLEN || attribute.nla_len > rest.size()) {
      return std::nullopt;
    }
    if ((attribute.nla_type & NLA_TYPE_MASK) == type) {
      const ByteView payload = rest.subspan(NLA_HDRLEN, attribute.nla_len - NLA_HDRLEN);
      if (payload.empty() || payload.back() != 0) {
        return std::nullopt;
      }
      return std::string(payload.begin(), payload.end() - 1);
    }
    rest =
        rest.subspan(std::min(rest.size(), static_cast<std::size_t>(NLA_ALIGN(attribute.nla_len))));
  }
  return std::nullopt;
}

RawMessage qdiscDumpRequest() {
  MessageBuilder builder(RTM_GETQDISC, NLM_F_DUMP);
  builder.header(tcmsg{});  // family AF_UNSPEC, every link
  return std::move(builder).finish();
}

RawMessage nfTablesRequest(std::uint16_t message, std::uint16_t flags) {
  MessageBuilder builder(static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | message), flags);
  nfgenmsg header{};
  header.nfgen_family = NFPROTO_UNSPEC;
  header.version = NFNETLINK_V0;
  builder.header(header);
  return std::move(builder).finish();
}

// Absence of nf_tables is EINVAL: nfnetlink knows no such subsystem (nfnetlink_rcv_msg()). Any
// other error says nothing of it.
std::optional<std::string> nfTablesAbsent(Kernel& kernel, const Deadline& deadline) {
  try {
    (void)kernel.query(Channel::kNetfilter, nfTablesRequest(NFT_MSG_GETGEN, 0), deadline);
    return std::nullopt;
  } catch (const KernelError& error) {
    if (error.error() == EPERM) {
      throw Failure(ExitCode::kUnsupported, kNoCapability);
    }
    if (error.error() != EINVAL) {
      throw Failure(ExitCode::kUnsupported,
                    std::string("nf_tables cannot be asked whether it is there: ") + error.what());
    }
    return error.what();
  }
}

void refuseTables(Kernel& kernel, const Deadline& deadline) {
  const auto tables = reading("the list of nf_tables tables", [&] {
    return kernel.dump(Channel::kNetfilter, nfTablesRequest(NFT_MSG_GETTABLE, NLM_F_DUMP),
                       deadline);
  });
  for (const RawMessage& message : tables) {
    if (messageHeader(message).nlmsg_type == NLMSG_DONE) {
      continue;
    }
    nfgenmsg header{};
    const auto name = textAttribute(message, sizeof header, NFTA_TABLE_NAME);
    if (message.size() < NLMSG_HDRLEN + sizeof header || !name) {
      throw Failure(ExitCode::kUntouchable,
                    "the namespace holds an nf_tables table without a name");
    }
    std::memcpy(&header, message.data() + NLMSG_HDRLEN, sizeof header);
    // An engine's own rules for its embedded resolver; what is in it is for the verifier to judge.
    const bool nat = (header.nfgen_family == NFPROTO_IPV4 || header.nfgen_family == NFPROTO_IPV6) &&
                     *name == "nat";
    if (!nat) {
      throw Failure(ExitCode::kUntouchable, "the namespace already holds table " +
                                                nftFamilyName(header.nfgen_family) + " " + *name +
                                                "; a namespace without one is expected");
    }
  }
}

struct ExtensionUse {
  Extension extension;
  const char* name;
  bool (*usedBy)(const IptablesRule& rule);
};

constexpr std::array kExtensionUses{
    ExtensionUse{Extension::kLogTarget, "the LOG target (nft_compat with xt_LOG)",
                 [](const IptablesRule& rule) { return rule.target == Target::kLog; }},
    ExtensionUse{Extension::kIcmpV6Match,
                 "the icmp6 match (nft_compat with xt_tcpudp, or ip6_tables before 6.2)",
                 [](const IptablesRule& rule) { return rule.icmpType.has_value(); }},
    ExtensionUse{Extension::kHopLimitMatch, "the hl match (nft_compat with xt_hl)",
                 [](const IptablesRule& rule) { return rule.hopLimit.has_value(); }},
};

// 0, or the errno of the answer. Not by query(): nft_compat marks its only message as part of a
// dump (nfnl_compat_fill_info() of net/netfilter/nft_compat.c), and no NLMSG_DONE follows.
int askForExtension(Kernel& kernel, RawMessage request, const Deadline& deadline) {
  const std::uint32_t sequence = kernel.nextSequence(Channel::kNetfilter);
  stampMessage(request, sequence, kernel.portId(Channel::kNetfilter));
  if (!kernel.send(Channel::kNetfilter, request)) {
    return ENOBUFS;
  }
  const std::vector<RawMessage> answers = kernel.receive(Channel::kNetfilter, deadline);
  const nlmsghdr header = messageHeader(answers.front());
  if (answers.size() != 1 || header.nlmsg_seq != sequence ||
      header.nlmsg_pid != kernel.portId(Channel::kNetfilter)) {
    throw Failure(ExitCode::kUnsupported,
                  "the kernel answered a query of nft_compat with something else");
  }
  if (header.nlmsg_type == NLMSG_ERROR) {
    return readAcknowledgement(answers.front()).error;
  }
  return header.nlmsg_type == messageHeader(request).nlmsg_type ? 0 : EPROTO;
}

// The x_tables extensions only, which are modules of their own. To rehearse the whole transaction
// (one without its end is checked and thrown away) would find every other mechanism too, but waits
// for an RCU grace period, 12 to 24 ms, where these queries take microseconds; a transaction that
// lacks, say, nft_limit is refused as a whole, and the writer takes the seal back.
void checkExtensions(Kernel& kernel, Family family, const std::vector<IptablesRule>& rules,
                     const Deadline& deadline) {
  for (const ExtensionUse& use : kExtensionUses) {
    if (std::none_of(rules.begin(), rules.end(), use.usedBy)) {
      continue;
    }
    const int error = askForExtension(kernel, extensionQuery(family, use.extension), deadline);
    if (error != 0) {
      lacks(use.name, std::generic_category().message(error));
    }
  }
}

// The errno of a request that cannot succeed.
Refusal provoke(Kernel& kernel, const RawMessage& request, Subject subject, const char* what,
                const Deadline& deadline) {
  Step step{StepKind::kSeal, Channel::kRoute, {}, {}};
  step.append(request, subject);
  step.acknowledgeLast();
  std::vector<Refusal> refusals = exchange(kernel, step, Errors::kAll, deadline);
  if (refusals.empty()) {
    throw Failure(ExitCode::kPartialWrite,
                  std::string("the kernel accepted a malformed request for ") + what +
                      " that was to be refused: destroy the namespace");
  }
  return std::move(refusals.front());
}

}  // namespace

void checkLink(const Link& planned, const Link& measured) {
  const auto differ = [](const char* field, const std::string& expected, const std::string& found) {
    throw Failure(ExitCode::kWrongNamespace, std::string("the plan is for a link with ") + field +
                                                 " " + expected + ", this namespace's has " +
                                                 found);
  };
  const auto number = [](auto value) { return std::to_string(value); };
  if (planned.netns != measured.netns) {
    differ("namespace", number(planned.netns), number(measured.netns));
  }
  if (planned.index != measured.index) {
    differ("index", number(planned.index), number(measured.index));
  }
  if (planned.name != measured.name) {
    differ("name", planned.name, measured.name);
  }
  if (planned.mac != measured.mac) {
    differ("MAC", macText(planned.mac), macText(measured.mac));
  }
  if (planned.peer != measured.peer) {
    differ("peer", number(planned.peer), number(measured.peer));
  }
}

std::optional<std::string> foreignQdisc(Kernel& kernel, const Deadline& deadline) {
  const auto qdiscs = reading("the list of qdiscs", [&] {
    return kernel.dump(Channel::kRoute, qdiscDumpRequest(), deadline);
  });
  for (const RawMessage& message : qdiscs) {
    if (messageHeader(message).nlmsg_type == NLMSG_DONE) {
      continue;
    }
    tcmsg header{};
    if (message.size() < NLMSG_HDRLEN + sizeof header) {
      return "a qdisc that cannot be read";
    }
    std::memcpy(&header, message.data() + NLMSG_HDRLEN, sizeof header);
    const std::string kind = textAttribute(message, sizeof header, TCA_KIND).value_or("of no kind");
    // The two that the kernel itself gives to loopback, veth and links that are down.
    const bool builtIn = kind == "noqueue" || kind == "noop";
    if (!builtIn || header.tcm_parent != TC_H_ROOT || header.tcm_handle != 0) {
      return "qdisc " + kind + " on link " + std::to_string(header.tcm_ifindex);
    }
  }
  return std::nullopt;
}

void refuseLegacyTables(const std::vector<std::string>& names) {
  if (!names.empty()) {
    throw Failure(ExitCode::kUntouchable, "the namespace already holds the legacy iptables table " +
                                              names.front() +
                                              "; a namespace without one is expected");
  }
}

void checkNamespace(Kernel& kernel, const Deadline& deadline) {
  if (const auto found = foreignQdisc(kernel, deadline)) {
    throw Failure(ExitCode::kUntouchable,
                  "the namespace already holds " + *found +
                      "; one with no qdiscs but the kernel's own is expected");
  }
  if (const auto absent = nfTablesAbsent(kernel, deadline)) {
    // Of a plan for flower alone too: no verdict could say that nothing of nf_tables is in the way.
    lacks("nf_tables", *absent);
  }
  refuseTables(kernel, deadline);
}

void checkMechanisms(Kernel& kernel, const Plan& plan, const Deadline& deadline) {
  if (plan.iptables) {
    checkExtensions(kernel, Family::kV4, plan.iptables->v4, deadline);
    checkExtensions(kernel, Family::kV6, plan.iptables->v6, deadline);
  }
  if (!plan.flower) {
    return;
  }
  const Refusal clsact = provoke(kernel, malformedClsact(plan.link.index), Subject::kClsact,
                                 "a clsact qdisc", deadline);
  if (clsact.error == EPERM) {
    throw Failure(ExitCode::kUnsupported, kNoCapability);
  }
  if (clsact.error == ENOENT) {
    lacks("sch_ingress (the clsact qdisc)", clsact.reason(), kWithoutFlower);
  }
  // In a user namespace of its own actions may only be made as a part of filters: EPERM is then no
  // answer, and the guard, whose action is the same, gives it.
  const Refusal gact = provoke(kernel, malformedGact(), Subject::kGuard, "a gact action", deadline);
  if (gact.error == ENOENT) {
    lacks("act_gact (the pass and drop actions)", gact.reason(), kWithoutFlower);
  }
}

}  // namespace vethgate
