// The applier against a kernel, where the other suites do not look: without its one capability, and
// with a plan that takes many datagrams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/digest.hpp"
#include "base/json.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/snapshot.hpp"

namespace vethgate::live {
namespace {

using testing::HasSubstr;

TEST(Applier, WithoutItsCapabilityNamesItAndTouchesNothing) {
  for (const char* const policy : {kReferencePolicy, kOutputRulesPolicy, kFlowerPolicy}) {
    Host host;
    const Job job(host);
    const Rendered rendered = prepare(job, policy);
    const std::string before = snapshot(job);
    const Finished refused = run({.argv = {"setpriv", "--bounding-set=-net_admin",
                                           "--inh-caps=-net_admin", program("apply")},
                                  .input = rendered.plan,
                                  .in = &job.netns()});
    EXPECT_EQ(refused.exit, 6) << refused.summary();
    EXPECT_THAT(refused.lastErrorLine(), HasSubstr("CAP_NET_ADMIN"));
    EXPECT_EQ(refused.out, "");
    EXPECT_EQ(snapshot(job), before);
    const Finished applied = applyPlan(job.netns(), rendered.plan);
    EXPECT_TRUE(applied.ok()) << applied.summary();
  }
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(Applier, CountsWhatTheToolsThenCount) {
  constexpr int kPrefixes = 1000;  // several datagrams of filters, one transaction of 2,000 rules
  Json policy = {
      {"version", 1}, {"log", {{"rate", "6/minute"}, {"burst", 12}}}, {"deny", Json::array()}};
  for (int i = 0; i < kPrefixes; ++i) {
    policy["deny"].push_back("11." + std::to_string(i / 256) + "." + std::to_string(i % 256) +
                             ".0/24");
  }
  Host host;
  const Job job(host);
  const Rendered rendered = prepare(job, policy.dump());
  const Finished applied = applyPlan(job.netns(), rendered.plan);
  ASSERT_TRUE(applied.ok()) << applied.summary();

  const Json plan = Json::parse(rendered.plan);
  const Json answer = Json::parse(applied.out);
  EXPECT_EQ(answer.at("digest"), plan.at("digest"));
  const Json& counts = answer.at("applied");
  EXPECT_EQ(counts.at("iptables").at("v4"), plan.at("iptables").at("v4").size());
  EXPECT_EQ(counts.at("iptables").at("v6"), plan.at("iptables").at("v6").size());
  EXPECT_EQ(counts.at("flower"), plan.at("flower").size());
  EXPECT_GT(plan.at("flower").size(), static_cast<std::size_t>(kPrefixes));

  EXPECT_EQ(counts.at("iptables").at("v4"),
            count(tool(job, {"iptables-nft", "-S", "OUTPUT"}), "-A OUTPUT"));
  EXPECT_EQ(counts.at("iptables").at("v6"),
            count(tool(job, {"ip6tables-nft", "-S", "OUTPUT"}), "-A OUTPUT"));
  const Json link = Json::parse(rendered.link);
  EXPECT_EQ(counts.at("flower"), count(tool(job, {"tc", "filter", "show", "dev",
                                                  link.at("name").get<std::string>(), "egress"}),
                                       " handle "));
}

// Whoever cuts a plan can digest it again, and what is left is a plan; that it is not the policy's
// the verifier says, who derives its own.
TEST(Applier, PlanThatWasCutIsAppliedAndThenRefusedForBothFamilies) {
  Host host;
  const Job job(host);
  const Rendered rendered = prepare(job, kOutputRulesPolicy);
  Json plan = Json::parse(rendered.plan);
  for (const char* const family : {"v4", "v6"}) {
    Json& rules = plan["iptables"][family];
    rules.erase(rules.size() - 1);
  }
  plan.erase("digest");
  plan["digest"] = sha256Hex(canonicalText(plan));
  const Finished applied = applyPlan(job.netns(), plan.dump());
  ASSERT_TRUE(applied.ok()) << applied.summary();
  EXPECT_EQ(Json::parse(applied.out).at("digest"), plan.at("digest"));

  const Verdict verdict = verify(job.netns(), kOutputRulesPolicy, rendered.link);
  EXPECT_TRUE(verdict.refused()) << verdict;
  for (const char* const family : {"iptables v4 #", "iptables v6 #"}) {
    EXPECT_THAT(verdict.reasons(), testing::ContainsRegex(std::string(family) + ".* is missing"));
  }
}

}  // namespace
}  // namespace vethgate::live
