// What the programs refuse before they touch anything: each refusal with its exit code, the
// namespace compared before and after, and the same namespace then contained with what it should
// have been.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/digest.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/snapshot.hpp"

namespace vethgate::live {
namespace {

using testing::HasSubstr;

constexpr std::size_t kMoreThanAnyPlan = (std::size_t{64} << 20) + 1;

// Refused with `exit`, nothing touched, and the right plan is still welcome.
void expectRefusal(const Job& job, const std::string& plan, int exit, const std::string& because) {
  const std::string before = snapshot(job);
  const Finished refused = applyPlan(job.netns(), plan);
  EXPECT_EQ(refused.exit, exit) << refused.summary();
  EXPECT_THAT(refused.lastErrorLine(), HasSubstr(because));
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(snapshot(job), before);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) {
    throw std::runtime_error("no such text to replace: " + from);
  }
  return text.replace(at, from.size(), to);
}

class Plans : public testing::Test {
 protected:
  Plans() : job_(host_), rendered_(prepare(job_, kReferencePolicy)) {}
  ~Plans() override {
    const Finished applied = applyPlan(job_.netns(), rendered_.plan);
    EXPECT_TRUE(applied.ok()) << "the plan as it was rendered: " << applied.summary();
  }

  Host host_;
  Job job_;
  Rendered rendered_;
};

TEST_F(Plans, TruncatedIsRefused) {
  expectRefusal(job_, rendered_.plan.substr(0, rendered_.plan.size() / 2), 2, "plan");
}

TEST_F(Plans, EmptyIsRefused) { expectRefusal(job_, "", 2, "plan"); }

TEST_F(Plans, OversizeIsRefused) {
  expectRefusal(job_, rendered_.plan + std::string(kMoreThanAnyPlan, ' '), 2, "plan");
}

TEST_F(Plans, RuleThatTheDigestDoesNotCoverIsRefused) {
  expectRefusal(job_, replaced(rendered_.plan, "10.0.0.0/8", "11.0.0.0/8"), 2, "digest");
}

TEST_F(Plans, DigestOfAnotherPlanIsRefused) {
  const auto digest = [](const std::string& plan) {
    return Json::parse(plan).at("digest").get<std::string>();
  };
  const std::string foreign = digest(prepare(job_, kEmptyDenyPolicy).plan);
  expectRefusal(job_, replaced(rendered_.plan, digest(rendered_.plan), foreign), 2, "digest");
}

// A plan in all but its rules: no digest, no field and no type is what is wrong with it.
TEST_F(Plans, WellFormedPlanWithoutARuleIsRefused) {
  Json plan = Json::parse(rendered_.plan);
  for (const char* layer : {"digest", "flower", "netdev"}) {
    ASSERT_EQ(plan.erase(layer), 1U) << layer;
  }
  plan.at("iptables") = {{"v4", Json::array()}, {"v6", Json::array()}};
  plan["digest"] = sha256Hex(plan.dump());
  expectRefusal(job_, plan.dump(), 4, "no rule");
}

TEST_F(Plans, PlanOfAnotherNamespaceIsRefused) {
  const Job other(host_);
  expectRefusal(job_, prepare(other, kReferencePolicy).plan, 7, "namespace");
}

TEST_F(Plans, PlanOfAnotherLinkIsRefused) {
  configure(job_.netns(), "link set dev eth0 address 02:00:00:00:99:02\n");
  expectRefusal(job_, rendered_.plan, 7, "MAC");
  configure(job_.netns(), "link set dev eth0 address 02:00:00:00:01:02\n");
}

TEST(Programs, SecondApplyIsRefusedAndTheFirstStands) {
  Host host;
  const Job job(host);
  const Rendered rendered = contain(job, kReferencePolicy);
  expectRefusal(job, rendered.plan, 5, "already");
  EXPECT_TRUE(verify(job.netns(), kReferencePolicy, rendered.link).contained());
}

TEST(Programs, NamespaceThatIsInUseIsRefused) {
  struct Case {
    std::vector<std::string> argv;
    const char* because;
  };
  const std::vector<Case> cases = {
      {{"tc", "qdisc", "add", "dev", kJobLink, "clsact"}, "clsact"},
      {{"tc", "qdisc", "add", "dev", kJobLink, "root", "pfifo"}, "pfifo"},
      {{"iptables-nft", "-A", "OUTPUT", "-j", "ACCEPT"}, "filter"},
      {{"ip6tables-nft", "-A", "OUTPUT", "-j", "ACCEPT"}, "filter"},
      {{"iptables-legacy", "-A", "OUTPUT", "-j", "ACCEPT"}, "legacy iptables table ip filter"},
      {{"ip6tables-legacy", "-A", "OUTPUT", "-j", "ACCEPT"}, "legacy iptables table ip6 filter"},
  };
  Host host;
  for (const Case& one : cases) {
    const Job job(host);
    const Rendered rendered = prepare(job, kReferencePolicy);
    tool(job, one.argv);
    expectRefusal(job, rendered.plan, 5, one.because);
  }
}

TEST(Programs, MachinesOwnNamespaceIsRefused) {
  Host host;
  const Job job(host);
  const Rendered rendered = prepare(job, kReferencePolicy);
  const Finished probed = run({.argv = {program("probe")}});
  EXPECT_EQ(probed.exit, 7) << probed.summary();
  EXPECT_EQ(probed.out, "");
  const Finished applied = run({.argv = {program("apply")}, .input = rendered.plan});
  EXPECT_EQ(applied.exit, 7) << applied.summary();
  EXPECT_TRUE(applyPlan(job.netns(), rendered.plan).ok());
}

// The probe measures a link only where there is exactly one that it could be.
TEST(Programs, NamespaceThatIsNotAContainersIsRefused) {
  Host host;
  const std::vector<std::string> changes = {
      "link add second type veth peer name elsewhere netns " + host.netns().name() + "\n",
      "link add bridge0 type bridge\n",
      "link add dummy0 type dummy\n",
      "link set eth0 down\n",
      "link del eth0\n",
  };
  for (const std::string& change : changes) {
    const Job job(host);
    const Finished before = probe(job.netns());
    EXPECT_TRUE(before.ok()) << before.summary();
    configure(job.netns(), change);
    const Finished after = probe(job.netns());
    EXPECT_EQ(after.exit, 7) << change << after.summary();
    EXPECT_EQ(after.out, "") << change;
    if (change.find("second") != std::string::npos) {
      configure(host.netns(), "link del elsewhere\n");
    }
  }
  const Finished hostSide = probe(host.netns());
  EXPECT_EQ(hostSide.exit, 7) << hostSide.summary();
}

}  // namespace
}  // namespace vethgate::live
