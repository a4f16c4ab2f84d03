#include "applier/apply.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <string_view>

#include "applier/exchange.hpp"
#include "applier/flower.hpp"
#include "applier/preconditions.hpp"
#include "base/error.hpp"

namespace vethgate {
namespace {

class Writer {
 public:
  Writer(Kernel& kernel, const Plan& plan, const Deadline& deadline)
      : kernel_(kernel), plan_(plan), deadline_(deadline) {}

  // Every error from here on means that the namespace is spent, unless nothing of it is left.
  [[nodiscard]] Applied write(std::vector<Step> steps) {
    try {
      for (Step& step : steps) {
        run(step);
        step = {};  // a large plan need not stay in memory twice
      }
      return applied_;
    } catch (const TakenBack& takenBack) {
      throw takenBack.failure;
    } catch (const std::exception& error) {
      throw Failure(ExitCode::kPartialWrite, std::string(error.what()) + consequence());
    }
  }

 private:
  struct TakenBack {  // nothing of ours is in the namespace
    Failure failure;
  };

  void run(Step& step) {
    if (deadline_.passed()) {
      const Failure late(ExitCode::kDeadline,
                         std::string("the deadline passed before the step ") + label(step.kind));
      if (!touched_) {
        throw TakenBack{late};
      }
      throw Failure(late);
    }
    touched_ = true;
    const bool seal = step.kind == StepKind::kSeal;
    const bool unseal = step.kind == StepKind::kUnseal;
    const bool wasSealed = sealed_;
    sealed_ = sealed_ && !unseal;  // without an answer nobody knows
    const std::vector<Refusal> refusals =
        exchange(kernel_, step, seal ? Errors::kAll : Errors::kFirst, deadline_);
    if (seal) {
      judgeSeal(refusals);
    } else if (!refusals.empty()) {
      sealed_ = wasSealed;
      if (step.kind == StepKind::kTables) {
        judgeTransaction(refusals.front());
      }
      throw Failure(ExitCode::kPartialWrite, "the kernel refused " +
                                                 describe(plan_, refusals.front().message) + ": " +
                                                 refusals.front().reason());
    }
    sealed_ = sealed_ || seal;
    count(step);
  }

  void count(const Step& step) {
    for (const StepMessage& message : step.messages) {
      if (message.subject == Subject::kRuleV4) {
        ++applied_.v4;
      }
      if (message.subject == Subject::kRuleV6) {
        ++applied_.v6;
      }
      if (message.subject == Subject::kFilter) {
        ++applied_.flower;
      }
      if (message.subject == Subject::kRuleNetdev) {
        ++applied_.netdev;
      }
    }
  }

  void judgeSeal(const std::vector<Refusal>& refusals) {
    const auto refusalOf = [&](Subject subject) -> const Refusal* {
      const auto found =
          std::find_if(refusals.begin(), refusals.end(),
                       [&](const Refusal& refusal) { return refusal.message.subject == subject; });
      return found == refusals.end() ? nullptr : &*found;
    };
    const Refusal* const clsact = refusalOf(Subject::kClsact);
    const Refusal* const guard = refusalOf(Subject::kGuard);
    if (clsact == nullptr && guard == nullptr) {
      return;
    }
    if (clsact != nullptr && guard != nullptr) {
      // Neither is there. A clsact that stands in the way came after the check.
      const ExitCode code =
          clsact->error == EEXIST ? ExitCode::kUntouchable : ExitCode::kUnsupported;
      throw TakenBack{Failure(code, "the kernel refused the clsact qdisc: " + clsact->reason() +
                                        kWithoutFlower + "; nothing was touched")};
    }
    if (clsact == nullptr && guard->error == ENOENT) {
      takeBackClsact();
      throw TakenBack{Failure(ExitCode::kUnsupported, "the kernel lacks " + missingOf(*guard) +
                                                          ": " + guard->reason() + kWithoutFlower +
                                                          "; the namespace is as it was")};
    }
    const Refusal& refusal = clsact != nullptr ? *clsact : *guard;
    throw Failure(
        ExitCode::kPartialWrite,
        "the kernel refused " + describe(plan_, refusal.message) + ": " + refusal.reason());
  }

