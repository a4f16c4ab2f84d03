// The netdev layer read back: a namespace as two kernels had it, changes of single bytes of it, and
// what its rules let through. The changes are made in the capture's text, so that no decoder helps
// to test itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/json.hpp"
#include "base/program.hpp"
#include "render/render.hpp"
#include "verifier/proof.hpp"
#include "verifier/verify.hpp"

namespace vethgate {
namespace {

using ::testing::HasSubstr;

std::string file(const std::string& name) {
  return readFile(std::string(VETHGATE_SOURCE_DIR) + "/tests/offline/verifier/captures/" + name,
                  name, kMaxCaptureBytes);
}

Policy policy() { return readPolicy(std::string_view(file("netdev.policy.json"))); }
Link link(const std::string& kernel) {
  return readLink(parseDocument(file("link-" + kernel + ".json"), "link"), "link");
}
std::string capture(const std::string& kernel) {
  return file("contained-netdev-" + kernel + ".json");
}

Verdict judged(const std::string& text, const std::string& kernel) {
  return judge(policy(), renderPlan(policy(), link(kernel)), readCapture(text), true);
}

std::string reasons(const Verdict& verdict) {
  std::string text;
  for (const std::string& reason : verdict.reasons) {
    text += reason + "\n";
  }
  return text;
}

class NetdevReadback : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kernels, NetdevReadback, testing::Values("6.1", "6.12", "6.18"),
                         [](const auto& kernel) { return "Linux6_" + kernel.param.substr(2); });

TEST_P(NetdevReadback, IsContainedAndCounted) {
  const Verdict verdict = judged(capture(GetParam()), GetParam());
  EXPECT_EQ(verdict.code, ExitCode::kDone) << reasons(verdict);
  EXPECT_EQ(verdict.netdev, renderPlan(policy(), link(GetParam())).netdev->size());
  EXPECT_TRUE(verdict.readback.has_value());
  EXPECT_THAT(verdictText(verdict), HasSubstr("\"netdev #1 drop v4_1 (4 prefixes: cloud metadata"));
  EXPECT_THAT(verdict.reach, HasSubstr("netdev, IPv4"));
}

// The plan's reasons are those of its own rules, and of no others.
TEST_P(NetdevReadback, SaysNoReasonForARuleThatNobodyAskedFor) {
  Plan plan = renderPlan(policy(), link(GetParam()));
  plan.netdev->front().to.pop_back();
  const Verdict verdict = judge(policy(), plan, readCapture(capture(GetParam())), false);
  EXPECT_EQ(verdict.code, ExitCode::kRefused);
  EXPECT_THAT(verdictText(verdict), HasSubstr("\"netdev #1 drop v4_1 (4 prefixes)\":0"));
}

std::string changed(std::string text, const std::string& from, const std::string& to, bool last) {
  const std::size_t at = last ? text.rfind(from) : text.find(from);
  if (at == std::string::npos) {
    throw std::logic_error("the capture does not hold " + from);
  }
  return text.replace(at, from.size(), to);
}

struct Change {
  const char* name;
  const char* from;
  const char* to;
  const char* reason;
  bool last = false;
};
void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

class NetdevChange : public testing::TestWithParam<Change> {};

TEST_P(NetdevChange, IsRefusedByName) {
  const Change& change = GetParam();
  const Verdict verdict =
      judged(changed(capture("6.1"), change.from, change.to, change.last), "6.1");
  EXPECT_EQ(verdict.code, ExitCode::kRefused);
  EXPECT_THAT(reasons(verdict), HasSubstr(change.reason));
}

// Attributes in hex: length and type (little-endian), then the value (big-endian).
INSTANTIATE_TEST_SUITE_P(
    Bytes, NetdevChange,
    testing::Values(
        Change{"PolicyAccept", "0800050000000000", "0800050000000001", "NFTA_CHAIN_POLICY"},
        Change{"Priority", "08000100000000010800020000000000", "080001000000000108000200fffffff6",
               "NFTA_HOOK_PRIORITY"},
        Change{"Hook", "0800010000000001", "0800010000000000", "NFTA_HOOK_HOOKNUM"},
        Change{"OtherDevice", "09000300657468300000000008000500",
               "09000300657468310000000008000500", "expected eth0"},
        Change{"TableName", "0d00010076657468676174650000000008000200",
               "0d00010076657468676174660000000008000200", "is there, expected none"},
        Change{"SetNotConstant", "0800030000000006", "0800030000000004", "NFTA_SET_FLAGS"},
        Change{"SetKeyLength", "0800050000000004", "0800050000000008", "NFTA_SET_KEY_LEN"},
        // 10.0.0.0/8 starts one bit later.
        Change{"ElementMoved", "080001000a000000", "080001000a800000",
               "destinations lack 10.0.0.0/8; destinations hold besides 10.128.0.0/9"},
        Change{"ElementOutOfOrder", "080001000a000000", "08000100ff000000", "is not below"},
        Change{"EndIsNone", "0800030000000001", "0800030000000000", "NFTA_SET_ELEM_FLAGS"},
        Change{"LookupInverted", "0800050000000000", "0800050000000001", "NFTA_LOOKUP_FLAGS", true},
        Change{"EthertypeElsewhere", "080003000000000c", "080003000000000d",
               "expected a match that a plan may hold"},
        Change{"AnotherEthertype", "0600010086dd", "0600010086de", "the ethertype is 34526"},
        Change{"NetworkHeader", "0800020000000000080003000000001e",
               "0800020000000001080003000000001e", "bytes at 30 of header 1"}),
    [](const auto& change) { return change.param.name; });

TEST(NetdevReadbackOf, AnotherPolicyIsRefused) {
  const Policy other = readPolicy(std::string_view(R"({"version":1,"layers":["iptables"]})"));
  const Verdict verdict = judge(other, renderPlan(other, link("6.1")), readCapture(capture("6.1")));
  EXPECT_EQ(verdict.code, ExitCode::kRefused);
  EXPECT_THAT(reasons(verdict), HasSubstr("table netdev vethgate is there, expected none"));
  EXPECT_THAT(reasons(verdict), HasSubstr("set v4_1 of table netdev vethgate is there"));
}

TEST(NetdevReadbackOf, AnotherAddressIsRefused) {
  Link moved = link("6.1");
  moved.addresses = {Address::parse("198.51.100.3").value()};
  const Verdict verdict = judge(policy(), renderPlan(policy(), moved), readCapture(capture("6.1")));
  EXPECT_EQ(verdict.code, ExitCode::kRefused);
  EXPECT_THAT(reasons(verdict), HasSubstr("sender is"));
  EXPECT_THAT(reasons(verdict), HasSubstr("ARP of 198.51.100.2"));
}

Capture withElements(const std::function<void(std::vector<RawMessage>&)>& change) {
  Capture result = readCapture(capture("6.1"));
  change(*result.dump(DumpId::kNftElements));
  return result;
}

TEST(NetdevElements, AreNeededWholeAndOnce) {
  const auto judgedWith = [](const std::function<void(std::vector<RawMessage>&)>& change) {
    return reasons(judge(policy(), renderPlan(policy(), link("6.1")), withElements(change)));
  };
  EXPECT_EQ(judgedWith([](auto&) {}), "");
  // The end of the last answer.
  EXPECT_THAT(judgedWith([](auto& dump) { dump.pop_back(); }), HasSubstr("NLMSG_DONE"));
  // The last answer, and then all of them.
  EXPECT_THAT(judgedWith([](auto& dump) { dump.resize(dump.size() - 3); }),
              HasSubstr("sequence numbers"));
  EXPECT_THAT(judgedWith([](auto& dump) { dump.clear(); }), HasSubstr("sequence numbers"));
  // One end more, which could close a gap.
  EXPECT_THAT(judgedWith([](auto& dump) { dump.push_back(dump.back()); }),
              HasSubstr("nft.elements: 5 answers are there, expected 4"));
  EXPECT_THAT(judgedWith([](auto& dump) { dump.insert(dump.begin(), dump.front()); }),
              HasSubstr("is not below the one before it"));
}

std::vector<NetdevRule> rules() { return renderPlan(policy(), link("6.1")).netdev.value(); }

std::string proof(const std::vector<NetdevRule>& rules) {
  const auto found = disagreement(PolicyMeaning(policy()), netdevReach(rules, link("6.1")),
                                  Deadline::after(std::chrono::minutes(10)));
  return found ? found->text() : "";
}

TEST(NetdevProof, AgreesWithTheRenderedRules) { EXPECT_EQ(proof(rules()), ""); }

TEST(NetdevProof, FindsWhatMayLeaveThatMustNot) {
  std::vector<NetdevRule> changed = rules();
  const auto denied = std::find_if(changed.begin(), changed.end(),
                                   [](const NetdevRule& rule) { return rule.set == "v4_2"; });
  ASSERT_NE(denied, changed.end());
  denied->to.erase(denied->to.begin());
  EXPECT_EQ(proof(changed), "tcp 10.0.0.0:1 may leave by netdev #6; the policy denies it");
}

TEST(NetdevProof, FindsForeignAndMissingArp) {
  const auto arp = [](std::vector<NetdevRule>& all) -> NetdevRule& {
    return *std::find_if(all.begin(), all.end(),
                         [](const NetdevRule& rule) { return rule.protocol == EtherType::kArp; });
  };
  std::vector<NetdevRule> foreign = rules();
  arp(foreign).sender->address = Address::parse("198.51.100.9").value();
  EXPECT_THAT(proof(foreign), HasSubstr("ARP of 198.51.100.9"));
  foreign = rules();
  arp(foreign).sender->mac[5] ^= 1;
  EXPECT_THAT(proof(foreign), HasSubstr("ARP of 198.51.100.2 at 02:00:00:00:00:03"));
  foreign = rules();
  arp(foreign).sender.reset();
  EXPECT_THAT(proof(foreign), HasSubstr("ARP of any sender"));
  std::vector<NetdevRule> missing = rules();
  std::erase_if(missing, [](const NetdevRule& rule) { return rule.protocol == EtherType::kArp; });
  EXPECT_THAT(proof(missing), HasSubstr("ARP is dropped by netdev"));
}

TEST(NetdevProof, FindsOtherFramesThatLeave) {
  std::vector<NetdevRule> open = rules();
  open.back().action = FilterAction::kPass;
  EXPECT_THAT(proof(open), HasSubstr("may leave by netdev"));
}

}  // namespace
}  // namespace vethgate
