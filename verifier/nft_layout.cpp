// Checks of tables, chains, sets, objects and flowtables; see nft_layout.hpp.
#include "verifier/nft_layout.hpp"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "verifier/envelope.hpp"
#include "verifier/nft_tables.hpp"

namespace vethgate::nft {
namespace {

std::string printable(std::string_view text) {
  std::string result(text.substr(0, 64));
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c <= 0x20 || c > 0x7e; }, '?');
  return result;
}

std::string familyText(std::uint8_t family) {
  switch (family) {
    case NFPROTO_INET:
      return "inet";
    case NFPROTO_IPV4:
      return "ip";
    case NFPROTO_ARP:
      return "arp";
    case NFPROTO_NETDEV:
      return "netdev";
    case NFPROTO_BRIDGE:
      return "bridge";
    case NFPROTO_IPV6:
      return "ip6";
    default:
      return "family " + std::to_string(family);
  }
}

// The name of an object that is refused whatever else it holds. Lenient on purpose: it only has to
// be found, and the message is refused in any case.
std::string_view peekName(ByteView attributes, std::uint16_t type) {
  while (attributes.size() >= sizeof(nlattr)) {
    nlattr header{};
    std::memcpy(&header, attributes.data(), sizeof header);
    if (header.nla_len < sizeof header || header.nla_len > attributes.size()) {
      break;
    }
    if ((header.nla_type & NLA_TYPE_MASK) == type && header.nla_len > sizeof header + 1) {
      return {reinterpret_cast<const char*>(attributes.data()) + sizeof header,
              header.nla_len - sizeof header - 1};
    }
    attributes =
        attributes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), attributes.size()));
  }
  return "?";
}

void expectU32(AttributeReader& reader, std::uint16_t type, std::uint32_t expected) {
  const std::uint32_t value = reader.u32(type);
  if (value != expected) {
    reader.refuse(type, "is " + std::to_string(value) + ", expected " + std::to_string(expected));
  }
}

class Layout {
 public:
  Layout(const Capture& capture, bool expected, Findings& findings)
      : capture_(capture), expected_(expected), findings_(findings) {}

  void checkTables() {
    bool seen[2] = {};
    forEach(DumpId::kNftTables, [&](std::uint8_t family, ByteView attributes) {
      AttributeReader reader(kTable, attributes, "NFT_MSG_NEWTABLE");
      const std::string_view name = reader.string(NFTA_TABLE_NAME);
      const std::string text = tableText(family, name);
      bool& here = seen[family == NFPROTO_IPV4 ? 0 : 1];
      if (!expected_ || !isIp(family) || name != kTableName || here) {
        reader.refuse(text + " is there, expected none");
      }
      here = true;
      expectU32(reader, NFTA_TABLE_FLAGS, 0);
      expectU32(reader, NFTA_TABLE_USE, 1);  // the chain
      reader.discard(NFTA_TABLE_HANDLE, "names the table for deletion; no packet meets it");
      reader.finish();
    });
    requireBoth(DumpId::kNftTables, seen, "table ip filter", "table ip6 filter");
  }

  void checkChains(const RuleCounts& counts, bool counted) {
    bool seen[2] = {};
    forEach(DumpId::kNftChains, [&](std::uint8_t family, ByteView attributes) {
      AttributeReader reader(kChain, attributes, "NFT_MSG_NEWCHAIN");
      const std::string_view table = reader.string(NFTA_CHAIN_TABLE);
      const std::string_view name = reader.string(NFTA_CHAIN_NAME);
      bool& here = seen[family == NFPROTO_IPV4 ? 0 : 1];
      if (!expected_ || !isIp(family) || table != kTableName || name != kChainName || here) {
        reader.refuse(std::string(reader.has(NFTA_CHAIN_HOOK) ? "base " : "") +
                      chainText(family, table, name) + " is there, expected none");
      }
      here = true;
      checkChain(reader, family == NFPROTO_IPV4 ? counts.v4 : counts.v6, counted);
    });
    requireBoth(DumpId::kNftChains, seen, "chain OUTPUT of table ip filter",
                "chain OUTPUT of table ip6 filter");
  }

