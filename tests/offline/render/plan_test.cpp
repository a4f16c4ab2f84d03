// The plan document: what is written, what is read, and every plan that is refused.
#include "render/plan.hpp"

#include <map>

#include "base/digest.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

// The plan's text with a digest that fits whatever the document says now.
std::string sealed(Json document) {
  document.erase("digest");
  const std::string digest = sha256Hex(canonicalText(document));
  document["digest"] = digest;
  return document.dump();
}

Json smallPlan() {
  return {
      {"version", 1},
      {"policy", std::string(64, 'a')},
      {"link", linkDocument(goldenLink())},
      {"iptables",
       {{"v4",
         {{{"target", "LOG"},
           {"protocol", "tcp"},
           {"syn", true},
           {"limit", {{"rate", 6}, {"unit", 60}, {"burst", 12}}},
           {"logPrefix", "vethgate-conn:"},
           {"why", "log"}},
          {{"target", "ACCEPT"},
           {"protocol", "tcp"},
           {"ports", "443"},
           {"to", "10.0.0.1/32"},
           {"why", "pass"}},
          {{"target", "DROP"}, {"to", "10.0.0.0/8"}, {"why", "drop"}}}},
        {"v6",
         {{{"target", "ACCEPT"},
           {"protocol", "ipv6-icmp"},
           {"icmpType", 136},
           {"hopLimit", 255},
           {"why", "nd"}}}}}},
      {"flower",
       {{{"pref", 101},
         {"handle", 1},
         {"protocol", "ip"},
         {"ipProtocol", "tcp"},
         {"to", "10.0.0.1/32"},
         {"ports", "443"},
         {"action", "pass"},
         {"why", "pass"}},
        {{"pref", 102},
         {"handle", 1},
         {"protocol", "ip"},
         {"to", "10.0.0.0/8"},
         {"action", "drop"},
         {"why", "drop"}},
        {{"pref", 102},
         {"handle", 2},
         {"protocol", "ip"},
         {"to", "11.0.0.0/8"},
         {"action", "drop"},
         {"why", "drop"}},
        {{"pref", 103}, {"handle", 1}, {"protocol", "all"}, {"action", "drop"}, {"why", "tail"}}}}};
}

TEST(PlanDocument, isReadFieldByField) {
  const Plan plan = readPlan(sealed(smallPlan()));
  EXPECT_EQ(plan.policyDigest, std::string(64, 'a'));
  EXPECT_EQ(plan.link, goldenLink());
  ASSERT_EQ(plan.iptables->v4.size(), 3U);
  const IptablesRule& log = plan.iptables->v4[0];
  EXPECT_EQ(log.target, Target::kLog);
  EXPECT_EQ(log.protocol, kProtocolTcp);
  EXPECT_TRUE(log.syn);
  EXPECT_EQ(log.limit, (RateLimit{6, 60, 12}));
  EXPECT_EQ(log.logPrefix, "vethgate-conn:");
  EXPECT_EQ(plan.iptables->v4[1].ports, PortRange(443, 443));
  EXPECT_EQ(plan.iptables->v4[2].to->text(), "10.0.0.0/8");
  EXPECT_EQ(plan.iptables->v6[0].icmpType, 136);
  EXPECT_EQ(plan.iptables->v6[0].hopLimit, 255);
  ASSERT_EQ(plan.flower->size(), 4U);
  EXPECT_EQ(plan.flower->at(0).ipProtocol, kProtocolTcp);
  EXPECT_EQ(plan.flower->at(2).pref, 102);
  EXPECT_EQ(plan.flower->at(2).handle, 2U);
  EXPECT_EQ(plan.flower->at(3).protocol, EtherType::kAll);
  EXPECT_EQ(plan.ruleCount(), 8U);
}

