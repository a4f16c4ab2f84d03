// Kernels that lack a module: what is refused on them, and that the policy which does without holds
// there all the same. A kernel that cannot load a module is a kernel that was built without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "tests/live/fixture/addresses.hpp"
#include "tests/live/fixture/containment.hpp"
#include "tests/live/fixture/evidence.hpp"
#include "tests/live/fixture/frames.hpp"
#include "tests/live/fixture/kernel_modules.hpp"
#include "tests/live/fixture/policies.hpp"
#include "tests/live/fixture/runtime.hpp"
#include "tests/live/fixture/snapshot.hpp"
#include "tests/live/fixture/wire.hpp"

namespace vethgate::live {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{5};
constexpr std::uint16_t kPort = 9999;

// So that a module which is unloaded afterwards is one that was there.
void loadEverything() {
  Host host;
  const Job job(host);
  (void)contain(job, kReferencePolicy);
}

// What a kernel lacks that has no clsact filters, such as a Firecracker guest's: the policy does
// without.
struct Absence {
  const char* name;
  std::vector<std::string> modules;
};

const Absence kNeither{"neither", {"cls_flower", "act_gact"}};

void PrintTo(const Absence& absence, std::ostream* out) { *out << absence.name; }

class WithoutFlower : public testing::TestWithParam<Absence> {
 protected:
  WithoutFlower() : job_(host_), sender_(job_), tap_(job_) {}

  std::string send(std::string_view to) {
    std::string cookie = "frame " + std::to_string(++serial_) + ".";
    for (const Bytes& frame :
         buildFrames(job_, {.to = std::string(to), .port = kPort, .cookie = cookie})) {
      sender_.send(frame);
    }
    return cookie;
  }
  bool isReceived(const std::string& cookie) { return host_.services().waitFor(cookie, kPatience); }

