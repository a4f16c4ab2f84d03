// Checks of tables, chains, sets, objects and flowtables; see nft_layout.hpp.
#include "verifier/nft_layout.hpp"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.hpp"
#include "netlink/nft_family.hpp"
#include "verifier/envelope.hpp"
#include "verifier/expect.hpp"
#include "verifier/nft_tables.hpp"

namespace vethgate::nft {
namespace {

// Where each chain is and what hooks it.
struct Place {
  ChainId id;
  std::uint8_t family;
  std::string_view table;
  std::string_view chain;
  std::uint32_t hook;
  std::uint32_t policy;
};
constexpr std::array<Place, kChainCount> kPlaces = {{
    {ChainId::kV4, NFPROTO_IPV4, "filter", "OUTPUT", NF_INET_LOCAL_OUT, NF_ACCEPT},
    {ChainId::kV6, NFPROTO_IPV6, "filter", "OUTPUT", NF_INET_LOCAL_OUT, NF_ACCEPT},
    {ChainId::kNetdev, NFPROTO_NETDEV, kNetdevTable, "egress", NF_NETDEV_EGRESS, NF_DROP},
}};

bool isExpected(const Expected& expected, const Place& place) {
  return place.id == ChainId::kNetdev ? expected.netdev() : expected.iptables;
}

// The expected place of this table; nullptr when it is none.
const Place* placeOf(const Expected& expected, std::uint8_t family, std::string_view table) {
  const auto* place = std::find_if(kPlaces.begin(), kPlaces.end(), [&](const Place& candidate) {
    return isExpected(expected, candidate) && candidate.family == family &&
           candidate.table == table;
  });
  return place == kPlaces.end() ? nullptr : place;
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

class Layout {
 public:
  Layout(const Capture& capture, const Expected& expected, EngineTable& engine, Findings& findings)
      : capture_(capture), expected_(expected), engine_(engine), findings_(findings) {}

  void checkTables(std::size_t sets) {
    std::array<bool, kChainCount> seen{};
    forEach(DumpId::kNftTables, [&](std::uint8_t family, ByteView attributes) {
      AttributeReader reader(kTable, attributes, "NFT_MSG_NEWTABLE");
      const std::string_view name = reader.string(NFTA_TABLE_NAME);
      if (EngineTable::owns(family, name)) {
        engine_.readTable(reader);
        return;
      }
      const Place* place = placeOf(expected_, family, name);
      if (place == nullptr || std::exchange(seen.at(indexOf(*place)), true)) {
        reader.refuse(tableText(family, name) + " is there, expected none");
      }
      expectU32(reader, NFTA_TABLE_FLAGS, 0);
      // The chain, and each set.
      const std::size_t uses = place->id == ChainId::kNetdev ? 1 + sets : 1;
      expectU32(reader, NFTA_TABLE_USE, static_cast<std::uint32_t>(uses));
      reader.discard(NFTA_TABLE_HANDLE, "names the table for deletion; no packet meets it");
      reader.finish();
    });
    requireAll(DumpId::kNftTables, seen,
               [](const Place& place) { return tableText(place.family, place.table); });
  }

  void checkChains(const Counts& counts, bool counted) {
    std::array<bool, kChainCount> seen{};
    forEach(DumpId::kNftChains, [&](std::uint8_t family, ByteView attributes) {
      AttributeReader reader(kChain, attributes, "NFT_MSG_NEWCHAIN");
      const std::string_view table = reader.string(NFTA_CHAIN_TABLE);
      const std::string_view name = reader.string(NFTA_CHAIN_NAME);
      if (EngineTable::owns(family, table)) {
        engine_.readChain(reader, name);
        return;
      }
      const Place* place = placeOf(expected_, family, table);
      if (place == nullptr || name != place->chain ||
          std::exchange(seen.at(indexOf(*place)), true)) {
        reader.refuse(std::string(reader.has(NFTA_CHAIN_HOOK) ? "base " : "") +
                      chainText(family, table, name) + " is there, expected none");
      }
      checkChain(reader, *place, counts.rules.at(indexOf(*place)), counted);
    });
    requireAll(DumpId::kNftChains, seen, [](const Place& place) {
      return chainText(place.family, place.table, place.chain);
    });
  }

  // Objects and flowtables: a plan has none, so that one message is one reason.
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

  static std::size_t indexOf(const Place& place) { return static_cast<std::size_t>(place.id); }

  template <class Name>
  void requireAll(DumpId id, const std::array<bool, kChainCount>& seen, const Name& name) {
    for (const Place& place : kPlaces) {
      if (isExpected(expected_, place) && !seen.at(indexOf(place))) {
        findings_.add(std::string(dumpName(id)) + ": " + name(place) + " is missing");
      }
    }
  }

  void checkHook(AttributeReader hook, const Place& place) const {
    expectU32(hook, NFTA_HOOK_HOOKNUM, place.hook);
    expectU32(hook, NFTA_HOOK_PRIORITY, 0);
    if (place.id == ChainId::kNetdev) {
      // The kernel names a single device twice.
      checkDevice(hook, NFTA_HOOK_DEV);
      AttributeReader devices = hook.nested(NFTA_HOOK_DEVS);
      checkDevice(devices, NFTA_DEVICE_NAME);
      devices.finish();
    }
    hook.finish();
  }

  void checkDevice(AttributeReader& reader, std::uint16_t type) const {
    const std::string_view name = reader.string(type);
    if (name != expected_.device) {
      reader.refuse(type, "is \"" + printable(name) + "\", expected " + *expected_.device);
    }
  }

  void checkChain(AttributeReader& reader, const Place& place, std::size_t rules,
                  bool counted) const {
    checkHook(reader.nested(NFTA_CHAIN_HOOK), place);
    expectU32(reader, NFTA_CHAIN_POLICY, place.policy);
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
  const Expected& expected_;
  EngineTable& engine_;
  Findings& findings_;
};

}  // namespace

std::string printable(std::string_view text) {
  std::string result(text.substr(0, 64));
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c <= 0x20 || c > 0x7e; }, '?');
  return result;
}

std::string tableText(std::uint8_t family, std::string_view table) {
  return "table " + nftFamilyName(family) + " " + printable(table);
}

std::string chainText(std::uint8_t family, std::string_view table, std::string_view chain) {
  return "chain " + printable(chain) + " of " + tableText(family, table);
}

std::optional<ChainId> expectedChain(const Expected& expected, std::uint8_t family,
                                     std::string_view table, std::string_view chain) {
  const Place* place = placeOf(expected, family, table);
  return place != nullptr && place->chain == chain ? std::optional(place->id) : std::nullopt;
}

void checkLayout(const Capture& capture, const Expected& expected, const Counts& counts,
                 bool counted, EngineTable& engine, Findings& findings) {
  Layout layout(capture, expected, engine, findings);
  layout.checkTables(counts.sets);
  layout.checkChains(counts, counted);
  layout.checkNone(DumpId::kNftObjects, "object", NFTA_OBJ_TABLE, NFTA_OBJ_NAME);
  layout.checkNone(DumpId::kNftFlowtables, "flowtable", NFTA_FLOWTABLE_TABLE, NFTA_FLOWTABLE_NAME);
}

}  // namespace vethgate::nft
