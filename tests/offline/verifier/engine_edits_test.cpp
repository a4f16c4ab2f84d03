// Single changes to the table of docker's resolver, each refused with a reason that names the
// place.
#include <gmock/gmock.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>

#include "engine_table.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

using testing::HasSubstr;

std::function<void(Attributes&)> without(const char* path) {
  return [path](Attributes& all) { remove(all, path); };
}
std::function<void(Attributes&)> with(const char* path, std::uint16_t type, Bytes value) {
  return [path, type, value](Attributes& all) { listOf(all, path).push_back(leaf(type, value)); };
}

struct Edit {
  const char* name;
  std::size_t writer;  // index of kDocker
  DumpId dump;
  std::size_t message;
  std::function<void(Attributes&)> change;
  const char* expected;
};
void PrintTo(const Edit& edit, std::ostream* out) { *out << edit.name; }

class EngineEdit : public testing::TestWithParam<Edit> {};

TEST_P(EngineEdit, IsRefusedByName) {
  const Edit& one = GetParam();
  Fixture f = fixture(kDocker.at(one.writer));
  ASSERT_EQ(reasonsOf(judged(f)), "");  // alive before
  editNat(f.capture, one.dump, one.message, one.change);
  const Verdict verdict = judged(f);
  EXPECT_EQ(verdict.code, ExitCode::kRefused);
  EXPECT_EQ(verdict.resolver, std::nullopt);
  EXPECT_THAT(reasonsOf(verdict), HasSubstr(one.expected));
  EXPECT_THAT(reasonsOf(verdict),
              HasSubstr("table ip nat is there, expected none but that of the engine's resolver"));
}

const Bytes kOther = {127, 0, 0, 12};
const Bytes kLookalike = {0x7f, 0, 0, 0x0b, 0};

INSTANTIATE_TEST_SUITE_P(
    Layout, EngineEdit,
    testing::Values(
        Edit{"table flags", 0, DumpId::kNftTables, 0, set("2", be32(1)),
             "nft.tables: NFT_MSG_NEWTABLE/NFTA_TABLE_FLAGS: is 1, expected 0"},
        Edit{"table use", 0, DumpId::kNftTables, 0, set("3", be32(5)),
             "NFTA_TABLE_USE: is 5, expected 4"},
        Edit{"table comment", 0, DumpId::kNftTables, 0, with("2", NFTA_TABLE_USERDATA, Bytes(4)),
             "NFTA_TABLE_USERDATA"},
        Edit{"table owner", 0, DumpId::kNftTables, 0, with("2", NFTA_TABLE_OWNER, be32(4)),
             "NFTA_TABLE_OWNER"},
        Edit{"chain name", 0, DumpId::kNftChains, kPostrouting, set("3", text("PREROUTING")),
             "base chain PREROUTING of table ip nat, expected none but of the"},
        Edit{"chain twice", 0, DumpId::kNftChains, kPostrouting, set("3", text("OUTPUT")),
             "base chain OUTPUT of table ip nat stands behind DOCKER_POSTROUTING"},
        Edit{"chain hook", 0, DumpId::kNftChains, kOutput, set("4/1", be32(NF_INET_PRE_ROUTING)),
             "NFTA_HOOK_HOOKNUM: is 0, expected 3"},
        Edit{"chain priority", 0, DumpId::kNftChains, kOutput, set("4/2", be32(1)),
             "NFTA_HOOK_PRIORITY: is 1, expected 4294967196"},
        Edit{"chain priority behind the filter", 0, DumpId::kNftChains, kPostrouting,
             set("4/2", be32(101)), "NFTA_HOOK_PRIORITY: is 101, expected 100"},
        Edit{"chain device", 0, DumpId::kNftChains, kOutput,
             with("4/1", NFTA_HOOK_DEV, text("eth0")), "NFTA_HOOK_DEV"},
        Edit{"chain policy", 0, DumpId::kNftChains, kOutput, set("5", be32(NF_DROP)),
             "NFTA_CHAIN_POLICY: is 0, expected 1"},
        Edit{"chain type", 0, DumpId::kNftChains, kPostrouting, set("7", text("filter")),
             "NFTA_CHAIN_TYPE: is \"filter\", expected nat"},
        Edit{"chain flags", 0, DumpId::kNftChains, kPostrouting, set("10", be32(3)),
             "NFTA_CHAIN_FLAGS: is 3, expected 1"},
        Edit{"chain uses", 0, DumpId::kNftChains, kDockerOutput, set("6", be32(4)),
             "NFTA_CHAIN_USE: is 4, expected 3"},
        Edit{"base chain uses", 0, DumpId::kNftChains, kOutput, set("6", be32(2)),
             "NFTA_CHAIN_USE: is 2, expected 1"},
        Edit{"chain comment", 0, DumpId::kNftChains, kOutput,
             with("1", NFTA_CHAIN_USERDATA, Bytes(4)), "NFTA_CHAIN_USERDATA"},
        Edit{"chain without a hook", 0, DumpId::kNftChains, kOutput, without("4"),
             "NFTA_CHAIN_HOOK: is missing"},
        Edit{"chain with a policy", 0, DumpId::kNftChains, kDockerOutput,
             with("1", NFTA_CHAIN_POLICY, be32(NF_ACCEPT)), "NFTA_CHAIN_POLICY"},
        Edit{"chain with flags", 0, DumpId::kNftChains, kDockerOutput,
             with("1", NFTA_CHAIN_FLAGS, be32(NFT_CHAIN_BINDING)), "NFTA_CHAIN_FLAGS"},
        Edit{"chain counters", 1, DumpId::kNftChains, kOutput, without("8/1"),
             "NFTA_COUNTER_BYTES: is missing"}));