TEST(PlanDocument, isWrittenInCanonicalFormWithItsDigestFirst) {
  for (const std::string& name : goldenNames()) {
    const Plan plan = goldenPlan(name);
    const std::string text = planText(plan);
    Json document = parseDocument(text, "plan", kMaxPlanBytes);
    EXPECT_EQ(canonicalText(document), text) << name;
    EXPECT_EQ(document.at("digest"), planDigest(plan)) << name;
    document.erase("digest");
    EXPECT_EQ(sha256Hex(canonicalText(document)), planDigest(plan)) << name;
  }
}

TEST(PlanDocument, leavesOutTheKeyOfALayer) {
  EXPECT_FALSE(readPlan(planText(goldenPlan("layers-flower"))).iptables);
  EXPECT_FALSE(readPlan(planText(goldenPlan("layers-iptables"))).flower);
  EXPECT_EQ(parseDocument(planText(goldenPlan("layers-flower")), "plan").count("iptables"), 0U);
}

TEST(PlanDocument, escapesWhatAWhySays) {
  Plan plan = goldenPlan("minimal");
  plan.flower->front().why = R"(quote " and backslash \ and /)";
  EXPECT_EQ(readPlan(planText(plan)), plan);
}

struct Change {
  const char* pointer;
  Json value;  // null removes
  ExitCode code;
  const char* message;
};

void PrintTo(const Change& change, std::ostream* out) {
  *out << change.pointer << " = " << change.value.dump();
}

class PlanRefusal : public testing::TestWithParam<Change> {};

TEST_P(PlanRefusal, hasItsExitCodeAndNamesThePlace) {
  Json document = smallPlan();
  const Json::json_pointer pointer(GetParam().pointer);
  if (GetParam().value.is_null()) {
    document.at(pointer.parent_pointer()).erase(pointer.back());
  } else {
    document[pointer] = GetParam().value;
  }
  expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(sealed(document))); }), GetParam().code,
                GetParam().message);
}

constexpr ExitCode kBad = ExitCode::kBadInput;
constexpr ExitCode kNo = ExitCode::kUntouchable;

INSTANTIATE_TEST_SUITE_P(
    Structure, PlanRefusal,
    testing::Values(Change{"/version", 2, kBad, "plan.version"},
                    Change{"/version", {}, kBad, "version"},
                    Change{"/extra", 1, kBad, "\"extra\" is unknown"},
                    Change{"/policy", {}, kBad, "\"policy\" is missing"},
                    Change{"/policy", "abc", kBad, "plan.policy"},
                    Change{"/policy", std::string(64, 'A'), kBad, "plan.policy"},
                    Change{"/link", {}, kBad, "\"link\" is missing"},
                    Change{"/link/index", 0, kBad, "plan.link.index"},
                    Change{"/link/name", "eth0; reboot", kBad, "plan.link.name"},
                    Change{"/iptables", Json::array(), kBad, "plan.iptables must be an object"},
                    Change{"/iptables/v4", {}, kBad, "\"v4\" is missing"},
                    Change{"/iptables/v6", {}, kBad, "\"v6\" is missing"},
                    Change{"/iptables/v6", 1, kBad, "plan.iptables.v6 must be a list"},
                    Change{"/iptables/v8", Json::array(), kBad, "\"v8\" is unknown"},
                    Change{"/flower", Json::object(), kBad, "plan.flower must be a list"},
                    Change{"/flower/0", "drop", kBad, "plan.flower[0] must be an object"}));

