// The sequence against a kernel that refuses, forgets, lies or stays silent at every point: which
// exit code, and whether the veth is left shut.
#include "applier/apply.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "tests/offline/applier/fake_kernel.hpp"
#include "tests/offline/applier/plans.hpp"

namespace vethgate {
namespace {

using test::FakeKernel;
using test::Outcome;
using test::outcomeOf;
using test::someLink;
using test::somePlan;
using ::testing::HasSubstr;
using Fault = FakeKernel::Fault;

Outcome applyTo(FakeKernel& kernel, const Plan& plan, Applied* applied = nullptr) {
  return outcomeOf([&] {
    const Applied result = applyPlan(kernel, plan, someLink(), buildSteps(plan),
                                     Deadline::after(std::chrono::seconds(5)));
    if (applied != nullptr) {
      *applied = result;
    }
  });
}

Plan onlyIptables() {
  Plan plan = somePlan();
  plan.flower.reset();
  return plan;
}

Plan onlyFlower() {
  Plan plan = somePlan();
  plan.iptables.reset();
  return plan;
}

// Refuses the messages of one type; `nth` counts them from 0.
void refuseNth(FakeKernel& kernel, std::uint16_t type, std::size_t nth, int error,
               const std::string& text = "") {
  kernel.refuse = [=, seen = std::size_t{0}](const nlmsghdr& header,
                                             const RawMessage& /*message*/) mutable {
    if (header.nlmsg_type == type && seen++ == nth) {
      return FakeKernel::Error{error, text};
    }
    return FakeKernel::Error{};
  };
}

// The first RTM_NEWQDISC is the probe, the second the seal's.
constexpr std::size_t kProbe = 0;

bool untouched(const FakeKernel& kernel) {
  return !kernel.clsact && !kernel.guard && kernel.filters == 0 && kernel.rules == 0 &&
         kernel.tables.empty();
}

TEST(ApplyPlan, WritesBothLayersAndOpensTheVethLast) {
  FakeKernel kernel;
  Applied applied;
  const Outcome outcome = applyTo(kernel, somePlan(), &applied);
  EXPECT_EQ(outcome.code, ExitCode::kDone) << outcome.message;
  EXPECT_EQ(applied, (Applied{3, 2, 4}));
  EXPECT_EQ(kernel.rules, 5U);
  EXPECT_EQ(kernel.filters, 4U);
  EXPECT_TRUE(kernel.clsact);
  EXPECT_FALSE(kernel.guard);
  EXPECT_EQ(kernel.sent.back(), std::vector<std::uint16_t>{RTM_DELTFILTER});
}

TEST(ApplyPlan, SkipsTheLayerThatThePlanLacks) {
  FakeKernel iptables;
  Applied applied;
  EXPECT_EQ(applyTo(iptables, onlyIptables(), &applied).code, ExitCode::kDone);
  EXPECT_EQ(applied, (Applied{3, 2, 0}));
  EXPECT_FALSE(iptables.clsact);

  FakeKernel flower;
  EXPECT_EQ(applyTo(flower, onlyFlower(), &applied).code, ExitCode::kDone);
  EXPECT_EQ(applied, (Applied{0, 0, 4}));
  EXPECT_TRUE(flower.tables.empty());
}

TEST(ApplyPlan, RefusesASecondRun) {
  FakeKernel kernel;
  ASSERT_EQ(applyTo(kernel, somePlan()).code, ExitCode::kDone);
  const std::size_t sends = kernel.sends;
  EXPECT_EQ(applyTo(kernel, somePlan()).code, ExitCode::kUntouchable);
  EXPECT_EQ(kernel.sends, sends);

  FakeKernel iptables;
  ASSERT_EQ(applyTo(iptables, onlyIptables()).code, ExitCode::kDone);
  const Outcome outcome = applyTo(iptables, onlyIptables());
  EXPECT_EQ(outcome.code, ExitCode::kUntouchable);
  EXPECT_THAT(outcome.message, HasSubstr("table ip filter"));
}

TEST(ApplyPlan, RefusesEveryOtherLink) {
  const Plan plan = somePlan();
  const auto outcomeFor = [&](const Link& measured) {
    FakeKernel kernel;
    Outcome outcome = outcomeOf([&] {
      (void)applyPlan(kernel, plan, measured, buildSteps(plan),
                      Deadline::after(std::chrono::seconds(5)));
    });
    EXPECT_EQ(outcome.code == ExitCode::kDone, kernel.sends > 0);
    return outcome;
  };
  EXPECT_EQ(outcomeFor(someLink()).code, ExitCode::kDone);
  const auto changed = [](auto change) {
    Link link = someLink();
    change(link);
    return link;
  };
  for (const Link& link :
       {changed([](Link& link_) { ++link_.index; }),
        changed([](Link& link_) { link_.name = "eth1"; }),
        changed([](Link& link_) { ++link_.mac[5]; }), changed([](Link& link_) { ++link_.peer; }),
        changed([](Link& link_) { ++link_.netns; })}) {
    EXPECT_EQ(outcomeFor(link).code, ExitCode::kWrongNamespace);
  }
}

TEST(ApplyPlan, RefusesAForeignQdisc) {
  const auto codeWith = [](const RawMessage& qdisc) {
    FakeKernel kernel;
    kernel.otherQdiscs = {qdisc};
    const Outcome outcome = applyTo(kernel, somePlan());
    EXPECT_EQ(outcome.code == ExitCode::kDone, kernel.sends > 0);
    return outcome.code;
  };
  EXPECT_EQ(codeWith(FakeKernel::qdisc("noqueue", TC_H_ROOT)), ExitCode::kDone);
  EXPECT_EQ(codeWith(FakeKernel::qdisc("noop", TC_H_ROOT)), ExitCode::kDone);
  EXPECT_EQ(codeWith(FakeKernel::qdisc("clsact", TC_H_CLSACT)), ExitCode::kUntouchable);
  EXPECT_EQ(codeWith(FakeKernel::qdisc("ingress", TC_H_INGRESS)), ExitCode::kUntouchable);
  EXPECT_EQ(codeWith(FakeKernel::qdisc("fq_codel", TC_H_ROOT)), ExitCode::kUntouchable);
  EXPECT_EQ(codeWith(FakeKernel::qdisc("noqueue", TC_H_ROOT, 0x10000)), ExitCode::kUntouchable);
  RawMessage cut = FakeKernel::qdisc("noqueue", TC_H_ROOT);
  cut.resize(cut.size() - 12);  // without its kind
  const auto length = static_cast<std::uint32_t>(cut.size());
  std::memcpy(cut.data(), &length, sizeof length);
  EXPECT_EQ(codeWith(cut), ExitCode::kUntouchable);
}

TEST(ApplyPlan, RefusesEveryTableButNat) {
  const auto codeWith = [](std::uint8_t family, const char* name) {
    FakeKernel kernel;
    kernel.otherTables = {FakeKernel::table(family, name)};
    return applyTo(kernel, somePlan()).code;
  };
  EXPECT_EQ(codeWith(NFPROTO_IPV4, "nat"), ExitCode::kDone);  // Docker's, for its resolver
  EXPECT_EQ(codeWith(NFPROTO_IPV4, "filter"), ExitCode::kUntouchable);
  EXPECT_EQ(codeWith(NFPROTO_IPV6, "filter"), ExitCode::kUntouchable);
  EXPECT_EQ(codeWith(NFPROTO_INET, "filter"), ExitCode::kUntouchable);
  EXPECT_EQ(codeWith(NFPROTO_INET, "nat"), ExitCode::kUntouchable);
  EXPECT_EQ(codeWith(NFPROTO_IPV4, "mangle"), ExitCode::kUntouchable);
  EXPECT_EQ(codeWith(NFPROTO_BRIDGE, "any"), ExitCode::kUntouchable);
}

TEST(ApplyPlan, NamesAMissingMechanismBeforeItWrites) {
  const auto outcomeWith = [](std::uint16_t type, std::size_t nth, int error) {
    FakeKernel kernel;
    refuseNth(kernel, type, nth, error, "says the kernel");
    const Outcome outcome = applyTo(kernel, somePlan());
    EXPECT_EQ(outcome.code, ExitCode::kUnsupported) << outcome.message;
    EXPECT_TRUE(untouched(kernel));
    return outcome.message;
  };
  EXPECT_THAT(outcomeWith(test::kGetExtension, 0, ENOENT), HasSubstr("xt_LOG"));
  EXPECT_THAT(outcomeWith(test::kGetExtension, 1, ENOENT), HasSubstr("icmp6"));
  EXPECT_THAT(outcomeWith(test::kGetExtension, 2, EINVAL), HasSubstr("xt_hl"));
  EXPECT_THAT(outcomeWith(RTM_NEWQDISC, kProbe, ENOENT), HasSubstr("sch_ingress"));
  EXPECT_THAT(outcomeWith(RTM_NEWACTION, 0, ENOENT), HasSubstr("act_gact"));
  EXPECT_THAT(outcomeWith(RTM_NEWQDISC, kProbe, EPERM), HasSubstr("CAP_NET_ADMIN"));
}

TEST(ApplyPlan, LeavesTheVerdictOnGactToTheGuardInAUserNamespace) {
  FakeKernel kernel;
  refuseNth(kernel, RTM_NEWACTION, 0, EPERM);
  EXPECT_EQ(applyTo(kernel, somePlan()).code, ExitCode::kDone);
}

TEST(ApplyPlan, NeedsNfTablesForEveryPlan) {
  const auto outcomeOn = [](const Plan& plan, int error) {
    FakeKernel kernel;
    kernel.beforeRead = [=](std::uint16_t type) {
      if (type == test::kGetGeneration) {
        throw KernelError("query: refused", error);
      }
    };
    return applyTo(kernel, plan);
  };
  const Outcome missing = outcomeOn(somePlan(), EINVAL);
  EXPECT_EQ(missing.code, ExitCode::kUnsupported);
  EXPECT_THAT(missing.message, HasSubstr("nf_tables"));
  // The verifier could not say that nothing of nf_tables is in the way.
  EXPECT_EQ(outcomeOn(onlyFlower(), EINVAL).code, ExitCode::kUnsupported);
  // Another error does not say that it is absent, and a table might be there.
  EXPECT_EQ(outcomeOn(onlyFlower(), ENOMEM).code, ExitCode::kUnsupported);
  for (const Plan& plan : {somePlan(), onlyFlower()}) {
    const Outcome powerless = outcomeOn(plan, EPERM);
    EXPECT_EQ(powerless.code, ExitCode::kUnsupported);
    EXPECT_THAT(powerless.message, HasSubstr("CAP_NET_ADMIN"));
  }
}

TEST(ApplyPlan, TakesTheSealBackFromAKernelWithoutFlower) {
  const auto outcomeWith = [](const char* text) {
    FakeKernel kernel;
    refuseNth(kernel, RTM_NEWTFILTER, 0, ENOENT, text);
    const Outcome outcome = applyTo(kernel, somePlan());
    EXPECT_EQ(outcome.code, ExitCode::kUnsupported);
    EXPECT_TRUE(untouched(kernel));
    return outcome.message;
  };
  EXPECT_THAT(outcomeWith("TC classifier not found"), HasSubstr("lacks cls_flower:"));
  EXPECT_THAT(outcomeWith("Failed to load TC action module"), HasSubstr("lacks act_gact"));
  EXPECT_THAT(outcomeWith(""), HasSubstr("lacks cls_flower or act_gact"));
}

TEST(ApplyPlan, DestroysWhenTheSealCannotBeTakenBack) {
  {
    FakeKernel kernel;
    kernel.refuse = [](const nlmsghdr& header, const RawMessage& /*message*/) {
      if (header.nlmsg_type == RTM_NEWTFILTER) {
        return FakeKernel::Error{ENOENT, ""};
      }
      if (header.nlmsg_type == RTM_DELQDISC) {
        return FakeKernel::Error{EBUSY, ""};
      }
      return FakeKernel::Error{};
    };
    EXPECT_EQ(applyTo(kernel, somePlan()).code, ExitCode::kPartialWrite);
  }
  {
    FakeKernel kernel;  // says that it removed the qdisc and still lists it
    kernel.refuse = [&](const nlmsghdr& header, const RawMessage& /*message*/) {
      if (header.nlmsg_type == RTM_NEWTFILTER) {
        return FakeKernel::Error{ENOENT, ""};
      }
      if (header.nlmsg_type == RTM_DELQDISC) {
        kernel.otherQdiscs = {FakeKernel::qdisc("clsact", TC_H_CLSACT)};
      }
      return FakeKernel::Error{};
    };
    EXPECT_EQ(applyTo(kernel, somePlan()).code, ExitCode::kPartialWrite);
  }
}

TEST(ApplyPlan, JudgesARefusedSeal) {
  {
    FakeKernel kernel;  // a stranger's clsact, and so a guard that had no place
    kernel.refuse = [](const nlmsghdr& header, const RawMessage& message) {
      const bool seal = header.nlmsg_type == RTM_NEWTFILTER ||
                        (header.nlmsg_type == RTM_NEWQDISC && message.size() == 48);
      return seal ? FakeKernel::Error{EEXIST, ""} : FakeKernel::Error{};
    };
    EXPECT_EQ(applyTo(kernel, somePlan()).code, ExitCode::kUntouchable);
    EXPECT_TRUE(untouched(kernel));
  }
  {
    FakeKernel kernel;  // the same, and the guard found a place in it
    kernel.refuse = [&](const nlmsghdr& header, const RawMessage& message) {
      if (header.nlmsg_type != RTM_NEWQDISC || message.size() != 48) {
        return FakeKernel::Error{};
      }
      kernel.clsact = true;
      return FakeKernel::Error{EEXIST, ""};
    };
    EXPECT_EQ(applyTo(kernel, somePlan()).code, ExitCode::kPartialWrite);
  }
  {
    FakeKernel kernel;
    refuseNth(kernel, RTM_NEWTFILTER, 0, ENOMEM);
    EXPECT_EQ(applyTo(kernel, somePlan()).code, ExitCode::kPartialWrite);
  }
}

TEST(ApplyPlan, TakesTheSealBackWhenATransactionNeedsWhatTheKernelLacks) {
  FakeKernel kernel;
  refuseNth(kernel, test::kNewRule, 0, ENOENT);
  const Outcome outcome = applyTo(kernel, somePlan());
  EXPECT_EQ(outcome.code, ExitCode::kUnsupported);
  EXPECT_THAT(outcome.message, HasSubstr("rule 1 of 3 of iptables v4"));
  EXPECT_TRUE(untouched(kernel));

  FakeKernel alone;
  refuseNth(alone, test::kNewRule, 0, ENOENT);
  EXPECT_EQ(applyTo(alone, onlyIptables()).code, ExitCode::kUnsupported);
  EXPECT_TRUE(untouched(alone));
}

TEST(ApplyPlan, LeavesTheVethShutWhenAnyLaterMessageIsRefused) {
  struct Case {
    std::uint16_t type;
    std::size_t nth;
    const char* named;
  };
  for (const Case& one :
       {Case{NFNL_MSG_BATCH_BEGIN, 0, "transaction"}, Case{test::kNewTable, 0, "table ip filter"},
        Case{test::kNewTable, 1, "table ip6 filter"}, Case{test::kNewChain, 0, "table ip filter"},
        Case{test::kNewChain, 1, "table ip6 filter"},
        Case{test::kNewRule, 0, "rule 1 of 3 of iptables v4 (\"10.0.0.0/8\")"},
        Case{test::kNewRule, 2, "rule 3 of 3 of iptables v4"},
        Case{test::kNewRule, 3, "rule 1 of 2 of iptables v6"},
        Case{test::kNewRule, 4, "rule 2 of 2 of iptables v6"},
        Case{RTM_NEWTFILTER, 1, "filter 1 of 4 of flower"},
        Case{RTM_NEWTFILTER, 4, "filter 4 of 4 of flower"},
        Case{RTM_DELTFILTER, 0, "removal of the drop-all guard"}}) {
    FakeKernel kernel;
    refuseNth(kernel, one.type, one.nth, ENOMEM, "out of something");
    const Outcome outcome = applyTo(kernel, somePlan());
    EXPECT_EQ(outcome.code, ExitCode::kPartialWrite) << one.named;
    EXPECT_THAT(outcome.message, HasSubstr(one.named));
    EXPECT_THAT(outcome.message, HasSubstr("out of something"));
    EXPECT_TRUE(kernel.guard) << one.named;
    EXPECT_EQ(applyTo(kernel, somePlan()).code, ExitCode::kUntouchable) << one.named;
  }
}

// Every fault at every send of a run: before the seal nothing is written, from the seal on the
// outcome is exit 3 and, unless it was the unsealing itself that was carried out, the guard stays.
TEST(ApplyPlan, TakesNoDoubtForSuccess) {
  FakeKernel healthy;
  ASSERT_EQ(applyTo(healthy, somePlan()).code, ExitCode::kDone);
  std::size_t seal = 0;
  while (healthy.sent[seal].front() != RTM_NEWQDISC || healthy.sent[seal].size() == 1) {
    ++seal;
  }
  ASSERT_EQ(healthy.sends, seal + 4);  // seal, iptables, filters, unseal
  for (const Fault fault :
       {Fault::kNoMemory, Fault::kSilence, Fault::kOverrun, Fault::kOtherSequence,
        Fault::kOtherPort, Fault::kRepeatedAnswer, Fault::kOtherMessage}) {
    for (std::size_t at = 0; at < healthy.sends; ++at) {
      // A single answer settles its step, so nobody is there to see it come again.
      const bool single = healthy.sent[at].size() == 1 || at == seal + 1;
      if (fault == Fault::kRepeatedAnswer && single) {
        continue;
      }
      FakeKernel kernel;
      kernel.fault = [&](std::size_t send) { return send == at ? fault : Fault::kNone; };
      const Outcome outcome = [&] {
        try {
          return applyTo(kernel, somePlan());
        } catch (const ReceiveOverrun& overrun) {
          return Outcome{ExitCode::kDefect, overrun.what()};  // as runMain() has it
        }
      }();
      SCOPED_TRACE("fault " + std::to_string(static_cast<int>(fault)) + " at send " +
                   std::to_string(at) + ": " + outcome.message);
      EXPECT_NE(outcome.code, ExitCode::kDone);
      EXPECT_EQ(outcome.code == ExitCode::kPartialWrite, at >= seal);
      EXPECT_EQ(kernel.sends, at + 1);
      if (at < seal) {
        EXPECT_TRUE(untouched(kernel));
      } else if (at + 1 < healthy.sends) {
        EXPECT_TRUE(kernel.guard);
      }
    }
  }
}

TEST(ApplyPlan, HonoursItsDeadline) {
  const Plan plan = somePlan();
  FakeKernel late;
  const Outcome before = outcomeOf([&] {
    (void)applyPlan(late, plan, someLink(), buildSteps(plan),
                    Deadline::after(std::chrono::milliseconds(0)));
  });
  EXPECT_EQ(before.code, ExitCode::kDeadline);
  EXPECT_TRUE(untouched(late));

  FakeKernel slow;
  const Deadline deadline = Deadline::after(std::chrono::milliseconds(50));
  slow.fault = [&](std::size_t /*send*/) {
    while (slow.guard && !deadline.passed()) {  // once the seal is there, time runs out
    }
    return Fault::kNone;
  };
  const Outcome midway =
      outcomeOf([&] { (void)applyPlan(slow, plan, someLink(), buildSteps(plan), deadline); });
  EXPECT_EQ(midway.code, ExitCode::kPartialWrite);
  EXPECT_THAT(midway.message, HasSubstr("deadline"));
  EXPECT_TRUE(slow.guard);
}

}  // namespace
}  // namespace vethgate
