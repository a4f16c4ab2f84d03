// What an engine does to each call, as a function of one seed: the same seed, the same faults, in
// whatever order the calls of several threads arrive. It must not know an engine.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace vethgate::docker::test {

enum class Misdeed {
  kNone,
  kReset,         // nothing is done, and the connection ends
  kResetAfter,    // done, and the connection ends before the answer
  kResetLater,    // the connection ends, and what was asked is done long after
  kSilence,       // neither done nor answered
  kSilenceAfter,  // done and not answered
  kHalf,          // done, and half of the answer's body sent
  kRefuse,        // status 404, 409 or 500, and nothing done
  kRefuseLater,   // status 500, and what was asked is done long after
  kPretend,       // answered as done, and nothing done
  kLie,           // done, and the answer is about another object; of a list: one entry less or more
};

struct Step {
  Misdeed misdeed = Misdeed::kNone;
  int status = 500;  // of kRefuse
  std::chrono::microseconds delay{0};
  bool kill = false;  // the client is killed while this call is under way
};

// Of every draw, one number that depends on the seed and on what it is drawn for alone.
[[nodiscard]] std::uint64_t drawn(std::uint64_t seed, const std::string& what);

class Schedule {
 public:
  explicit Schedule(std::uint64_t seed);
  // For the next such call, "create holder", "list", …; under a lock of the caller's.
  [[nodiscard]] Step next(const std::string& call);
  // Makes it one whose client goes before the answer, done or not.
  void end(Step& step, const std::string& what) const;

 private:
  std::uint64_t seed_;
  std::uint64_t faultsOf1000_;
  std::uint64_t delaysOf1000_;
  std::string fatalCall_;  // empty: nobody is killed
  unsigned fatalTime_ = 1;
  std::map<std::string, unsigned> times_;
};

}  // namespace vethgate::docker::test
