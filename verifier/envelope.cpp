// Checks of message headers, dump by dump; see envelope.hpp.
#include "verifier/envelope.hpp"

#include <arpa/inet.h>
#include <linux/if_link.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "netlink/reader.hpp"
#include "verifier/nft_tables.hpp"

namespace vethgate {
namespace {

constexpr std::uint16_t nftType(std::uint16_t message) {
  return static_cast<std::uint16_t>((NFNL_SUBSYS_NFTABLES << 8) | message);
}

// What the kernel puts around the messages of one dump.
struct Shape {
  DumpId id;
  bool nft;     // NETLINK_NETFILTER; otherwise NETLINK_ROUTE
  bool single;  // one message without NLMSG_DONE
  std::uint16_t type;
  std::uint16_t flags;
  std::size_t fixed;  // size of the header behind nlmsghdr
};

constexpr std::array<Shape, kDumpCount> kShapes = {{
    {DumpId::kLinks, false, false, RTM_NEWLINK, NLM_F_MULTI, sizeof(ifinfomsg)},
    {DumpId::kQdiscs, false, false, RTM_NEWQDISC, NLM_F_MULTI, sizeof(tcmsg)},
    {DumpId::kFiltersEgress, false, false, RTM_NEWTFILTER, NLM_F_MULTI, sizeof(tcmsg)},
    {DumpId::kFiltersIngress, false, false, RTM_NEWTFILTER, NLM_F_MULTI, sizeof(tcmsg)},
    {DumpId::kChainsEgress, false, false, RTM_NEWCHAIN, NLM_F_MULTI, sizeof(tcmsg)},
    {DumpId::kChainsIngress, false, false, RTM_NEWCHAIN, NLM_F_MULTI, sizeof(tcmsg)},
    {DumpId::kNftGenerationBefore, true, true, nftType(NFT_MSG_NEWGEN), 0, sizeof(nfgenmsg)},
    {DumpId::kNftTables, true, false, nftType(NFT_MSG_NEWTABLE), NLM_F_MULTI, sizeof(nfgenmsg)},
    {DumpId::kNftChains, true, false, nftType(NFT_MSG_NEWCHAIN), NLM_F_MULTI, sizeof(nfgenmsg)},
    // The dumps of rules, objects and flowtables add NLM_F_APPEND (nf_tables_dump_rules() and
    // its siblings), those of tables, chains and sets do not.
    {DumpId::kNftRules, true, false, nftType(NFT_MSG_NEWRULE), NLM_F_MULTI | NLM_F_APPEND,
     sizeof(nfgenmsg)},
    {DumpId::kNftSets, true, false, nftType(NFT_MSG_NEWSET), NLM_F_MULTI, sizeof(nfgenmsg)},
    {DumpId::kNftElements, true, false, nftType(NFT_MSG_NEWSETELEM), NLM_F_MULTI, sizeof(nfgenmsg)},
    {DumpId::kNftObjects, true, false, nftType(NFT_MSG_NEWOBJ), NLM_F_MULTI | NLM_F_APPEND,
     sizeof(nfgenmsg)},
    {DumpId::kNftFlowtables, true, false, nftType(NFT_MSG_NEWFLOWTABLE), NLM_F_MULTI | NLM_F_APPEND,
     sizeof(nfgenmsg)},
    {DumpId::kNftGenerationAfter, true, true, nftType(NFT_MSG_NEWGEN), 0, sizeof(nfgenmsg)},
    {DumpId::kLinksAgain, false, false, RTM_NEWLINK, NLM_F_MULTI, sizeof(ifinfomsg)},
    {DumpId::kQdiscsAgain, false, false, RTM_NEWQDISC, NLM_F_MULTI, sizeof(tcmsg)},
    {DumpId::kFiltersEgressAgain, false, false, RTM_NEWTFILTER, NLM_F_MULTI, sizeof(tcmsg)},
    {DumpId::kFiltersIngressAgain, false, false, RTM_NEWTFILTER, NLM_F_MULTI, sizeof(tcmsg)},
    {DumpId::kChainsEgressAgain, false, false, RTM_NEWCHAIN, NLM_F_MULTI, sizeof(tcmsg)},
    {DumpId::kChainsIngressAgain, false, false, RTM_NEWCHAIN, NLM_F_MULTI, sizeof(tcmsg)},
}};

nlmsghdr headerOf(const RawMessage& message) {
  nlmsghdr header{};
  std::memcpy(&header, message.data(), sizeof header);
  return header;
}

std::string found(std::uint64_t value, std::uint64_t expected) {
  return " is " + std::to_string(value) + ", expected " + std::to_string(expected);
}

// The first thing wrong with the dump, if any. `port` is what the socket's earlier dumps carried.
std::optional<std::string> problemOf(const Shape& shape, std::span<const RawMessage> dump,
                                     std::optional<std::uint32_t>& port) {
  if (dump.empty()) {
    return shape.single ? "is empty" : "is empty, without NLMSG_DONE";
  }
  if (shape.single && dump.size() != 1) {
    return "holds " + std::to_string(dump.size()) + " messages, expected 1";
  }
  std::optional<std::uint32_t> sequence;
  for (std::size_t i = 0; i < dump.size(); ++i) {
    const std::string place = "message " + std::to_string(i);
    if (dump[i].size() < sizeof(nlmsghdr)) {
      return place + " is shorter than a message header";
    }
    const nlmsghdr header = headerOf(dump[i]);
    if (header.nlmsg_len != dump[i].size()) {
      return place + ": nlmsg_len" + found(header.nlmsg_len, dump[i].size());
    }
    if (header.nlmsg_seq != sequence.value_or(header.nlmsg_seq)) {
      return place + ": nlmsg_seq" + found(header.nlmsg_seq, *sequence);
    }
    sequence = header.nlmsg_seq;
    if (header.nlmsg_pid == 0 || header.nlmsg_pid != port.value_or(header.nlmsg_pid)) {
      return place + ": nlmsg_pid" + found(header.nlmsg_pid, port.value_or(1));
    }
    port = header.nlmsg_pid;
    if ((header.nlmsg_flags & NLM_F_DUMP_INTR) != 0) {
      return place + " says that the dump was interrupted";
    }
    const bool last = i + 1 == dump.size();
    if (!shape.single && last) {
      if (header.nlmsg_type != NLMSG_DONE) {
        return "does not end with NLMSG_DONE but with a message of type " +
               std::to_string(header.nlmsg_type);
      }
      if (header.nlmsg_flags != NLM_F_MULTI) {
        return place + ": nlmsg_flags of NLMSG_DONE" + found(header.nlmsg_flags, NLM_F_MULTI);
      }
      int error = 0;
      if (dump[i].size() != sizeof(nlmsghdr) + sizeof error) {
        return place + ": the size of NLMSG_DONE" +
               found(dump[i].size(), sizeof(nlmsghdr) + sizeof error);
      }
      std::memcpy(&error, dump[i].data() + sizeof(nlmsghdr), sizeof error);
      if (error != 0) {
        return "ends with the error " + std::to_string(error);
      }
      continue;
    }
    if (header.nlmsg_type != shape.type) {
      return place + ": nlmsg_type" + found(header.nlmsg_type, shape.type);
    }
    if (header.nlmsg_flags != shape.flags) {
      return place + ": nlmsg_flags" + found(header.nlmsg_flags, shape.flags);
    }
    if (dump[i].size() < sizeof(nlmsghdr) + shape.fixed) {
      return place + " is cut off within its fixed header";
    }
    if (shape.nft && fixedHeader<nfgenmsg>(dump[i]).version != NFNETLINK_V0) {
      return place + ": the nfnetlink version" +
             found(fixedHeader<nfgenmsg>(dump[i]).version, NFNETLINK_V0);
    }
  }
  return std::nullopt;
}

// The answers in a dump: all of it, but for nft.elements, each of whose ends with NLMSG_DONE.
std::vector<std::span<const RawMessage>> answersOf(const Shape& shape,
                                                   const std::vector<RawMessage>& dump) {
  if (shape.id != DumpId::kNftElements) {
    return {std::span(dump)};
  }
  std::vector<std::span<const RawMessage>> answers;
  std::span<const RawMessage> rest(dump);
  while (!rest.empty()) {
    const auto end = std::find_if(rest.begin(), rest.end(), isEnd);
    const auto size = static_cast<std::size_t>(end - rest.begin()) + (end == rest.end() ? 0 : 1);
    answers.push_back(rest.first(size));
    rest = rest.subspan(size);
  }
  return answers;
}

std::optional<std::string> problemOfAll(const Shape& shape, const std::vector<RawMessage>& dump,
                                        std::optional<std::uint32_t>& port) {
  for (const auto answer : answersOf(shape, dump)) {
    if (auto problem = problemOf(shape, answer, port)) {
      return problem;
    }
  }
  return std::nullopt;
}

// Whether a document may lack this dump: nft.elements when the plan has no set, a second reading
// when there is none of anything.
bool mayLack(const Capture& capture, DumpId id) {
  return id == DumpId::kNftElements || (id >= DumpId::kLinksAgain && !hasSecondReading(capture));
}

std::uint32_t generationOf(const Capture& capture, DumpId id) {
  const RawMessage& message = capture.dump(id)->front();
  if (fixedHeader<nfgenmsg>(message).nfgen_family != AF_UNSPEC) {
    throw Failure(ExitCode::kRefused,
                  std::string(dumpName(id)) + ": the family of NFT_MSG_NEWGEN is not AF_UNSPEC");
  }
  AttributeReader reader(nft::kGeneration, attributesOf<nfgenmsg>(message), "NFT_MSG_NEWGEN");
  const std::uint32_t generation = reader.u32(NFTA_GEN_ID);
  reader.discard(NFTA_GEN_PROC_PID, "names the process that asked: the reader itself");
  reader.discard(NFTA_GEN_PROC_NAME, "names the process that asked: the reader itself");
  reader.finish();
  return generation;
}

}  // namespace

bool isEnd(const RawMessage& message) {
  return message.size() >= sizeof(nlmsghdr) && headerOf(message).nlmsg_type == NLMSG_DONE;
}

bool hasSecondReading(const Capture& capture) {
  return std::any_of(capture.dumps.begin() + static_cast<std::ptrdiff_t>(DumpId::kLinksAgain),
                     capture.dumps.end(), [](const auto& dump) { return dump.has_value(); });
}

std::span<const RawMessage> messagesOf(const Capture& capture, DumpId id) {
  if (!capture.dump(id)) {
    return {};  // one that may be missing
  }
  const auto& dump = *capture.dump(id);
  const bool single = kShapes[static_cast<std::size_t>(id)].single || dump.empty();
  return std::span(dump).first(dump.size() - (single ? 0 : 1));
}

bool sequencesFollow(const Capture& capture) {
  std::array<std::optional<std::uint32_t>, 2> previous;  // by protocol
  return std::all_of(kShapes.begin(), kShapes.end(), [&](const Shape& shape) {
    auto& before = previous[shape.nft ? 1 : 0];
    const auto& dump = capture.dump(shape.id);
    if (!dump) {
      return true;  // one that may be missing
    }
    const auto answers = answersOf(shape, *dump);
    return std::all_of(answers.begin(), answers.end(), [&before](const auto& answer) {
      const std::uint32_t sequence = headerOf(answer.front()).nlmsg_seq;
      const bool follows = !before || sequence == *before + 1;
      before = sequence;
      return follows;
    });
  });
}

bool sameGeneration(const Capture& capture) {
  const std::uint32_t before = generationOf(capture, DumpId::kNftGenerationBefore);
  if (generationOf(capture, DumpId::kNftGenerationAfter) != before) {
    return false;
  }
  const std::uint16_t mark = htons(static_cast<std::uint16_t>(before));
  return std::all_of(kShapes.begin(), kShapes.end(), [&](const Shape& shape) {
    const auto messages = messagesOf(capture, shape.id);
    return !shape.nft || std::all_of(messages.begin(), messages.end(), [mark](const auto& message) {
      return isEnd(message) || fixedHeader<nfgenmsg>(message).res_id == mark;
    });
  });
}

void checkEnvelopes(const Capture& capture, Findings& findings) {
  const std::size_t before = findings.count();
  std::array<std::optional<std::uint32_t>, 2> ports;  // by protocol
  for (const Shape& shape : kShapes) {
    const auto& dump = capture.dump(shape.id);
    if (!dump && mayLack(capture, shape.id)) {
      continue;
    }
    const auto problem = dump ? problemOfAll(shape, *dump, ports[shape.nft ? 1 : 0])
                              : std::optional<std::string>("is missing");
    if (problem) {
      findings.add("dump " + std::string(dumpName(shape.id)) + ": " + *problem);
    }
  }
  if (findings.count() != before) {
    return;
  }
  try {
    if (!sameGeneration(capture)) {
      findings.add("the nf_tables ruleset changed while it was read: its generations differ");
    }
  } catch (const Failure& failure) {
    findings.add(failure.what());
  }
}

}  // namespace vethgate