INSTANTIATE_TEST_SUITE_P(
    IptablesRules, PlanRefusal,
    testing::Values(
        Change{"/iptables/v4/2/target", {}, kBad, "\"target\" is missing"},
        Change{"/iptables/v4/2/target", 1, kBad, "plan.iptables.v4[2].target"},
        Change{"/iptables/v4/2/target", "RETURN", kNo, "plan.iptables.v4[2].target is \"RETURN\""},
        Change{"/iptables/v4/2/target", "drop", kNo, "ACCEPT, DROP, LOG"},
        Change{"/iptables/v4/2/jump", "chain", kBad, "\"jump\" is unknown"},
        Change{"/iptables/v4/2/why", {}, kBad, "\"why\" is missing"},
        Change{"/iptables/v4/2/why", "a\nb", kBad, "plan.iptables.v4[2].why"},
        Change{"/iptables/v4/2/to", "10.0.0.1/8", kBad, "plan.iptables.v4[2].to"},
        Change{"/iptables/v4/2/to", "0.0.0.0/0", kBad, "written as no destination"},
        Change{"/iptables/v4/2/to", "fc00::/7", kNo, "fc00::/7 in an IPv4 rule"},
        Change{"/iptables/v6/0/to", "10.0.0.0/8", kNo, "10.0.0.0/8 in an IPv6 rule"},
        Change{"/iptables/v4/1/protocol", "sctp", kNo, "plan.iptables.v4[1].protocol"},
        Change{"/iptables/v4/1/protocol", "icmpv6", kNo, "plan.iptables.v4[1].protocol"},
        Change{"/iptables/v4/1/protocol", 6, kBad, "plan.iptables.v4[1].protocol"},
        Change{"/iptables/v4/1/protocol", {}, kBad, "ports are matched without tcp or udp"},
        Change{"/iptables/v4/1/ports", "0", kBad, "plan.iptables.v4[1].ports"},
        Change{"/iptables/v4/1/ports", "9-1", kBad, "plan.iptables.v4[1].ports"},
        Change{"/iptables/v4/1/ports", 443, kBad, "plan.iptables.v4[1].ports"},
        Change{"/iptables/v4/1/icmpType", 8, kBad, "without ICMPv6"},
        Change{"/iptables/v4/1/hopLimit", 8, kBad, "without ICMPv6"},
        Change{"/iptables/v6/0/icmpType", 256, kBad, "plan.iptables.v6[0].icmpType"},
        Change{"/iptables/v6/0/icmpType", -1, kBad, "plan.iptables.v6[0].icmpType"},
        Change{"/iptables/v6/0/hopLimit", 256, kBad, "plan.iptables.v6[0].hopLimit"},
        Change{"/iptables/v6/0/protocol", "tcp", kBad, "without ICMPv6"},
        Change{"/iptables/v6/0/ports", "1", kBad, "without tcp or udp"},
        Change{"/iptables/v4/0/syn", false, kBad, "plan.iptables.v4[0].syn"},
        Change{"/iptables/v4/0/syn", 1, kBad, "plan.iptables.v4[0].syn"},
        Change{"/iptables/v4/0/protocol", "udp", kBad, "TCP flags"},
        Change{"/iptables/v4/2/protocol", "tcp", kNo, "narrowed by its destination alone"}));

INSTANTIATE_TEST_SUITE_P(
    Logging, PlanRefusal,
    testing::Values(Change{"/iptables/v4/0/logPrefix", {}, kBad, "LOG without \"logPrefix\""},
                    Change{"/iptables/v4/0/logPrefix", "", kNo, "plan.iptables.v4[0].logPrefix"},
                    Change{"/iptables/v4/0/logPrefix", "two words", kNo, "without white space"},
                    Change{"/iptables/v4/0/logPrefix", std::string(30, 'x'), kNo, "1 to 29"},
                    Change{"/iptables/v4/0/logPrefix", "tab\t", kBad, "printable"},
                    Change{"/iptables/v4/2/logPrefix", "x", kBad, "only LOG has a prefix"},
                    Change{"/iptables/v4/0/limit", {}, kNo, "LOG without a limit"},
                    Change{"/iptables/v4/2/limit",
                           {{"rate", 6}, {"unit", 60}, {"burst", 12}},
                           kNo,
                           "only LOG may be limited"},
                    Change{"/iptables/v4/0/limit/rate", 0, kBad, "limit.rate"},
                    Change{"/iptables/v4/0/limit/burst", 0, kBad, "limit.burst"},
                    Change{"/iptables/v4/0/limit/burst", 4294967296, kBad, "limit.burst"},
                    Change{"/iptables/v4/0/limit/burst", 10001, kNo, "limit is 6 in 60 seconds"},
                    Change{"/iptables/v4/0/limit/unit", 61, kNo, "limit is 6 in 61 seconds"},
                    Change{"/iptables/v4/0/limit/unit", {}, kBad, "\"unit\" is missing"},
                    Change{"/iptables/v4/0/limit/rate", 60, kNo, "not a rate in the form"},
                    Change{"/iptables/v4/0/limit/invert", true, kBad, "\"invert\" is unknown"}));

