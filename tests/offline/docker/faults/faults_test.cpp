// Establishing, releasing and sweeping on an engine that fails in every way and at every moment:
// thousands of schedules, each of them a function of one number. What must hold of each: after at
// most one sweep past the stamp, of an engine that is well again, nothing of the attempt is left;
// before that a sweep past the stamp fails as well, and may be killed. Nobody else's container was
// touched, nor a network pulled away under one that runs; nothing was removed before its time, nor
// by a clock that jumped; and what a command or a sweep said was true.
//
// The schedules are numbered from 1. VETHGATE_FAULT_SEED=N begins elsewhere, VETHGATE_FAULT_COUNT=1
// runs that one alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "docker/custody/release.hpp"
#include "docker/establish/establish.hpp"
#include "docker/sweep/pass.hpp"
#include "tests/offline/docker/establish/scripted_engine.hpp"
#include "tests/offline/docker/faults/faulty_engine.hpp"

namespace vethgate::docker {
namespace {

using test::drawn;
using test::FaultyEngine;
using test::kImageName;
using test::kJob;

// An address sanitizer takes some fifteen times as long for the same.
#ifdef VETHGATE_SANITIZE
constexpr std::uint64_t kSchedules = 1'000;
#else
constexpr std::uint64_t kSchedules = 10'000;
#endif
// Most of a schedule is waiting.
constexpr unsigned kThreads = 12;

constexpr std::uint64_t kNow = 1'700'000'000;
constexpr std::uint64_t kJobDeadline = kNow + 600;
constexpr std::uint64_t kStamp = kJobDeadline + 3'600;
constexpr const char* kOwner = "worker-1";

constexpr TimeLimits kLimits{.attempt = std::chrono::milliseconds(400),
                             .removal = std::chrono::milliseconds(400),
                             .settle = std::chrono::milliseconds(15)};

const EstablishRequest& request() {
  static const EstablishRequest made = readRequest(
      Json{{"version", 1},
           {"job", kJob},
           {"owner", kOwner},
           {"network", "jobs"},
           {"deadline", kJobDeadline},
           {"policy", {{"version", 1}, {"deny", {"203.0.113.0/24"}}, {"layers", {"flower"}}}}}
          .dump(),
      kImageName);
  return made;
}

// The fault lies with the engine: a healthy one answers within this, whatever else runs.
constexpr std::chrono::milliseconds kPatient{10'000};
constexpr std::chrono::milliseconds kImpatient{60};

constexpr const char* kHolder = "vethgate-job-1";
constexpr const char* kJobsOwn = "run-of-job-1";
constexpr const char* kGuest = "guest";

// What happened, over all schedules: none of it may be a thing that never happened.
struct Tally {
  std::atomic<unsigned> established{0};
  std::atomic<unsigned> killed{0};
  std::atomic<unsigned> removed{0};  // failed, and said that nothing is left
  std::atomic<unsigned> left{0};     // failed, and named what may exist
  std::atomic<unsigned> coming{0};   // failed, and named what may come
  std::atomic<unsigned> released{0};
  std::atomic<unsigned> swept{0};      // containers, by the last sweep
  std::atomic<unsigned> sweptAmid{0};  // containers, by the sweep that met faults
  std::atomic<unsigned> sweepKilled{0};
  std::atomic<unsigned> sweepBlind{0};   // the list failed
  std::atomic<unsigned> sweepFailed{0};  // what a sweep amid faults said of what it had not removed
  std::atomic<unsigned> sweepDeferred{0};
  std::atomic<unsigned> sweepKept{0};
  std::atomic<unsigned> sweepDoubted{0};
  std::atomic<unsigned> guests{0};
};

class Story {
 public:
  Story(std::uint64_t seed, Tally& tally)
      : seed_(seed), tally_(tally), engine_(seed, [this] {
          // A process that is killed asks for nothing any more, nor for what removes.
          creating_.raise();
          removing_.raise();
        }) {}

  // Empty when all is as it must be.
  std::string tell() {
    addForeigners();
    attempt();
    if (established_ && happens("its job is started", 50)) {
      engine_.addJob(kJobsOwn, labelsOf(kOwner, kJob, kJobRole, std::to_string(kStamp)),
                     "container:" + engine_.idOf(kHolder));
    }
    afterwards();
    engine_.hangUp();
    if (happens("a stranger joins it", 25)) {
      addGuest();
    }
    static_cast<void>(sweepBeforeItsTime(kImpatient));
    // The other order shows whether all that is left was named: no sweep has taken any of it.
    const bool early = happens("it is swept before what is to come", 30);
    if (early) {
      sweepAmidFaults();
    }
    engine_.heal();
    engine_.settle();
    judgeClaims();
    if (!early) {
      engine_.heal(false);
      sweepAmidFaults();
      engine_.heal();
      engine_.settle();
    }
    if (!sweepBeforeItsTime(kPatient)) {
      complain("a sweep before its time got no list of a healthy engine");
    }
    sweepToTheEnd();
    for (const std::string& violation : engine_.violations()) {
      complain(violation);
    }
    return problems_;
  }

 private:
  using Forbidden = FaultyEngine::Forbidden;

  void complain(const std::string& problem) { problems_ += "  " + problem + "\n"; }
  [[nodiscard]] bool happens(const char* what, std::uint64_t ofHundred) const {
    return drawn(seed_, what) % 100 < ofHundred;
  }

  static Labels labelsOf(const std::string& owner, const std::string& job, const char* role,
                         const std::string& stamp) {
    return {{kOwnerLabel, owner}, {kJobLabel, job}, {kRoleLabel, role}, {kRemoveAfterLabel, stamp}};
  }

  void addForeigners() {
    engine_.addForeign("stranger", {});
    engine_.addForeign("vethgate-job-9", labelsOf("worker-2", "job-9", kHolderRole, "1"));
    engine_.addForeign("vethgate-job-8", labelsOf(kOwner, "job-8", kHolderRole, "4000000000"));
    engine_.addForeign("vethgate-job-7", labelsOf(kOwner, "job-7", kHolderRole, "soon"));
    engine_.addForeign("vethgate-job-6", labelsOf(kOwner, "job-6", "monitor", "1"));
    engine_.addForeign("vethgate-job-1-probe",
                       labelsOf(kOwner, "job-1-probe", kHolderRole, "4000000000"));
    if (happens("a name is taken", 5)) {
      engine_.addForeign("vethgate.apply-job-1", labelsOf("worker-2", "job-1", kHelperRole, "1"));
    }
  }

  void addGuest() {
    const std::string holder = engine_.idOf(kHolder);
    if (!holder.empty()) {
      engine_.addForeign(
          kGuest,
          happens("it has labels", 50) ? labelsOf("worker-2", "job-1", kJobRole, "1") : Labels{},
          "container:" + holder);
      ++tally_.guests;
    }
  }

  void attempt() {
    const Engine engine(engine_.socket(), &creating_);
    try {
      const Established made =
          establish(engine, Engine(engine_.socket(), &removing_), request(), kNow, kLimits);
      established_ = !engine_.killed();
      if (established_) {
        ++tally_.established;
        if (!engine_.contained(made.id)) {
          complain("the answer is about " + made.id + ", which is not contained");
        }
      }
    } catch (const Failure& failure) {
      said_ = failure.what();
    }
    if (engine_.killed()) {
      ++tally_.killed;
      said_.clear();
      engine_.revive();
    }
  }

  // What a worker may do next: of a job that ran, and of an attempt that it knows nothing of.
  void afterwards() {
    if (!happens("it is released", established_ ? 60 : 20)) {
      return;
    }
    try {
      static_cast<void>(
          release(Engine(engine_.socket()), kOwner, kJob, std::chrono::milliseconds(300)));
      ++tally_.released;
      released_ = true;
    } catch (const Failure&) {
    }
    engine_.revive();
  }

  void judgeClaims() {
    std::vector<std::string> left;
    for (const auto& [id, name] : engine_.left()) {
      // Its name is nobody's to know: a list that leaves it out once hides it from a release.
      if (name != kJobsOwn) {
        left.push_back(name);
      }
    }
    if (released_ && established_ && !left.empty()) {
      complain(left.front() + " is left after a release that succeeded");
    }
    if (established_ && (left.size() > 1 || (left.size() == 1 && left[0] != kHolder))) {
      complain(left.front() + " is left beside the holder");
    }
    if (said_.empty()) {
      return;
    }
    const auto says = [this](const std::string& part) {
      return said_.find(part) != std::string::npos;
    };
    tally_.removed += says("; nothing of the attempt is left") ? 1 : 0;
    tally_.left += says("; these may still exist") ? 1 : 0;
    tally_.coming += says("; these may still come") ? 1 : 0;
    for (const std::string& name : left) {
      if (!says(" " + name) && !says(std::string(kAttemptLabel) + "=")) {
        complain(name + " is left after: " + said_);
      }
    }
  }

  // Nothing when the list failed, and nothing was tried.
  std::optional<SweepReport> sweepAt(std::uint64_t now, const SweepOptions& options,
                                     const Interrupt* interrupt = nullptr) {
    Cursor cursor;
    try {
      return sweep(Engine(engine_.sweepSocket(), interrupt), kOwner, now, cursor, options);
    } catch (const Failure&) {
      return std::nullopt;
    }
  }

  // Whether it was shown what there is: one without a list proves nothing.
  bool sweepBeforeItsTime(std::chrono::milliseconds call) {
    engine_.forbidSweeping(Forbidden::kAll);
    const bool looked = sweepAt(kStamp - 1, {.limits = {.call = call}}).has_value();
    static_cast<void>(engine_.endSweep());
    engine_.forbidSweeping(Forbidden::kNothing);
    return looked;
  }

  // Past the stamp, by a clock that may have jumped there; killed, asked to stop, or bounded.
  void sweepAmidFaults() {
    SweepOptions options{.limits = {.call = kImpatient}};
    options.limits.removals = happens("it may remove one", 15) ? 1 : options.limits.removals;
    unsigned asked = 0;
    if (happens("it is asked to stop", 15)) {
      options.stopping = [&, after = drawn(seed_, "asked when") % 40] { return ++asked > after; };
    }
    const bool jumped = happens("the clock jumped", 20);
    if (jumped) {
      engine_.forbidSweeping(Forbidden::kRunning);
      options.age = [](std::uint64_t, const std::string&) { return std::chrono::seconds(100); };
    } else if (happens("ages are known", 50)) {
      options.age = [](std::uint64_t, const std::string&) {
        return std::chrono::seconds(kStamp - kNow);
      };
    }
    Interrupt dying;
    if (happens("it is killed", 40)) {
      engine_.killSweepAt(1 + static_cast<unsigned>(drawn(seed_, "its last call") % 30),
                          [&dying] { dying.raise(); });
    }
    const std::optional<SweepReport> report = sweepAt(kStamp, options, &dying);
    const FaultyEngine::Sight sight = engine_.endSweep();
    engine_.forbidSweeping(Forbidden::kNothing);
    if (sight.killed) {
      ++tally_.sweepKilled;
    } else if (report) {
      judgeReport(*report, sight);
    } else {
      ++tally_.sweepBlind;
      if (sight.removals != 0) {
        complain("a sweep without a list removed something");
      }
    }
  }

  void judgeReport(const SweepReport& report, const FaultyEngine::Sight& sight) {
    std::set<std::string> named;
    const auto note = [&](const auto& entries, std::atomic<unsigned>& count) {
      count += static_cast<unsigned>(entries.size());
      for (const auto& one : entries) {
        named.insert(one.id);
      }
    };
    note(report.failed, tally_.sweepFailed);
    note(report.deferred, tally_.sweepDeferred);
    note(report.kept, tally_.sweepKept);
    std::vector<Skipped> doubted;
    std::copy_if(report.skipped.begin(), report.skipped.end(), std::back_inserter(doubted),
                 [](const Skipped& one) { return one.reason == Unfit::kClock; });
    note(doubted, tally_.sweepDoubted);
    tally_.sweptAmid += static_cast<unsigned>(report.removed.size());
    const std::map<std::string, std::string> left = engine_.left();
    for (const Finding& one : report.removed) {
      if (left.count(one.id) != 0) {
        complain(one.name + " is left, and a sweep says that it removed it");
      }
    }
    for (const auto& [id, name] : left) {
      if (sight.first.count(id) != 0 && named.count(id) == 0) {
        complain(name + " is left, and the sweep that was shown it does not name it");
      }
    }
  }

  void sweepToTheEnd() {
    const bool joined = !engine_.idOf(kGuest).empty() && !engine_.idOf(kHolder).empty();
    const std::optional<SweepReport> report = sweepAt(kStamp, {.limits = {.call = kPatient}});
    tally_.swept += report ? static_cast<unsigned>(report->removed.size()) : 0;
    if (joined) {
      if (!report || report->kept.size() != 1 || report->kept[0].name != kHolder ||
          report->kept[0].attachedName != kGuest) {
        complain("the holder that a stranger joined is not reported as kept by it");
      }
      for (const auto& [id, name] : engine_.left()) {
        if (name != kHolder) {
          complain(name + " is left beside the holder that a stranger keeps");
        }
      }
      engine_.dismiss(kGuest);
      static_cast<void>(sweepAt(kStamp, {.limits = {.call = kPatient}}));
    }
    for (const auto& [id, name] : engine_.left()) {
      complain(name + " is left after a sweep");
    }
  }

  std::uint64_t seed_;
  Tally& tally_;
  Interrupt creating_;
  Interrupt removing_;
  FaultyEngine engine_;
  bool established_ = false;
  bool released_ = false;
  std::string said_;
  std::string problems_;
};

std::uint64_t numberFrom(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing sets any
  return text == nullptr ? otherwise : std::stoull(text);
}

TEST(Faults, LeaveNothingBehindAndTouchNobodyElses) {
  const std::uint64_t first = numberFrom("VETHGATE_FAULT_SEED", 1);
  const std::uint64_t count = numberFrom("VETHGATE_FAULT_COUNT", kSchedules);
  std::atomic<std::uint64_t> next{first};
  std::atomic<unsigned> failures{0};
  constexpr unsigned kEnough = 5;
  std::mutex mutex;
  std::string problems;
  Tally tally;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      while (failures < kEnough) {
        const std::uint64_t seed = next++;
        if (seed >= first + count) {
          return;
        }
        std::string told;
        try {
          told = Story(seed, tally).tell();
        } catch (const std::exception& error) {
          told = std::string("  ") + error.what() + "\n";
        }
        if (!told.empty()) {
          ++failures;
          const std::lock_guard lock(mutex);
          problems +=
              "VETHGATE_FAULT_SEED=" + std::to_string(seed) + " VETHGATE_FAULT_COUNT=1\n" + told;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(problems, "");
  std::cout << count << " schedules from " << first << ": " << tally.established << " established, "
            << tally.killed << " killed, " << tally.removed << " failed and left nothing, "
            << tally.left << " named what may exist, " << tally.coming << " what may come, "
            << tally.released << " released, " << tally.swept << " containers swept\n"
            << "sweeps amid faults: " << tally.sweepKilled << " killed, " << tally.sweepBlind
            << " without a list; containers: " << tally.sweptAmid << " removed, "
            << tally.sweepFailed << " failed, " << tally.sweepDeferred << " deferred, "
            << tally.sweepKept << " kept, " << tally.sweepDoubted << " left for the clock; "
            << tally.guests << " strangers joined\n";
  if (count >= kSchedules) {
    EXPECT_GT(tally.established, count / 20);
    EXPECT_GT(tally.killed, count / 10);
    EXPECT_GT(tally.removed, count / 20);
    EXPECT_GT(tally.left, 0U);
    EXPECT_GT(tally.coming, 0U);
    EXPECT_GT(tally.released, count / 100);
    EXPECT_GT(tally.swept, count / 20);
    EXPECT_GT(tally.sweptAmid, count / 20);
    EXPECT_GT(tally.sweepKilled, count / 20);
    EXPECT_GT(tally.sweepFailed, count / 100);
    for (const auto* some :
         {&tally.sweepBlind, &tally.sweepDeferred, &tally.sweepKept, &tally.sweepDoubted}) {
      EXPECT_GT(*some, count / 200);
    }
    EXPECT_GT(tally.guests, count / 50);
  }
}

}  // namespace
}  // namespace vethgate::docker