  Host host_;
  Job job_;
  const OneCpu pinned_;
  RawSender sender_;
  WireTap tap_;
  unsigned serial_ = 0;
};

TEST_P(WithoutFlower, TheOtherTwoLayersHoldEveryFrame) {
  loadEverything();
  const Rendered rendered = prepare(job_, kWithoutFlowerPolicy);
  const ModulesAbsent absent(GetParam().modules);
  const Finished refused = applyPlan(job_.netns(), prepare(job_, kReferencePolicy).plan);
  EXPECT_EQ(refused.exit, 6) << refused.summary();
  EXPECT_THAT(refused.lastErrorLine(), HasSubstr("layers"));
  for (const std::string_view to : {kDeniedV4, kDeniedV6, kAllowedV4, kAllowedV6}) {
    EXPECT_TRUE(isReceived(send(to))) << to << " before the plan";
  }

  const Finished applied = applyPlan(job_.netns(), rendered.plan);
  ASSERT_TRUE(applied.ok()) << applied.summary();
  Sightings denied;
  Sightings allowed;
  for (const auto& [no, yes] :
       {std::pair(kDeniedV4, kAllowedV4), std::pair(kDeniedV6, kAllowedV6)}) {
    const std::string cookie = send(no);
    EXPECT_TRUE(allowed.note(isReceived(send(yes)))) << yes;
    // What was sent before it would have come before it.
    EXPECT_FALSE(denied.note(tap_.count(cookie) != 0 || host_.services().received(cookie))) << no;
  }
  const std::string id = GetParam().name;
  caseMeasured("without-flower." + id + ".denied-frame", denied.ofAny());
  caseMeasured("without-flower." + id + ".allowed-frame", allowed.ofEach());
  const Verdict verdict = verify(job_.netns(), kWithoutFlowerPolicy, rendered.link);
  EXPECT_TRUE(verdict.contained()) << verdict;
}

INSTANTIATE_TEST_SUITE_P(Kernel, WithoutFlower,
                         testing::Values(Absence{"cls_flower", {"cls_flower"}},
                                         Absence{"act_gact", {"act_gact"}}, kNeither),
                         [](const auto& one) { return std::string(one.param.name); });

// Real payloads on such a kernel, and an uncontained neighbour that reaches all of it.
void expectPayloadHeldWithoutFlower(Runtime runtime) {
  loadEverything();
  Host host;
  const Job job(host);
  const Job neighbour(host);
  const ModulesAbsent absent(kNeither.modules);
  const Rendered rendered = contain(job, kWithoutFlowerPolicy);
  struct Target {
    std::string_view target;
    const char* id;
    Outcome expected;
  };
  constexpr std::array kTargets{Target{kAllowedTcp, "allowed", Outcome::kConnected},
                                Target{kAllowedTcpV6, "allowed-v6", Outcome::kConnected},
                                Target{kDeniedTcp, "denied", Outcome::kRefused},
                                Target{kDeniedUdp, "denied-udp", Outcome::kRefused},
                                Target{kDeniedTcpV6, "denied-v6", Outcome::kRefused},
                                Target{kMetadata, "metadata", Outcome::kRefused}};
  std::vector<std::string> targets;
  for (const Target& one : kTargets) {
    targets.emplace_back(one.target);
  }
  const PayloadReport uncontained = runPayload(Runtime::kProcess, neighbour, targets);
  const PayloadReport contained = runPayload(runtime, job, targets);
  for (const Target& one : kTargets) {
    EXPECT_EQ(uncontained.outcome(one.target), Outcome::kConnected) << uncontained;
    const Outcome outcome = contained.outcome(one.target);
    caseMeasured("without-flower." + std::string(name(runtime)) + "." + one.id, outcome);
    EXPECT_EQ(outcome, one.expected) << one.target << "\n" << contained;
  }
  EXPECT_EQ(contained.onGvisor(), isGvisor(runtime)) << contained;
  const Verdict verdict = verify(job.netns(), kWithoutFlowerPolicy, rendered.link);
  EXPECT_TRUE(verdict.contained()) << verdict;
}

TEST(RuncWithoutFlower, TheOtherTwoLayersHoldThePayload) {
  expectPayloadHeldWithoutFlower(Runtime::kRunc);
}

// Whose packets OUTPUT rules never see: the egress hook holds them alone.
TEST(GvisorWithoutFlower, TheOtherTwoLayersHoldThePayload) {
  expectPayloadHeldWithoutFlower(Runtime::kRunscBookworm);
}

struct Missing {
  const char* module;
  const char* named;
};

void PrintTo(const Missing& missing, std::ostream* out) { *out << missing.module; }

class MissingMechanism : public testing::TestWithParam<Missing> {};

TEST_P(MissingMechanism, IsNamedAndNothingIsTouched) {
  loadEverything();
  Host host;
  const Job job(host);
  const Rendered rendered = prepare(job, kReferencePolicy);
  const std::string before = snapshot(job);
  Finished refused;
  {
    const ModulesAbsent absent({GetParam().module});
    refused = applyPlan(job.netns(), rendered.plan);
  }
  EXPECT_EQ(refused.exit, 6) << refused.summary();
  EXPECT_THAT(refused.lastErrorLine(), HasSubstr(GetParam().named));
  EXPECT_EQ(refused.out, "");
  EXPECT_EQ(snapshot(job), before);
  const Finished applied = applyPlan(job.netns(), rendered.plan);
  EXPECT_TRUE(applied.ok()) << "with the module: " << applied.summary();
  EXPECT_TRUE(verify(job.netns(), kReferencePolicy, rendered.link).contained());
}

INSTANTIATE_TEST_SUITE_P(
    Kernel, MissingMechanism,
    testing::Values(Missing{"cls_flower", "cls_flower"}, Missing{"act_gact", "act_gact"},
                    Missing{"sch_ingress", "sch_ingress"}, Missing{"xt_LOG", "LOG"},
                    Missing{"xt_hl", "hl"}, Missing{"nft_limit", "rule 1 of"},
                    Missing{"nft_compat", "nft_compat"}, Missing{"nf_tables", "nf_tables"}),
    [](const auto& one) { return std::string(one.param.module); });

}  // namespace
}  // namespace vethgate::live