INSTANTIATE_TEST_SUITE_P(
    FlowerFilters, PlanRefusal,
    testing::Values(Change{"/flower/0/pref", {}, kBad, "\"pref\" is missing"},
                    Change{"/flower/0/pref", "101", kBad, "plan.flower[0].pref"},
                    Change{"/flower/0/pref", -1, kBad, "plan.flower[0].pref"},
                    Change{"/flower/0/pref", 0, kNo, "plan.flower[0].pref is 0"},
                    Change{"/flower/0/pref", 100, kNo, "plan.flower[0].pref is 100"},
                    Change{"/flower/3/pref", 65536, kNo, "plan.flower[3].pref is 65536"},
                    Change{"/flower/0/pref", 104, kNo, "pref 102 stands after pref 104"},
                    Change{"/flower/2/pref", 104, kNo, "pref 103 stands after pref 104"},
                    Change{"/flower/0/handle", 0, kNo, "plan.flower[0].handle is 0"},
                    Change{"/flower/0/handle", 4294967296, kBad, "plan.flower[0].handle"},
                    Change{"/flower/2/handle", 1, kNo, "pref 102 holds a handle twice"},
                    Change{"/flower/2/to", "10.0.0.0/8", kNo, "pref 102 holds a match twice"},
                    Change{"/flower/3/pref", 102, kNo, "pref 102 holds two protocols"},
                    Change{"/flower/2/action", "pass", kNo, "pref 102 holds a pass"},
                    Change{"/flower/2/action", "shot", kNo, "plan.flower[2].action is \"shot\""},
                    Change{"/flower/2/action", {}, kBad, "\"action\" is missing"},
                    Change{"/flower/2/chain", 7, kBad, "\"chain\" is unknown"},
                    Change{"/flower/2/protocol", "802.1Q", kNo, "plan.flower[2].protocol"},
                    Change{"/flower/2/protocol", {}, kBad, "\"protocol\" is missing"},
                    Change{"/flower/0/ipProtocol", "icmp6", kNo, "plan.flower[0].ipProtocol"},
                    Change{"/flower/0/ipProtocol", "6", kNo, "plan.flower[0].ipProtocol"},
                    Change{"/flower/0/ipProtocol", "047", kNo, "plan.flower[0].ipProtocol"},
                    Change{"/flower/0/ipProtocol", "0", kNo, "plan.flower[0].ipProtocol"},
                    Change{"/flower/0/ipProtocol", "256", kNo, "plan.flower[0].ipProtocol"},
                    Change{"/flower/0/ipProtocol", "ipv6-icmp", kNo, "plan.flower[0].ipProtocol"},
                    Change{
                        "/flower/0/ipProtocol", {}, kBad, "ports are matched without tcp or udp"},
                    Change{"/flower/0/ports", "1-", kBad, "plan.flower[0].ports"},
                    Change{"/flower/0/to", "2001:db8::1/128", kNo, "in an IPv4 rule"},
                    Change{"/flower/3/to", "10.0.0.0/8", kBad, "not IP"},
                    Change{"/flower/3/ipProtocol", "tcp", kBad, "not IP"},
                    Change{"/flower/1/ipProtocol", "tcp", kNo, "narrowed by its destination alone"},
                    Change{"/flower/0/icmpType", 135, kBad, "without ICMPv6"}));

