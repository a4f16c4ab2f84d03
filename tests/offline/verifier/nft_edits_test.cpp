// Single changes to the nf_tables half of a real capture, each refused with a reason that names the
// place. Which rule is which number: iptables-save text of captures/small.policy.json.
#include <gmock/gmock.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>

#include "support.hpp"

namespace vethgate::test {
namespace {

// Messages of nft.rules, counted from 0: the 15 rules of ip, then the 11 of ip6.
constexpr std::size_t kLogSyn = 0;
constexpr std::size_t kLogMetadata = 2;
constexpr std::size_t kDropMetadata = 6;
constexpr std::size_t kPinhole = 10;
constexpr std::size_t kPort = 11;
constexpr std::size_t kDrop = 14;
constexpr std::size_t kSolicit = 20 + 4;
constexpr std::size_t kAdvert = 20 + 5;
constexpr std::size_t kDropV6Bits = 20 + 10;

struct Edit {
  const char* name;
  DumpId dump;
  std::size_t message;
  std::function<void(Attributes&)> change;
  const char* expected;
};
void PrintTo(const Edit& edit, std::ostream* out) { *out << edit.name; }

std::function<void(Attributes&)> set(const char* path, Bytes value) {
  return [path, value](Attributes& all) { at(all, path).value = value; };
}
std::function<void(Attributes&)> drop(const char* path) {
  return [path](Attributes& all) { remove(all, path); };
}
// Adds an attribute beside the one that `path` names.
std::function<void(Attributes&)> add(const char* path, std::uint16_t type, Bytes value) {
  return [path, type, value](Attributes& all) { listOf(all, path).push_back(leaf(type, value)); };
}
std::function<void(Attributes&)> swapChildren(const char* path, std::size_t left,
                                              std::size_t right) {
  return [=](Attributes& all) {
    auto& children = at(all, path).children;
    std::swap(children.at(left), children.at(right));
  };
}
Bytes changed(Bytes bytes, std::size_t position, std::uint8_t value) {
  bytes.at(position) = value;
  return bytes;
}

class NftEdit : public testing::TestWithParam<Edit> {};

TEST_P(NftEdit, IsRefusedByName) {
  Fixture f = fixture("contained-small-6.1");
  ASSERT_EQ(reasonsOf(judged(f)), "");  // alive before
  edit(f.capture, GetParam().dump, GetParam().message, GetParam().change);
  const Verdict verdict = judged(f);
  EXPECT_EQ(verdict.code, ExitCode::kRefused);
  EXPECT_THAT(reasonsOf(verdict), testing::HasSubstr(GetParam().expected));
}

// Elements of a rule's expression list are 4/1[n]; an expression's data is 2 below that.
const Bytes kLogInfo = [] {
  Bytes info(32);
  info[0] = 4;
  const std::string prefix = "vethgate-metadata:";
  std::copy(prefix.begin(), prefix.end(), info.begin() + 2);
  return info;
}();
const Bytes kMask33 = [] {
  Bytes mask(16);
  std::fill_n(mask.begin(), 4, std::uint8_t{0xff});
  mask[4] = 0x80;
  return mask;
}();

INSTANTIATE_TEST_SUITE_P(
    Rules, NftEdit,
    testing::Values(
        Edit{"meta key", DumpId::kNftRules, kPinhole, set("4/1[0]/2/2", be32(NFT_META_OIFNAME)),
             "iptables v4 #11: NFT_MSG_NEWRULE/NFTA_RULE_EXPRESSIONS/NFTA_LIST_ELEM[1]"},
        Edit{"meta register", DumpId::kNftRules, kPinhole, set("4/1[0]/2/1", be32(2)),
             "NFTA_META_DREG: is 2, expected 1"},
        Edit{"meta sets", DumpId::kNftRules, kPinhole, add("4/1[0]/2/1", NFTA_META_SREG, be32(1)),
             "NFTA_META_SREG"},
        Edit{"protocol", DumpId::kNftRules, kPinhole, set("4/1[1]/2/3/1", {17}),
             "iptables v4 #11: protocol is 17, expected 6 (credential proxy)"},
        Edit{"protocol without ports", DumpId::kNftRules, kPinhole, set("4/1[1]/2/3/1", {132}),
             "a port is matched without tcp or udp"},
        Edit{"cmp op", DumpId::kNftRules, kDrop, set("4/1[1]/2/2", be32(NFT_CMP_NEQ)),
             "iptables v4 #15: NFT_MSG_NEWRULE"},
        Edit{"cmp register", DumpId::kNftRules, kDrop, set("4/1[1]/2/1", be32(2)),
             "NFTA_CMP_SREG: is 2, expected 1"},
        Edit{"cmp value", DumpId::kNftRules, kDrop, set("4/1[1]/2/3/1", {203, 0, 114}),
             "iptables v4 #15: destination is 203.0.114.0/24, expected 203.0.113.0/24"},
        Edit{"cmp longer value", DumpId::kNftRules, kDrop, set("4/1[1]/2/3/1", {203, 0, 113, 0}),
             "the destination has 4 bytes, expected 3"},
        Edit{"cmp value and verdict", DumpId::kNftRules, kDrop, add("4/1[1]/2/3/1", 2, {}),
             "NFTA_DATA_VERDICT"},
        Edit{"payload base", DumpId::kNftRules, kDrop, set("4/1[0]/2/2", be32(0)),
             "iptables v4 #15: expression 1 is a payload load of 3 bytes at 16 of header 0"},
        Edit{"payload source address", DumpId::kNftRules, kDrop, set("4/1[0]/2/3", be32(12)),
             "payload load of 3 bytes at 12 of header 1"},
        Edit{"payload length", DumpId::kNftRules, kDrop, set("4/1[0]/2/4", be32(2)),
             "the destination has 3 bytes, expected 2"},
        Edit{"payload register", DumpId::kNftRules, kDrop, set("4/1[0]/2/1", be32(2)),
             "NFTA_PAYLOAD_DREG: is 2, expected 1"},
        Edit{"payload written", DumpId::kNftRules, kDrop,
             add("4/1[0]/2/1", NFTA_PAYLOAD_SREG, be32(1)), "NFTA_PAYLOAD_SREG"},
        Edit{"source port", DumpId::kNftRules, kPort, set("4/1[4]/2/3", be32(0)),
             "iptables v4 #12: expression 5 is a payload load of 2 bytes at 0 of header 2"},
        Edit{"mask not contiguous", DumpId::kNftRules, kDropV6Bits,
             set("4/1[1]/2/4/1", changed(kMask33, 6, 1)),
             "mask of the destination is not contiguous"},
        Edit{"mask wider", DumpId::kNftRules, kDropV6Bits,
             set("4/1[1]/2/4/1", changed(kMask33, 4, 0xc0)),
             "iptables v6 #11: destination is 2001:db8:8000::/34, expected 2001:db8:8000::/33"},
        Edit{"mask on a byte", DumpId::kNftRules, kDropV6Bits,
             set("4/1[1]/2/4/1", changed(kMask33, 4, 0xff)), "expected a shorter load"},
        Edit{"value beyond the mask", DumpId::kNftRules, kDropV6Bits,
             set("4/1[2]/2/3/1", Bytes(16, 0xff)), "the rule never matches"},
        Edit{"xor", DumpId::kNftRules, kDropV6Bits, set("4/1[1]/2/5/1", Bytes(16, 1)),
             "NFTA_BITWISE_XOR: is not 16 zero bytes"},
        Edit{"bitwise length", DumpId::kNftRules, kDropV6Bits, set("4/1[1]/2/3", be32(8)),
             "NFTA_BITWISE_LEN: is 8, expected 16"},
        Edit{"bitwise op", DumpId::kNftRules, kDropV6Bits, set("4/1[1]/2/6", be32(1)),
             "NFTA_BITWISE_OP: is 1, expected 0"},
        Edit{"bitwise register", DumpId::kNftRules, kDropV6Bits, set("4/1[1]/2/2", be32(2)),
             "NFTA_BITWISE_DREG: is 2, expected 1"},
        Edit{"range outside", DumpId::kNftRules, kPinhole, set("4/1[5]/2/2", be32(NFT_RANGE_NEQ)),
             "NFTA_RANGE_OP: is 1, expected 0 (within)"},
        Edit{"range wider", DumpId::kNftRules, kPinhole, set("4/1[5]/2/4/1", be16(49300)),
             "iptables v4 #11: port is 49200-49300, expected 49200-49299"},
        Edit{"range reversed", DumpId::kNftRules, kPinhole, set("4/1[5]/2/4/1", be16(1)),
             "the port range is empty, single or not of 2 bytes"},
        Edit{"range from 0", DumpId::kNftRules, kPinhole, set("4/1[5]/2/3/1", be16(0)),
             "the port range is empty, single or not of 2 bytes"},
        Edit{"port", DumpId::kNftRules, kPort, set("4/1[5]/2/3/1", be16(10)),
             "iptables v4 #12: port is 10, expected 9 (one port)"},
        Edit{"tcp flags", DumpId::kNftRules, kLogSyn, set("4/1[4]/2/3/1", {0x12}),
             "iptables v4 #1: the TCP flags 18 of 23 are matched"},
        Edit{"tcp flag mask", DumpId::kNftRules, kLogSyn, set("4/1[3]/2/4/1", {0x37}),
             "the TCP flags 2 of 55 are matched"},
        Edit{"limit inverted", DumpId::kNftRules, kLogMetadata, set("4/1[2]/2/5", be32(1)),
             "NFTA_LIMIT_FLAGS: is 1, expected 0"},
        Edit{"limit by bytes", DumpId::kNftRules, kLogMetadata, set("4/1[2]/2/4", be32(1)),
             "NFTA_LIMIT_TYPE: is 1, expected 0"},
        Edit{"limit rate", DumpId::kNftRules, kLogMetadata, set("4/1[2]/2/1", be64(7)),
             "iptables v4 #3: limit is 7/60s burst 12, expected 6/60s burst 12"},
        Edit{"limit unit", DumpId::kNftRules, kLogMetadata, set("4/1[2]/2/2", be64(1)),
             "limit is 6/1s burst 12"},
        Edit{"limit burst", DumpId::kNftRules, kLogMetadata, set("4/1[2]/2/3", be32(13)),
             "limit is 6/60s burst 13"},
        Edit{"limit gone", DumpId::kNftRules, kLogMetadata, drop("4/1[2]"),
             "iptables v4 #3: limit is any, expected 6/60s burst 12"},
        Edit{"verdict accept", DumpId::kNftRules, kDrop, set("4/1[3]/2/2/2/1", be32(1)),
             "iptables v4 #15: target is accept, expected drop (denied)"},
        Edit{"verdict return", DumpId::kNftRules, kDrop,
             set("4/1[3]/2/2/2/1", be32(static_cast<std::uint32_t>(NFT_RETURN))),
             "NFTA_VERDICT_CODE: is -5, expected 1 (accept) or 0 (drop)"},
        Edit{"verdict queue", DumpId::kNftRules, kDrop, set("4/1[3]/2/2/2/1", be32(3)),
             "NFTA_VERDICT_CODE: is 3"},
        Edit{"verdict with chain", DumpId::kNftRules, kDrop,
             add("4/1[3]/2/2/2/1", NFTA_VERDICT_CHAIN, text("x")), "NFTA_VERDICT_CHAIN"},
        Edit{"verdict register", DumpId::kNftRules, kDrop, set("4/1[3]/2/1", be32(1)),
             "NFTA_IMMEDIATE_DREG: is 1, expected 0"}));

INSTANTIATE_TEST_SUITE_P(
    Extensions, NftEdit,
    testing::Values(Edit{"log level", DumpId::kNftRules, kLogMetadata,
                         set("4/1[4]/2/3", changed(kLogInfo, 0, 7)),
                         "NFTA_TARGET_INFO: has the level 7 and the flags 0, expected 4 and 0"},
                    Edit{"log flags", DumpId::kNftRules, kLogMetadata,
                         set("4/1[4]/2/3", changed(kLogInfo, 1, 8)),
                         "has the level 4 and the flags 8"},
                    Edit{"log prefix", DumpId::kNftRules, kLogMetadata,
                         set("4/1[4]/2/3", changed(kLogInfo, 2, 'V')),
                         "iptables v4 #3: log prefix is \"Vethgate-metadata:\", expected "
                         "\"vethgate-metadata:\""},
                    Edit{"log prefix with more behind", DumpId::kNftRules, kLogMetadata,
                         set("4/1[4]/2/3", changed(kLogInfo, 31, 'x')),
                         "a prefix that does not end in zeros"},
                    Edit{"log size", DumpId::kNftRules, kLogMetadata, set("4/1[4]/2/3", Bytes(36)),
                         "NFTA_TARGET_INFO: is 36, expected 32"},
                    Edit{"target name", DumpId::kNftRules, kLogMetadata,
                         set("4/1[4]/2/1", text("MARK")),
                         "NFTA_TARGET_NAME: is \"MARK\", expected LOG"},
                    Edit{"target revision", DumpId::kNftRules, kLogMetadata,
                         set("4/1[4]/2/2", be32(1)), "NFTA_TARGET_REV: is 1, expected 0"},
                    Edit{"match name", DumpId::kNftRules, kAdvert, set("4/1[2]/2/1", text("owner")),
                         "iptables v6 #6: NFT_MSG_NEWRULE"},
                    Edit{"match revision", DumpId::kNftRules, kAdvert, set("4/1[2]/2/2", be32(1)),
                         "NFTA_MATCH_REV: is 1, expected 0"},
                    Edit{"icmp type", DumpId::kNftRules, kAdvert,
                         set("4/1[2]/2/3", {128, 0, 255, 0, 0, 0, 0, 0}),
                         "iptables v6 #6: ICMPv6 type is 128, expected 136"},
                    Edit{"icmp code", DumpId::kNftRules, kAdvert,
                         set("4/1[2]/2/3", {136, 0, 0, 0, 0, 0, 0, 0}),
                         "is not one icmp6 type with any code"},
                    Edit{"icmp inverted", DumpId::kNftRules, kAdvert,
                         set("4/1[2]/2/3", {136, 0, 255, 1, 0, 0, 0, 0}),
                         "is not one icmp6 type with any code"},
                    Edit{"icmp padding", DumpId::kNftRules, kAdvert,
                         set("4/1[2]/2/3", {136, 0, 255, 0, 0, 0, 0, 1}),
                         "is not one icmp6 type with any code"},
                    Edit{"hop limit", DumpId::kNftRules, kAdvert,
                         set("4/1[3]/2/3", {0, 64, 0, 0, 0, 0, 0, 0}),
                         "iptables v6 #6: hop limit is 64, expected 255"},
                    Edit{"hop limit mode", DumpId::kNftRules, kAdvert,
                         set("4/1[3]/2/3", {1, 255, 0, 0, 0, 0, 0, 0}),
                         "is not a hop limit matched for equality"},
                    Edit{"hop limit gone", DumpId::kNftRules, kSolicit, drop("4/1[5]"),
                         "iptables v6 #5: hop limit is any, expected 255"},
                    Edit{"solicited destination gone", DumpId::kNftRules, kSolicit,
                         [](Attributes& all) {
                           remove(all, "4/1[3]");
                           remove(all, "4/1[2]");
                         },
                         "iptables v6 #5: destination is any, expected ff02::1:ff00:0/104"}));

INSTANTIATE_TEST_SUITE_P(
    RuleShape, NftEdit,
    testing::Values(
        Edit{"counter gone", DumpId::kNftRules, kDrop, drop("4/1[2]"),
             "iptables v4 #15: expression 3 is a verdict drop"},
        Edit{"verdict gone", DumpId::kNftRules, kDrop, drop("4/1[3]"),
             "the rule ends where accept, drop or LOG is expected"},
        Edit{"second verdict", DumpId::kNftRules, kDrop,
             [](Attributes& all) {
               auto& list = at(all, "4").children;
               list.push_back(list.back());
             },
             "expression 5 is a verdict drop, expected the end of the rule"},
        Edit{"counter before the match", DumpId::kNftRules, kDrop, swapChildren("4", 1, 2),
             "the destination"},
        Edit{"unknown expression", DumpId::kNftRules, kDrop, set("4/1[0]/1", text("numgen")),
             "NFTA_EXPR_NAME: is \"numgen\", which no rule of a plan is made of"},
        Edit{"expression without data", DumpId::kNftRules, kDrop, drop("4/1[2]/2"),
             "NFTA_EXPR_DATA: is missing"},
        Edit{"comment", DumpId::kNftRules, kDrop, add("4", NFTA_RULE_USERDATA, {0, 2, 'x', 0}),
             "NFTA_RULE_USERDATA"},
        Edit{"compat", DumpId::kNftRules, kDrop, add("4", NFTA_RULE_COMPAT, Bytes(16)),
             "NFTA_RULE_COMPAT"},
        Edit{"unknown attribute", DumpId::kNftRules, kDrop, add("4", 77, be32(1)),
             "attribute 77 is not known"},
        Edit{"attribute twice", DumpId::kNftRules, kDrop, add("4", NFTA_RULE_HANDLE, be64(2)),
             "NFTA_RULE_HANDLE: stands twice"},
        Edit{"position", DumpId::kNftRules, kDrop, set("6", be64(3)),
             "iptables v4 #15: NFT_MSG_NEWRULE/NFTA_RULE_POSITION: follows rule 3, expected 15"},
        Edit{"handle", DumpId::kNftRules, kDropMetadata, set("3", be64(99)),
             "iptables v4 #8: NFT_MSG_NEWRULE/NFTA_RULE_POSITION"},
        Edit{"other table", DumpId::kNftRules, kDrop, set("1", text("raw")),
             "a rule in chain OUTPUT of table ip raw, expected none there"},
        Edit{"engine's table", DumpId::kNftRules, kDrop, set("1", text("nat")),
             "ip nat OUTPUT #1: NFT_MSG_NEWRULE"},
        Edit{"other chain", DumpId::kNftRules, kDrop, set("2", text("INPUT")),
             "a rule in chain INPUT of table ip filter, expected none there"}));

INSTANTIATE_TEST_SUITE_P(
    Layout, NftEdit,
    testing::Values(Edit{"table flags", DumpId::kNftTables, 0, set("2", be32(NFT_TABLE_F_DORMANT)),
                         "nft.tables: NFT_MSG_NEWTABLE/NFTA_TABLE_FLAGS: is 1, expected 0"},
                    Edit{"table use", DumpId::kNftTables, 1, set("3", be32(2)),
                         "NFTA_TABLE_USE: is 2, expected 1"},
                    Edit{"table owner", DumpId::kNftTables, 0, add("2", NFTA_TABLE_OWNER, be32(4)),
                         "NFTA_TABLE_OWNER"},
                    Edit{"table comment", DumpId::kNftTables, 0,
                         add("2", NFTA_TABLE_USERDATA, Bytes(4)), "NFTA_TABLE_USERDATA"},
                    Edit{"table name", DumpId::kNftTables, 0, set("1", text("raw")),
                         "table ip raw is there, expected none\n"},
                    Edit{"engine's table", DumpId::kNftTables, 0, set("1", text("nat")),
                         "table ip nat is there, expected none but that of the engine's"},
                    Edit{"chain hook", DumpId::kNftChains, 0, set("4/1", be32(1)),
                         "NFTA_HOOK_HOOKNUM: is 1, expected 3"},
                    Edit{"chain priority", DumpId::kNftChains, 0, set("4/2", be32(1)),
                         "NFTA_HOOK_PRIORITY: is 1, expected 0"},
                    Edit{"chain device", DumpId::kNftChains, 0,
                         add("4/1", NFTA_HOOK_DEV, text("eth0")), "NFTA_HOOK_DEV"},
                    Edit{"chain without hook", DumpId::kNftChains, 1, drop("4"),
                         "nft.chains: NFT_MSG_NEWCHAIN/NFTA_CHAIN_HOOK: is missing"},
                    Edit{"chain policy", DumpId::kNftChains, 0, set("5", be32(0)),
                         "NFTA_CHAIN_POLICY: is 0, expected 1"},
                    Edit{"chain uses", DumpId::kNftChains, 0, set("6", be32(16)),
                         "NFTA_CHAIN_USE: is 16, expected 20, the rules that were read"},
                    Edit{"chain type", DumpId::kNftChains, 0, set("7", text("route")),
                         "NFTA_CHAIN_TYPE: is \"route\", expected filter"},
                    Edit{"chain flags", DumpId::kNftChains, 0,
                         set("10", be32(NFT_CHAIN_BASE | NFT_CHAIN_BINDING)),
                         "NFTA_CHAIN_FLAGS: is 5, expected 1"},
                    Edit{"chain name", DumpId::kNftChains, 0, set("3", text("FORWARD")),
                         "base chain FORWARD of table ip filter is there, expected none"},
                    Edit{"chain table", DumpId::kNftChains, 1, set("1", text("raw")),
                         "chain OUTPUT of table ip6 raw is there, expected none"},
                    Edit{"generation", DumpId::kNftGenerationAfter, 0, set("1", be32(1)),
                         "the nf_tables ruleset changed while it was read"},
                    Edit{"generation attribute", DumpId::kNftGenerationBefore, 0,
                         add("1", 9, be32(1)), "attribute 9 is not known"}));

// What carries no meaning may change, or a real kernel could not be judged twice.
TEST(NftEdits, HandlesAndCountersCarryNoMeaning) {
  Fixture f = fixture("contained-small-6.1");
  const auto before = judged(f);
  edit(f.capture, DumpId::kNftTables, 0, set("4", be64(77)));
  edit(f.capture, DumpId::kNftChains, 0, set("2", be64(78)));
  edit(f.capture, DumpId::kNftRules, kDrop, set("3", be64(79)));
  edit(f.capture, DumpId::kNftRules, kDrop + 1, set("6", be64(79)));  // which names the one before
  edit(f.capture, DumpId::kNftRules, kDrop, set("4/1[2]/2/1", be64(80)));
  edit(f.capture, DumpId::kNftRules, kDrop, set("4/1[2]/2/2", be64(81)));
  edit(f.capture, DumpId::kNftGenerationBefore, 0, set("2", be32(82)));
  edit(f.capture, DumpId::kNftGenerationAfter, 0, set("3", text("other")));
  const auto after = judged(f);
  EXPECT_EQ(reasonsOf(after), "");
  EXPECT_EQ(after.readback, before.readback);
  EXPECT_THAT(after.drops,
              testing::Contains(testing::Pair("iptables v4 #15 drop 203.0.113.0/24", 81)));
}

TEST(NftEdits, RulesKeepTheirOrder) {
  Fixture f = fixture("contained-small-6.1");
  auto& rules = messages(f.capture, DumpId::kNftRules);
  std::swap(rules.at(kDropMetadata), rules.at(kDropMetadata + 1));
  EXPECT_THAT(reasonsOf(judged(f)), testing::HasSubstr("NFTA_RULE_POSITION: follows rule"));
  // Also when the kernel itself would say so: handles and positions repaired.
  for (std::size_t i = 0; i < 20; ++i) {
    edit(f.capture, DumpId::kNftRules, i, [i](Attributes& all) {
      at(all, "3").value = be64(i + 100);
      if (i > 0) {
        at(all, "6").value = be64(i + 99);
      }
    });
  }
  EXPECT_THAT(reasonsOf(judged(f)),
              testing::HasSubstr("iptables v4 #7: destination is 168.63.129.16/32, expected "
                                 "169.254.169.254/32"));
}

TEST(NftEdits, AMissingRuleIsNamed) {
  Fixture f = fixture("contained-small-6.1");
  auto& rules = messages(f.capture, DumpId::kNftRules);
  rules.erase(rules.begin() + kDrop);
  // As the kernel would say it: one rule fewer, and the next one behind the one before.
  edit(f.capture, DumpId::kNftChains, 0, set("6", be32(19)));
  edit(f.capture, DumpId::kNftRules, kDrop, set("6", be64(15)));
  EXPECT_THAT(judged(f).reasons,
              testing::IsSupersetOf({"iptables v4: 19 rules are there, expected 20",
                                     "iptables v4 #15: drop 203.0.113.0/24 is missing (denied)"}));
}

TEST(NftEdits, AFamilyElsewhereIsNamed) {
  for (const auto& [family, name] : {std::pair{1, "inet"}, std::pair{3, "arp"},
                                     std::pair{5, "netdev"}, std::pair{7, "bridge"}}) {
    Fixture f = fixture("contained-small-6.1");
    for (const DumpId id : {DumpId::kNftTables, DumpId::kNftChains, DumpId::kNftRules}) {
      poke(f.capture, id, 0, 16, {static_cast<std::uint8_t>(family)});
    }
    const std::string reasons = reasonsOf(judged(f));
    EXPECT_THAT(reasons, testing::HasSubstr(std::string("table ") + name + " filter is there"));
    EXPECT_THAT(reasons,
                testing::HasSubstr(std::string("base chain OUTPUT of table ") + name + " filter"));
    EXPECT_THAT(reasons,
                testing::HasSubstr(std::string("a rule in chain OUTPUT of table ") + name));
  }
}

}  // namespace
}  // namespace vethgate::test
