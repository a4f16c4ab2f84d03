#include "tests/offline/docker/faults/schedule.hpp"

#include <array>

namespace vethgate::docker::test {
namespace {

// One at which every create and every step of an attempt's life can be cut off.
constexpr std::array kFatalCalls{
    "version",       "info",           "image",         "network",        "create holder",
    "create host",   "create apply",   "create verify", "inspect holder", "inspect host",
    "inspect apply", "inspect verify", "attach holder", "attach host",    "attach apply",
    "attach verify", "start holder",   "start host",    "start apply",    "start verify",
    "wait host",     "wait apply",     "wait verify",   "remove host",    "remove apply",
    "remove verify", "remove holder",  "list"};

constexpr std::array kMisdeeds{Misdeed::kReset,   Misdeed::kResetAfter,   Misdeed::kResetLater,
                               Misdeed::kSilence, Misdeed::kSilenceAfter, Misdeed::kHalf,
                               Misdeed::kRefuse,  Misdeed::kRefuse,       Misdeed::kRefuseLater,
                               Misdeed::kPretend, Misdeed::kPretend,      Misdeed::kLie,
                               Misdeed::kLie,     Misdeed::kResetLater};

constexpr std::array<std::uint64_t, 6> kFaultsOf1000{0, 15, 30, 60, 150, 400};
constexpr std::array<std::uint64_t, 3> kDelaysOf1000{0, 50, 300};
constexpr std::array kStatuses{404, 409, 500};
constexpr std::uint64_t kLongestDelay = 2'000;  // microseconds

// splitmix64 (Steele, Lea and Flood, 2014).
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

}  // namespace

std::uint64_t drawn(std::uint64_t seed, const std::string& what) {
  std::uint64_t state = mixed(seed);
  for (const char c : what) {
    state = mixed(state ^ static_cast<unsigned char>(c));
  }
  return state;
}

Schedule::Schedule(std::uint64_t seed)
    : seed_(seed),
      faultsOf1000_(kFaultsOf1000.at(drawn(seed, "faults") % kFaultsOf1000.size())),
      delaysOf1000_(kDelaysOf1000.at(drawn(seed, "delays") % kDelaysOf1000.size())) {
  if (drawn(seed, "whether killed") % 2 == 0) {
    fatalCall_ = kFatalCalls.at(drawn(seed, "killed") % kFatalCalls.size());
    fatalTime_ = drawn(seed, "killed when") % 4 == 0 ? 2 : 1;
  }
}

Step Schedule::next(const std::string& call) {
  const unsigned time = ++times_[call];
  const std::string what = call + " " + std::to_string(time);
  Step step;
  if (drawn(seed_, "fault of " + what) % 1000 < faultsOf1000_) {
    step.misdeed = kMisdeeds.at(drawn(seed_, "misdeed of " + what) % kMisdeeds.size());
    step.status = kStatuses.at(drawn(seed_, "status of " + what) % kStatuses.size());
  }
  if (drawn(seed_, "delay of " + what) % 1000 < delaysOf1000_) {
    step.delay = std::chrono::microseconds(drawn(seed_, "delayed " + what) % kLongestDelay);
  }
  if (call == fatalCall_ && time == fatalTime_) {
    end(step, what);
    step.kill = true;
  }
  return step;
}

void Schedule::end(Step& step, const std::string& what) const {
  constexpr std::array kEnds{Misdeed::kReset, Misdeed::kResetAfter, Misdeed::kResetLater};
  step.misdeed = kEnds.at(drawn(seed_, "end of " + what) % kEnds.size());
}

}  // namespace vethgate::docker::test