INSTANTIATE_TEST_SUITE_P(Rules, EngineEdit,
                         testing::Values(
                             Edit{"other chain", 0, DumpId::kNftRules, kJumpBack,
                                  set("2", text("INPUT")),
                                  "a rule in chain INPUT of table ip nat, expected none but of the "
                                  "engine"},
                             Edit{"rule in another chain", 0, DumpId::kNftRules, kJump,
                                  set("2", text("DOCKER_OUTPUT")),
                                  "ip nat DOCKER_OUTPUT #3: NFT_MSG_NEWRULE: is there"},
                             Edit{"position", 0, DumpId::kNftRules, kDnatUdp, set("6", be64(3)),
                                  "ip nat DOCKER_OUTPUT #2: NFT_MSG_NEWRULE/NFTA_RULE_POSITION: "
                                  "follows rule 3"},
                             Edit{"comment", 0, DumpId::kNftRules, kJump,
                                  with("1", NFTA_RULE_USERDATA, Bytes(4)),
                                  "ip nat OUTPUT #1: NFT_MSG_NEWRULE/NFTA_RULE_USERDATA"},
                             Edit{"compat", 1, DumpId::kNftRules, kSnatTcp,
                                  with("1", NFTA_RULE_COMPAT, Bytes(16)), "NFTA_RULE_COMPAT"},
                             Edit{"meta key", 0, DumpId::kNftRules, kDnatTcp,
                                  set("4/1[0]/2/2", be32(NFT_META_MARK)),
                                  "ELEM[1]/NFTA_EXPR_DATA(meta)/NFTA_META_KEY: is 3, expected 16"},
                             Edit{"meta register", 0, DumpId::kNftRules, kDnatTcp,
                                  set("4/1[0]/2/1", be32(2)), "NFTA_META_DREG: is 2, expected 1"},
                             Edit{"protocol", 0, DumpId::kNftRules, kDnatTcp,
                                  set("4/1[1]/2/3/1", {132}),
                                  "NFTA_DATA_VALUE: is 84, expected 06"},
                             Edit{"protocol in the header", 1, DumpId::kNftRules, kSnatUdp,
                                  set("4/1[3]/2/3/1", {6}),
                                  "ip nat DOCKER_POSTROUTING #2: NFT_MSG_NEWRULE"},
                             Edit{"protocol elsewhere", 1, DumpId::kNftRules, kDnatUdp,
                                  set("4/1[2]/2/3", be32(8)),
                                  "NFTA_PAYLOAD_OFFSET: is 8, expected 9"},
                             Edit{"not the protocol", 0, DumpId::kNftRules, kDnatTcp,
                                  set("4/1[1]/2/2", be32(NFT_CMP_NEQ)),
                                  "NFTA_CMP_OP: is 1, expected 0"},
                             Edit{"comparison of another register", 0, DumpId::kNftRules, kDnatTcp,
                                  set("4/1[1]/2/1", be32(2)), "NFTA_CMP_SREG: is 2, expected 1"},
                             Edit{"address", 0, DumpId::kNftRules, kJump,
                                  set("4/1[1]/2/3/1", kOther),
                                  "ELEM[2]/NFTA_EXPR_DATA(cmp)/NFTA_CMP_DATA/NFTA_DATA_VALUE: is "
                                  "7f00000c"},
                             Edit{"address of the way back", 1, DumpId::kNftRules, kJumpBack,
                                  set("4/1[1]/2/3/1", {10, 0, 0, 1}),
                                  "is 0a000001, expected 7f00000b"},
                             Edit{"address of a translation", 1, DumpId::kNftRules, kSnatTcp,
                                  set("4/1[1]/2/3/1", kOther), "is 7f00000c, expected 7f00000b"},
                             Edit{"network of the address", 0, DumpId::kNftRules, kJump,
                                  set("4/1[0]/2/4", be32(1)), "NFTA_PAYLOAD_LEN: is 1, expected 4"},
                             Edit{"longer address", 0, DumpId::kNftRules, kJump,
                                  set("4/1[1]/2/3/1", kLookalike),
                                  "is 7f00000b00, expected 7f00000b"},
                             Edit{"source for destination", 0, DumpId::kNftRules, kJump,
                                  set("4/1[0]/2/3", be32(12)),
                                  "NFTA_PAYLOAD_OFFSET: is 12, expected 16"},
                             Edit{"destination for source", 0, DumpId::kNftRules, kSnatUdp,
                                  set("4/1[2]/2/3", be32(16)),
                                  "NFTA_PAYLOAD_OFFSET: is 16, expected 12"},
                             Edit{"other header", 0, DumpId::kNftRules, kJump,
                                  set("4/1[0]/2/2", be32(0)),
                                  "NFTA_PAYLOAD_BASE: is 0, expected 1"},
                             Edit{"payload register", 0, DumpId::kNftRules, kJump,
                                  set("4/1[0]/2/1", be32(2)),
                                  "NFTA_PAYLOAD_DREG: is 2, expected 1"},
                             Edit{"payload written", 0, DumpId::kNftRules, kJump,
                                  with("4/1[0]/2/1", NFTA_PAYLOAD_SREG, be32(1)),
                                  "NFTA_PAYLOAD_SREG"},
                             Edit{"port", 0, DumpId::kNftRules, kDnatUdp,
                                  set("4/1[5]/2/3/1", be16(54)),
                                  "NFTA_DATA_VALUE: is 0036, expected 0035"},
                             Edit{"source port", 0, DumpId::kNftRules, kDnatUdp,
                                  set("4/1[4]/2/3", be32(0)),
                                  "NFTA_PAYLOAD_OFFSET: is 0, expected 2"},
                             Edit{"port of the way back", 0,
                                  DumpId::kNftRules, kSnatUdp, set("4/1[5]/2/3/1", be16(53)),
                                  "NFTA_DATA_VALUE: is 0035, expected "},
                             Edit{"jump elsewhere", 0, DumpId::kNftRules, kJump,
                                  set("4/1[3]/2/2/2/2", text("DOCKER_POSTROUTING")),
                                  "NFTA_VERDICT_CHAIN: is \"DOCKER_POSTROUTING\", expected "
                                  "DOCKER_OUTPUT"},
                             Edit{"goto", 0, DumpId::kNftRules, kJump,
                                  set("4/1[3]/2/2/2/1", be32(static_cast<std::uint32_t>(NFT_GOTO))),
                                  "NFTA_VERDICT_CODE: is 4294967292, expected 4294967293"},
                             Edit{"counter gone", 0, DumpId::kNftRules, kJump, without("4/1[2]"),
                                  "NFTA_LIST_ELEM[3]/NFTA_EXPR_NAME: is \"immediate\", expected "
                                  "counter"},
                             Edit{
                                 "verdict gone", 0, DumpId::kNftRules, kJump, without("4/1[3]"),
                                 "ip nat OUTPUT #1: the rule ends where \"immediate\" is expected"},
                             Edit{"second verdict", 0, DumpId::kNftRules, kJump,
                                  [](Attributes& all) {
                                    auto& list = at(all, "4").children;
                                    list.push_back(list.back());
                                  },
                                  "NFTA_EXPR_NAME: is \"immediate\", expected the end of the rule"},
                             Edit{"match more", 0, DumpId::kNftRules, kDnatTcp,
                                  [](Attributes& all) {
                                    auto& list = at(all, "4").children;
                                    list.insert(list.begin(), {list.at(2), list.at(3)});
                                  },
                                  "NFTA_EXPR_NAME: is \"meta\", expected payload"},
                             Edit{"native translation", 1, DumpId::kNftRules, kDnatTcp,
                                  set("4/1[7]/1", text("nat")),
                                  "NFTA_EXPR_NAME: is \"nat\", expected target"},
                             Edit{"other target", 1, DumpId::kNftRules, kDnatTcp,
                                  set("4/1[7]/2/1", text("REDIRECT")),
                                  "NFTA_TARGET_NAME: is \"REDIRECT\", expected DNAT"},
                             Edit{"dnat for snat", 0, DumpId::kNftRules, kSnatTcp,
                                  set("4/1[7]/2/1", text("DNAT")),
                                  "NFTA_TARGET_NAME: is \"DNAT\", expected SNAT"},
                             Edit{"revision", 0, DumpId::kNftRules, kDnatTcp,
                                  set("4/1[7]/2/2", be32(1)), "NFTA_TARGET_REV: is 1, expected 2"},
                             Edit{"snat revision", 0, DumpId::kNftRules, kSnatTcp,
                                  set("4/1[7]/2/2", be32(2)), "NFTA_TARGET_REV: is 2, expected 0"},
                             Edit{"shorter target", 0, DumpId::kNftRules, kDnatTcp,
                                  [](Attributes& all) { at(all, kInfo).value.resize(44); },
                                  "NFTA_TARGET_INFO: is 44, expected 48"},
                             Edit{"longer target", 1, DumpId::kNftRules, kSnatUdp,
                                  [](Attributes& all) { at(all, kInfo).value.resize(32); },
                                  "NFTA_TARGET_INFO: is 32, expected 24"}));

}  // namespace
}  // namespace vethgate::test