  // Whether the refusal is about the netdev egress hook: a kernel without its family has no such
  // type of chain (ENOENT), one without CONFIG_NETFILTER_EGRESS no such hook (EOPNOTSUPP).
  static bool lacksEgressHook(const Refusal& refusal) {
    return refusal.message.subject == Subject::kChainNetdev &&
           (refusal.error == EOPNOTSUPP || refusal.error == ENOENT);
  }

  // A refused transaction left nothing behind, so the seal is all that there is. ENOENT is what the
  // kernel says of an expression that it does not have; the tables and the chains are the
  // transaction's own. That a hook is there cannot be found out without asking for it.
  void judgeTransaction(const Refusal& refusal) {
    const bool noHook = lacksEgressHook(refusal);
    if (refusal.error != ENOENT && !noHook) {
      return;
    }
    if (sealed_) {
      takeBackClsact();
    }
    if (noHook) {
      throw TakenBack{Failure(
          ExitCode::kUnsupported,
          "the kernel lacks the netdev egress hook (CONFIG_NETFILTER_EGRESS, Linux 5.16): " +
              refusal.reason() +
              "; the policy's \"layers\" can leave netdev out; the namespace is as it was")};
    }
    throw TakenBack{Failure(ExitCode::kUnsupported,
                            "the kernel lacks what " + describe(plan_, refusal.message) +
                                " needs: " + refusal.reason() + "; the namespace is as it was")};
  }

  // ENOENT has two causes, and only the kernel's words tell them apart (net/sched/cls_api.c,
  // net/sched/act_api.c).
  static std::string missingOf(const Refusal& guard) {
    if (guard.text.find("action") != std::string::npos) {
      return "act_gact (the drop action)";
    }
    if (guard.text.find("classifier") != std::string::npos) {
      return "cls_flower";
    }
    return "cls_flower or act_gact";
  }

  void takeBackClsact() {
    Step step{StepKind::kSeal, Channel::kRoute, {}, {}};
    step.append(deleteClsact(plan_.link.index), Subject::kClsactRemoval);
    step.acknowledgeLast();
    const std::vector<Refusal> refusals = exchange(kernel_, step, Errors::kAll, deadline_);
    if (!refusals.empty()) {
      throw Failure(
          ExitCode::kPartialWrite,
          "the kernel refused the removal of the clsact qdisc: " + refusals.front().reason());
    }
    if (const auto left = foreignQdisc(kernel_, deadline_)) {
      throw Failure(ExitCode::kPartialWrite,
                    "after its removal the namespace still holds " + *left);
    }
  }

  [[nodiscard]] std::string consequence() const {
    return sealed_ ? "; the veth stays shut by the guard: destroy the namespace"
                   : "; destroy the namespace";
  }

  Kernel& kernel_;
  const Plan& plan_;
  const Deadline& deadline_;
  Applied applied_;
  bool touched_ = false;
  bool sealed_ = false;
};

}  // namespace

Applied applyPlan(Kernel& kernel, const Plan& plan, const Link& measured, std::vector<Step> steps,
                  const Deadline& deadline) {
  checkLink(plan.link, measured);
  checkNamespace(kernel, deadline);
  checkMechanisms(kernel, plan, deadline);
  const Applied applied = Writer(kernel, plan, deadline).write(std::move(steps));
  // What was acknowledged was counted; this says that the steps were those of this plan.
  const Applied expected{
      plan.iptables ? plan.iptables->v4.size() : 0, plan.iptables ? plan.iptables->v6.size() : 0,
      plan.flower ? plan.flower->size() : 0, plan.netdev ? plan.netdev->size() : 0};
  if (applied != expected) {
    throw Failure(ExitCode::kPartialWrite,
                  "fewer rules were written than the plan holds: destroy the namespace");
  }
  return applied;
}

}  // namespace vethgate
