// Single changes to the traffic control half of a real capture, each refused with a reason that
// names the place. Which filter is which: `tc` text of captures/small.policy.json.
#include <gmock/gmock.h>
#include <linux/gen_stats.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>

#include "support.hpp"

namespace vethgate::test {
namespace {

// Messages of filters.egress: each pref has one for its classifier, then one for each filter.
constexpr std::size_t kFirstPref = 0;
constexpr std::size_t kMetadata = 1;  // pref 101 handle 1
constexpr std::size_t kPinhole = 6;   // pref 102 handle 1
constexpr std::size_t kPort = 8;      // pref 103 handle 1
constexpr std::size_t kDrop = 11;     // pref 104 handle 2: 203.0.113.0/24
constexpr std::size_t kAdvert = 23;   // pref 110 handle 1
constexpr std::size_t kDropV6 = 26;   // pref 111 handle 2: 2001:db8:dead::/48
constexpr std::size_t kTail = 41;     // pref 118 handle 1: all
// Offsets from nlmsghdr, of struct tcmsg.
constexpr std::size_t kFamilyAt = 16;
constexpr std::size_t kIndexAt = 20;
constexpr std::size_t kHandleAt = 24;
constexpr std::size_t kParentAt = 28;
constexpr std::size_t kInfoAt = 32;  // 2 bytes of protocol, big-endian; 2 of pref

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
std::function<void(Attributes&)> add(const char* path, std::uint16_t type, Bytes value) {
  return [path, type, value](Attributes& all) { listOf(all, path).push_back(leaf(type, value)); };
}
// Overwrites one 32-bit word of struct tc_gact: index, capab, action, refcnt, bindcnt.
std::function<void(Attributes&)> gact(std::size_t word, std::uint32_t value) {
  return [word, value](Attributes& all) {
    Bytes& parameters = at(all, "2/3/1/2/2").value;
    const Bytes bytes = le32(value);
    std::copy(bytes.begin(), bytes.end(),
              parameters.begin() + static_cast<std::ptrdiff_t>(4 * word));
  };
}

class TcEdit : public testing::TestWithParam<Edit> {};

TEST_P(TcEdit, IsRefusedByName) {
  Fixture f = fixture("contained-small-6.1");
  ASSERT_EQ(reasonsOf(judged(f)), "");  // alive before
  edit(f.capture, GetParam().dump, GetParam().message, GetParam().change);
  const Verdict verdict = judged(f);
  EXPECT_EQ(verdict.code, ExitCode::kRefused);
  EXPECT_THAT(reasonsOf(verdict), testing::HasSubstr(GetParam().expected));
}

constexpr DumpId kFilters = DumpId::kFiltersEgress;

INSTANTIATE_TEST_SUITE_P(
    Keys, TcEdit,
    testing::Values(
        Edit{"ether type", kFilters, kDrop, set("2/8", be16(0x86dd)),
             "flower pref 104 handle 0x2: RTM_NEWTFILTER/TCA_OPTIONS/TCA_FLOWER_KEY_ETH_TYPE"},
        Edit{"ether type gone", kFilters, kDrop, drop("2/8"), "TCA_FLOWER_KEY_ETH_TYPE"},
        Edit{"ether type in the tail", kFilters, kTail, add("2/22", 8, be16(0x0800)),
             "flower pref 118 handle 0x1: RTM_NEWTFILTER/TCA_OPTIONS/TCA_FLOWER_KEY_ETH_TYPE"},
        Edit{"destination", kFilters, kDrop, set("2/12", {203, 0, 112, 0}),
             "flower pref 104 handle 0x2: destination is 203.0.112.0/24, expected 203.0.113.0/24 "
             "(denied)"},
        Edit{"destination gone", kFilters, kDrop,
             [](Attributes& all) {
               remove(all, "2/12");
               remove(all, "2/13");
             },
             "destination is any, expected 203.0.113.0/24"},
        Edit{"mask without its key", kFilters, kDrop, drop("2/12"), "TCA_FLOWER_KEY_IPV4_DST_MASK"},
        Edit{"key without its mask", kFilters, kDrop, drop("2/13"),
             "TCA_FLOWER_KEY_IPV4_DST_MASK: is missing"},
        Edit{"mask narrower", kFilters, kDrop, set("2/13", {255, 255, 255, 128}),
             "destination is 203.0.113.0/25, expected 203.0.113.0/24"},
        Edit{"mask not contiguous", kFilters, kDrop, set("2/13", {255, 255, 255, 1}),
             "TCA_FLOWER_KEY_IPV4_DST_MASK: is not contiguous"},
        Edit{"key beyond the mask", kFilters, kDrop, set("2/12", {203, 0, 113, 1}),
             "TCA_FLOWER_KEY_IPV4_DST: has bits beyond its mask"},
        Edit{"mask of everything", kFilters, kDrop,
             [](Attributes& all) {
               at(all, "2/12").value = Bytes(4);
               at(all, "2/13").value = Bytes(4);
             },
             "matches everything, expected the key to be absent then"},
        Edit{"v6 destination", kFilters, kDropV6,
             [](Attributes& all) { at(all, "2/16").value[5] ^= 1; },
             "flower pref 111 handle 0x2: destination is 2001:db8:deac::/48"},
        Edit{"source too", kFilters, kDrop, add("2/12", TCA_FLOWER_KEY_IPV4_SRC, {10, 0, 0, 1}),
             "TCA_FLOWER_KEY_IPV4_SRC"},
        Edit{"protocol on a drop", kFilters, kDrop, add("2/12", TCA_FLOWER_KEY_IP_PROTO, {6}),
             "flower pref 104 handle 0x2: IP protocol is 6, expected any"},
        Edit{"port range wider", kFilters, kPinhole, set("2/90", be16(49300)),
             "flower pref 102 handle 0x1: port is 49200-49300"},
        Edit{"port range reversed", kFilters, kPinhole, set("2/90", be16(1)),
             "is no lower end of a range of ports: 49200 to 1"},
        Edit{"port range open", kFilters, kPinhole, drop("2/90"),
             "TCA_FLOWER_KEY_PORT_DST_MAX: is missing"},
        Edit{"port", kFilters, kPort, set("2/21", be16(10)),
             "flower pref 103 handle 0x1: port is 10, expected 9 (one port)"},
        Edit{"port mask", kFilters, kPort, set("2/38", be16(0xff00)),
             "TCA_FLOWER_KEY_UDP_DST_MASK: is 65280, expected 65535"},
        Edit{"ports of another protocol", kFilters, kPort, set("2/9", {6}),
             "TCA_FLOWER_KEY_UDP_DST"},
        Edit{"icmp type", kFilters, kAdvert, set("2/55", {128}),
             "flower pref 110 handle 0x1: ICMPv6 type is 128, expected 136"},
        Edit{"icmp type mask", kFilters, kAdvert, set("2/56", {0xfe}),
             "TCA_FLOWER_KEY_ICMPV6_TYPE_MASK: is 254, expected 255"},
        Edit{"icmp code", kFilters, kAdvert, add("2/55", TCA_FLOWER_KEY_ICMPV6_CODE, {0}),
             "TCA_FLOWER_KEY_ICMPV6_CODE"},
        Edit{"hop limit", kFilters, kAdvert, set("2/75", {64}),
             "flower pref 110 handle 0x1: hop limit is 64, expected 255"},
        Edit{"hop limit mask", kFilters, kAdvert, set("2/76", {0x7f}),
             "TCA_FLOWER_KEY_IP_TTL_MASK: is 127, expected 255"},
        Edit{"hop limit gone", kFilters, kAdvert,
             [](Attributes& all) {
               remove(all, "2/75");
               remove(all, "2/76");
             },
             "hop limit is any, expected 255"},
        Edit{"fragment flags", kFilters, kDrop, add("2/12", TCA_FLOWER_KEY_FLAGS, be32(1)),
             "TCA_FLOWER_KEY_FLAGS"},
        Edit{"unknown key", kFilters, kDrop, add("2/12", 119, be32(1)),
             "attribute 119 is not known"},
        Edit{"key twice", kFilters, kDrop, add("2/12", 12, {203, 0, 113, 0}),
             "TCA_FLOWER_KEY_IPV4_DST"}));

INSTANTIATE_TEST_SUITE_P(
    Actions, TcEdit,
    testing::Values(
        Edit{"pass", kFilters, kDrop, gact(2, TC_ACT_OK),
             "flower pref 104 handle 0x2: action is pass, expected drop (denied)"},
        Edit{"continue", kFilters, kDrop, gact(2, static_cast<std::uint32_t>(TC_ACT_UNSPEC)),
             "its action is -1, expected 2 (drop) or 0 (pass)"},
        Edit{"reclassify", kFilters, kDrop, gact(2, TC_ACT_RECLASSIFY), "its action is 1"},
        Edit{"drop of a pass", kFilters, kPinhole, gact(2, TC_ACT_SHOT),
             "flower pref 102 handle 0x1: action is drop, expected pass (credential proxy)"},
        Edit{"referenced", kFilters, kDrop, gact(3, 2), "has ref 2 and bind 1"},
        Edit{"bound twice", kFilters, kDrop, gact(4, 2), "has ref 1 and bind 2"},
        Edit{"capab", kFilters, kDrop, gact(1, 1), "capab is 1, expected 0"},
        Edit{"index 0", kFilters, kDrop, gact(0, 0), "the index 0 of its action"},
        Edit{"probability", kFilters, kDrop, add("2/3/1/2/2", TCA_GACT_PROB, Bytes(8)),
             "TCA_GACT_PROB"},
        Edit{"kind", kFilters, kDrop, set("2/3/1/1", text("mirred")),
             "TCA_ACT_KIND: is \"mirred\", expected gact"},
        Edit{"second action", kFilters, kDrop,
             [](Attributes& all) {
               auto& actions = at(all, "2/3").children;
               actions.push_back(actions.front());
               actions.back().type = 2;
             },
             "TCA_FLOWER_ACT: holds 2 actions, expected 1"},
        Edit{"action number", kFilters, kDrop, [](Attributes& all) { at(all, "2/3/1").type = 2; },
             "TCA_FLOWER_ACT"},
        Edit{"no action", kFilters, kDrop, drop("2/3"), "TCA_FLOWER_ACT: is missing"},
        Edit{"cookie", kFilters, kDrop, add("2/3/1/1", TCA_ACT_COOKIE, {1}), "TCA_ACT_COOKIE"},
        Edit{"action in hardware", kFilters, kDrop, set("2/3/1/10", le32(1)),
             "TCA_ACT_IN_HW_COUNT: is 1, expected 0"},
        Edit{"skip_sw", kFilters, kDrop,
             set("2/22", le32(TCA_CLS_FLAGS_SKIP_SW | TCA_CLS_FLAGS_NOT_IN_HW)),
             "TCA_FLOWER_FLAGS: is 10, expected 8"},
        Edit{"in hardware", kFilters, kDrop, set("2/22", le32(TCA_CLS_FLAGS_IN_HW)),
             "TCA_FLOWER_FLAGS: is 4, expected 8"},
        Edit{"in hardware count", kFilters, kDrop, set("2/86", le32(1)),
             "TCA_FLOWER_IN_HW_COUNT: is 1, expected 0"},
        Edit{"class", kFilters, kDrop, add("2/12", TCA_FLOWER_CLASSID, le32(1)),
             "TCA_FLOWER_CLASSID"}));

INSTANTIATE_TEST_SUITE_P(
    Places, TcEdit,
    testing::Values(
        Edit{"classifier", kFilters, kDrop, set("1", text("u32")),
             "TCA_KIND: is \"u32\" at pref 104, expected flower"},
        Edit{"chain", kFilters, kDrop, set("11", le32(7)),
             "flower pref 104 handle 0x2: RTM_NEWTFILTER/TCA_CHAIN: is 7, expected 0"},
        Edit{"chain of the classifier", kFilters, kFirstPref, set("11", le32(7)),
             "TCA_CHAIN: is 7, expected 0"},
        Edit{"classifier with options", kFilters, kFirstPref, add("1", TCA_OPTIONS, {}),
             "TCA_OPTIONS"},
        Edit{"qdisc kind", DumpId::kQdiscs, 1, set("1", text("fq")),
             "qdisc fq 0000:0000 at ffff:ffff of link 2: RTM_NEWQDISC: is there"},
        Edit{"qdisc in hardware", DumpId::kQdiscs, 2, set("12", {1}),
             "qdisc clsact ffff:0000 at ffff:fff1 of link 2: RTM_NEWQDISC/TCA_HW_OFFLOAD"},
        Edit{"qdisc shared egress block", DumpId::kQdiscs, 2, add("1", TCA_EGRESS_BLOCK, le32(5)),
             "TCA_EGRESS_BLOCK"},
        Edit{"qdisc shared ingress block", DumpId::kQdiscs, 2, add("1", TCA_INGRESS_BLOCK, le32(5)),
             "TCA_INGRESS_BLOCK"},
        Edit{"qdisc size table", DumpId::kQdiscs, 1, add("1", TCA_STAB, Bytes(4)), "TCA_STAB"},
        Edit{"noqueue with options", DumpId::kQdiscs, 1, add("1", TCA_OPTIONS, {}), "TCA_OPTIONS"},
        Edit{"chain number", DumpId::kChainsEgress, 0, set("11", le32(3)),
             "chains.egress: RTM_NEWCHAIN: chain 3 is there, expected one chain 0"},
        Edit{"chain template", DumpId::kChainsEgress, 0, add("11", TCA_KIND, text("flower")),
             "RTM_NEWCHAIN/TCA_KIND"}));

struct Poke {
  const char* name;
  DumpId dump;
  std::size_t message;
  std::size_t offset;
  Bytes bytes;
  const char* expected;
};
void PrintTo(const Poke& poke, std::ostream* out) { *out << poke.name; }

class TcHeader : public testing::TestWithParam<Poke> {};

TEST_P(TcHeader, IsRefusedByName) {
  Fixture f = fixture("contained-small-6.1");
  ASSERT_EQ(reasonsOf(judged(f)), "");  // alive before
  poke(f.capture, GetParam().dump, GetParam().message, GetParam().offset, GetParam().bytes);
  EXPECT_THAT(reasonsOf(judged(f)), testing::HasSubstr(GetParam().expected));
}

INSTANTIATE_TEST_SUITE_P(
    Headers, TcHeader,
    testing::Values(
        Poke{"family", kFilters, kDrop, kFamilyAt, {2}, "the family or padding of its header"},
        Poke{"padding", kFilters, kDrop, kFamilyAt + 2, {1}, "the family or padding of its header"},
        Poke{"link", kFilters, kDrop, kIndexAt, {1}, "belongs to link 1, expected 2"},
        Poke{"handle",
             kFilters,
             kDrop,
             kHandleAt,
             {9},
             "flower pref 104 handle 0x9: drop 203.0.113.0/24 is there, expected no such filter"},
        Poke{"handle of another",
             kFilters,
             kDrop,
             kHandleAt,
             {1},
             "flower pref 104 handle 0x2: drop 203.0.113.0/24 is missing"},
        Poke{"ingress", kFilters, kDrop, kParentAt, {0xf2}, "(clsact egress)"},
        Poke{"pref",
             kFilters,
             kDrop,
             kInfoAt + 2,
             {99},
             "does not follow the classifier of its pref and protocol"},
        Poke{"pref of the classifier",
             kFilters,
             kFirstPref,
             kInfoAt + 2,
             {99},
             "does not follow the classifier of its pref and protocol"},
        Poke{"protocol",
             kFilters,
             kDrop,
             kInfoAt,
             {0x86, 0xdd},
             "does not follow the classifier of its pref and protocol"},
        Poke{"vlan",
             kFilters,
             kFirstPref,
             kInfoAt,
             {0x81, 0x00},
             "the protocol is 33024, expected all, ip, ipv6 or arp"},
        Poke{"qdisc link",
             DumpId::kQdiscs,
             2,
             kIndexAt,
             {1},
             "qdiscs: link 1 has 1 qdiscs clsact, expected 0"},
        Poke{"qdisc of no link", DumpId::kQdiscs, 2, kIndexAt, {9}, "no such link"},
        Poke{"qdisc handle", DumpId::kQdiscs, 2, kHandleAt, {1}, "ffff:0001 at ffff:fff1"},
        Poke{"qdisc parent", DumpId::kQdiscs, 1, kParentAt, {0xf0}, "at ffff:fff0 of link 2"},
        Poke{"chain link", DumpId::kChainsEgress, 0, kIndexAt, {1}, "the chain belongs to link 1"},
        Poke{"chain parent", DumpId::kChainsEgress, 0, kParentAt, {1}, "parent ffff:0001"}));

TEST(TcEdits, TimesCountersAndIndexesCarryNoMeaning) {
  Fixture f = readOnce(fixture("contained-small-6.1"));
  const auto before = judged(f);
  edit(f.capture, kFilters, kDrop, gact(0, 4711));
  edit(f.capture, kFilters, kDrop, set("2/3/1/2/1", Bytes(32, 7)));
  edit(f.capture, kFilters, kDrop,
       set("2/3/1/4/1", {9, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0}));
  poke(f.capture, DumpId::kQdiscs, 2, kInfoAt, {3});
  const auto after = judged(f);
  EXPECT_EQ(reasonsOf(after), "");
  EXPECT_EQ(after.readback, before.readback);
  EXPECT_THAT(after.drops,
              testing::Contains(testing::Pair("flower 104/0x2 drop 203.0.113.0/24", 5)));
}

TEST(TcEdits, MoreThan32BitsOfPacketsAreCounted) {
  Fixture f = readOnce(fixture("contained-small-6.1"));
  edit(f.capture, kFilters, kDrop, add("2/3/1/4/1", TCA_STATS_PKT64, {0, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_THAT(judged(f).drops, testing::Contains(testing::Pair("flower 104/0x2 drop 203.0.113.0/24",
                                                               std::uint64_t{2} << 32)));
}

TEST(TcEdits, FiltersOfOnePrefHaveNoOrderButPrefsHave) {
  Fixture f = readOnce(fixture("contained-small-6.1"));
  auto& filters = messages(f.capture, kFilters);
  std::swap(filters.at(kMetadata), filters.at(kMetadata + 1));
  EXPECT_EQ(reasonsOf(judged(f)), "");
  // Two whole prefs, classifier and filter each: 102 and 103.
  std::swap(filters.at(kPinhole - 1), filters.at(kPort - 1));
  std::swap(filters.at(kPinhole), filters.at(kPort));
  EXPECT_THAT(reasonsOf(judged(f)), testing::HasSubstr("comes after pref 103"));
}

TEST(TcEdits, AnActionMayNotServeTwoFilters) {
  Fixture f = fixture("contained-small-6.1");
  Bytes parameters;
  edit(f.capture, kFilters, kMetadata,
       [&](Attributes& all) { parameters = at(all, "2/3/1/2/2").value; });
  edit(f.capture, kFilters, kDrop, set("2/3/1/2/2", parameters));
  EXPECT_THAT(reasonsOf(judged(f)),
              testing::HasSubstr("of its action is 0 or another filter's too"));
}

TEST(TcEdits, AFilterOnIngressIsNamed) {
  Fixture f = fixture("contained-small-6.1");
  auto& ingress = messages(f.capture, DumpId::kFiltersIngress);
  RawMessage moved = messages(f.capture, kFilters).at(kDrop);
  // The numbers of the dump that it is put into.
  std::copy_n(ingress.front().begin() + 8, 8, moved.begin() + 8);
  ingress.insert(ingress.begin(), moved);
  EXPECT_THAT(reasonsOf(judged(f)),
              testing::HasSubstr("flower pref 104 handle 0x2 is on the ingress hook of link 2"));
}

TEST(TcEdits, APrefWithoutFiltersIsRefused) {
  Fixture f = fixture("contained-small-6.1");
  auto& filters = messages(f.capture, kFilters);
  filters.erase(filters.begin() + kPort);
  EXPECT_THAT(reasonsOf(judged(f)), testing::HasSubstr("pref 103 holds no filter"));
}

TEST(TcEdits, AMissingFilterIsNamed) {
  Fixture f = fixture("contained-small-6.1");
  auto& filters = messages(f.capture, kFilters);
  filters.erase(filters.begin() + kDrop);
  EXPECT_THAT(judged(f).reasons,
              testing::IsSupersetOf(
                  {"flower: 23 filters are there, expected 24",
                   "flower pref 104 handle 0x2: drop 203.0.113.0/24 is missing (denied)"}));
}

}  // namespace
}  // namespace vethgate::test
