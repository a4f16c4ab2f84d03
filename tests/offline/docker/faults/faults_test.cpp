// Establishing, releasing and sweeping on an engine that fails in every way and at every moment:
// thousands of schedules, each of them a function of one number. What must hold of each: after at
// most one sweep past the stamp nothing of the attempt is left; nobody else's container was
// touched; nothing was removed before its time; and what a command said was true.
//
// The schedules are numbered from 1. VETHGATE_FAULT_SEED=N begins elsewhere, VETHGATE_FAULT_COUNT=1
// runs that one alone.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <thread>

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

// What happened, over all schedules: none of it may be a thing that never happened.
struct Tally {
  std::atomic<unsigned> established{0};
  std::atomic<unsigned> killed{0};
  std::atomic<unsigned> removed{0};  // failed, and said that nothing is left
  std::atomic<unsigned> left{0};     // failed, and named what may exist
  std::atomic<unsigned> coming{0};   // failed, and named what may come
  std::atomic<unsigned> released{0};
  std::atomic<unsigned> swept{0};  // containers
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
    afterwards();
    engine_.hangUp();
    engine_.forbidSweeping(true);
    sweepAt(kStamp - 1);
    engine_.heal();
    engine_.settle();
    // An engine that is well again shows whether what was said was true.
    judgeClaims();
    sweepAt(kStamp - 1);
    engine_.forbidSweeping(false);
    tally_.swept += static_cast<unsigned>(sweepAt(kStamp));
    for (const std::string& name : engine_.left()) {
      complain(name + " is left after a sweep");
    }
    for (const std::string& violation : engine_.violations()) {
      complain(violation);
    }
    return problems_;
  }

 private:
  void complain(const std::string& problem) { problems_ += "  " + problem + "\n"; }
  [[nodiscard]] bool happens(const char* what, std::uint64_t ofHundred) const {
    return drawn(seed_, what) % 100 < ofHundred;
  }

  void addForeigners() {
    const auto labels = [](const char* owner, const char* job, const char* role,
                           const std::string& stamp) {
      return Labels{
          {kOwnerLabel, owner}, {kJobLabel, job}, {kRoleLabel, role}, {kRemoveAfterLabel, stamp}};
    };
    engine_.addForeign("stranger", {});
    engine_.addForeign("vethgate-job-9", labels("worker-2", "job-9", kHolderRole, "1"));
    engine_.addForeign("vethgate-job-8", labels(kOwner, "job-8", kHolderRole, "4000000000"));
    engine_.addForeign("vethgate-job-7", labels(kOwner, "job-7", kHolderRole, "soon"));
    engine_.addForeign("vethgate-job-6", labels(kOwner, "job-6", "monitor", "1"));
    engine_.addForeign("vethgate-job-1-probe",
                       labels(kOwner, "job-1-probe", kHolderRole, "4000000000"));
    if (happens("a name is taken", 5)) {
      engine_.addForeign("vethgate.apply-job-1", labels("worker-2", "job-1", kHelperRole, "1"));
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
    const std::vector<std::string> left = engine_.left();
    if (released_ && established_ && !left.empty()) {
      complain(left.front() + " is left after a release that succeeded");
    }
    if (established_ && (left.size() > 1 || (left.size() == 1 && left[0] != "vethgate-job-1"))) {
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

  std::size_t sweepAt(std::uint64_t now) {
    Cursor cursor;
    SweepOptions options;
    options.limits.call = std::chrono::milliseconds(1'000);
    try {
      return sweep(Engine(engine_.sweepSocket()), kOwner, now, cursor, options).removed.size();
    } catch (const Failure&) {
      return 0;  // the list failed, and nothing was tried
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
            << tally.released << " released, " << tally.swept << " containers swept\n";
  if (count >= kSchedules) {
    EXPECT_GT(tally.established, count / 20);
    EXPECT_GT(tally.killed, count / 10);
    EXPECT_GT(tally.removed, count / 20);
    EXPECT_GT(tally.left, 0U);
    EXPECT_GT(tally.coming, 0U);
    EXPECT_GT(tally.released, count / 100);
    EXPECT_GT(tally.swept, count / 10);
  }
}

}  // namespace
}  // namespace vethgate::docker