TEST(PlanDocument, withoutARuleIsEmpty) {
  Json document = smallPlan();
  document["flower"] = Json::array();
  EXPECT_EQ(readPlan(sealed(document)).ruleCount(), 4U);
  document["iptables"] = {{"v4", Json::array()}, {"v6", Json::array()}};
  expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(sealed(document))); }),
                ExitCode::kEmptyPlan, "no rule");
  document.erase("flower");
  document.erase("iptables");
  expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(sealed(document))); }),
                ExitCode::kEmptyPlan, "no rule");
}

TEST(PlanDocument, isRefusedWithAForeignDigest) {
  Json document = parseDocument(sealed(smallPlan()), "plan");
  EXPECT_EQ(readPlan(document.dump()).ruleCount(), 8U);
  document["iptables"]["v4"][2]["to"] = "10.0.0.0/9";
  expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(document.dump())); }),
                ExitCode::kBadInput, "plan.digest is ");
  // The digest is checked before anything that it covers is judged.
  document["iptables"]["v4"][2]["target"] = "RETURN";
  expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(document.dump())); }),
                ExitCode::kBadInput, "plan.digest is ");
  document["digest"] = "none";
  expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(document.dump())); }),
                ExitCode::kBadInput, "64 lower-case hex digits");
  document.erase("digest");
  expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(document.dump())); }),
                ExitCode::kBadInput, "\"digest\" is missing");
}

// White space is not covered by a digest of the canonical form; whatever it stands between is.
TEST(PlanDocument, isReadInAnyLayout) {
  const std::string text = planText(goldenPlan("reference"));
  const std::string spaced = parseDocument(text, "plan").dump(2);
  for (const std::string& layout : {text, spaced}) {
    const PlanDocument document = readPlanDocument(layout);
    EXPECT_EQ(document.plan, goldenPlan("reference"));
    EXPECT_EQ(document.digest, planDigest(goldenPlan("reference")));
    std::string changed = layout;
    changed.replace(changed.find("10.0.0.0/8"), 10, "11.0.0.0/8");
    expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(changed)); }), ExitCode::kBadInput,
                  "plan.digest is ");
  }
}

TEST(PlanDocument, namesTheRuleOfALongList) {
  Json document = smallPlan();
  document["iptables"]["v4"][2]["target"] = "RETURN";
  expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(sealed(document))); }),
                ExitCode::kUntouchable, "plan.iptables.v4[2].target");
  document = smallPlan();
  document["flower"][1] = 7;
  expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(sealed(document))); }),
                ExitCode::kBadInput, "plan.flower[1] must be an object");
  document["flower"] = Json::object();
  expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(sealed(document))); }),
                ExitCode::kBadInput, "plan.flower must be a list");
}

TEST(PlanText, isRefusedWhenItIsCutAnywhere) {
  const std::string text = planText(goldenPlan("minimal"));
  EXPECT_EQ(readPlan(text + "\n"), goldenPlan("minimal"));
  for (std::size_t length = 0; length < text.size(); length += 13) {
    EXPECT_EQ(outcomeOf([&] { static_cast<void>(readPlan(text.substr(0, length))); }).code,
              ExitCode::kBadInput)
        << length;
  }
  EXPECT_EQ(outcomeOf([&] { static_cast<void>(readPlan(text + "x")); }).code, ExitCode::kBadInput);
  EXPECT_EQ(outcomeOf([&] { static_cast<void>(readPlan(text + text)); }).code, ExitCode::kBadInput);
}

TEST(PlanText, isBounded) {
  std::string text = planText(goldenPlan("minimal"));
  text.resize(kMaxPlanBytes, ' ');
  EXPECT_EQ(readPlan(text), goldenPlan("minimal"));
  expectRefusal(outcomeOf([&] { static_cast<void>(readPlan(text + " ")); }), ExitCode::kBadInput,
                "at most 67108864");
}

}  // namespace
}  // namespace vethgate::test