  // Sets, objects and flowtables: a plan has none, so that one message is one reason.
  void checkNone(DumpId id, const char* what, std::uint16_t tableType, std::uint16_t nameType) {
    forEach(id, [&](std::uint8_t family, ByteView attributes) {
      throw Failure(ExitCode::kRefused, std::string(what) + " " +
                                            printable(peekName(attributes, nameType)) + " of " +
                                            tableText(family, peekName(attributes, tableType)) +
                                            " is there, expected none");
    });
  }

 private:
  template <class Visit>
  void forEach(DumpId id, const Visit& visit) {
    for (const RawMessage& message : messagesOf(capture_, id)) {
      try {
        visit(fixedHeader<nfgenmsg>(message).nfgen_family, attributesOf<nfgenmsg>(message));
      } catch (const Failure& failure) {
        findings_.add(std::string(dumpName(id)) + ": " + failure.what());
      }
    }
  }

  static bool isIp(std::uint8_t family) { return family == NFPROTO_IPV4 || family == NFPROTO_IPV6; }

  void requireBoth(DumpId id, const bool (&seen)[2], const char* v4, const char* v6) {
    if (expected_ && !seen[0]) {
      findings_.add(std::string(dumpName(id)) + ": " + v4 + " is missing");
    }
    if (expected_ && !seen[1]) {
      findings_.add(std::string(dumpName(id)) + ": " + v6 + " is missing");
    }
  }

  static void checkChain(AttributeReader& reader, std::size_t rules, bool counted) {
    AttributeReader hook = reader.nested(NFTA_CHAIN_HOOK);
    expectU32(hook, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
    expectU32(hook, NFTA_HOOK_PRIORITY, 0);
    hook.finish();
    expectU32(reader, NFTA_CHAIN_POLICY, NF_ACCEPT);
    expectU32(reader, NFTA_CHAIN_FLAGS, NFT_CHAIN_BASE);
    const std::string_view type = reader.string(NFTA_CHAIN_TYPE);
    if (type != "filter") {
      reader.refuse(NFTA_CHAIN_TYPE, "is \"" + printable(type) + "\", expected filter");
    }
    // Each rule of the chain is one use; a jump to it from elsewhere would be one more.
    const std::uint32_t uses = reader.u32(NFTA_CHAIN_USE);
    if (counted && uses != rules) {
      reader.refuse(NFTA_CHAIN_USE, "is " + std::to_string(uses) + ", expected " +
                                        std::to_string(rules) + ", the rules that were read");
    }
    reader.discard(NFTA_CHAIN_HANDLE, "names the chain for deletion; no packet meets it");
    // What reached the policy; iptables-nft-restore adds it on demand.
    if (auto counters = reader.maybeNested(NFTA_CHAIN_COUNTERS)) {
      counters->discard(NFTA_COUNTER_BYTES, "grows with traffic");
      counters->discard(NFTA_COUNTER_PACKETS, "grows with traffic");
      counters->finish();
    }
    reader.finish();
  }

  const Capture& capture_;
  bool expected_;
  Findings& findings_;
};

}  // namespace

std::string tableText(std::uint8_t family, std::string_view table) {
  return "table " + familyText(family) + " " + printable(table);
}

std::string chainText(std::uint8_t family, std::string_view table, std::string_view chain) {
  return "chain " + printable(chain) + " of " + tableText(family, table);
}

void checkLayout(const Capture& capture, bool expected, const RuleCounts& counts, bool counted,
                 Findings& findings) {
  Layout layout(capture, expected, findings);
  layout.checkTables();
  layout.checkChains(counts, counted);
  layout.checkNone(DumpId::kNftSets, "set", NFTA_SET_TABLE, NFTA_SET_NAME);
  layout.checkNone(DumpId::kNftObjects, "object", NFTA_OBJ_TABLE, NFTA_OBJ_NAME);
  layout.checkNone(DumpId::kNftFlowtables, "flowtable", NFTA_FLOWTABLE_TABLE, NFTA_FLOWTABLE_NAME);
}

}  // namespace vethgate::nft
