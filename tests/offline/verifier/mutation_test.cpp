// Every single change of a real capture is refused, but for the listed places without a meaning;
// and every entry of that list is needed.
// A place occurs in many messages (each drop rule has a destination): it is changed in every way in
// the first capture that has it, its repetitions are sampled, always the same ones. With
// VETHGATE_MUTANTS=all every mutant of every capture is judged, with the name of a capture every
// mutant of that one.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "mutation/exceptions.hpp"
#include "mutation/mutants.hpp"
#include "render/render.hpp"
#include "support.hpp"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define VETHGATE_SLOW
#endif
#endif

namespace vethgate::test {
namespace {

// Sanitizers make a mutant ten times as dear; what they look for is not in the verdicts.
#ifdef VETHGATE_SLOW
constexpr std::array kPolicies = {"tiny", "netdev"};
constexpr std::size_t kOneOf = 7;
#else
constexpr std::array kPolicies = {"iptables-only", "flower-only", "netdev",   "tiny",
                                  "allow-list",    "small",       "reference"};
constexpr std::size_t kOneOf = 1;
#endif
constexpr std::size_t kRepetitionsOneOf = 307;
constexpr std::size_t kMaxShown = 100;

// The smallest first.
std::vector<std::string> captureNames() {
  std::vector<std::string> names;
  for (const char* policy : kPolicies) {
    for (const char* kernel : {"6.1", "6.12"}) {
      names.push_back(std::string("contained-") + policy + "-" + kernel);
    }
  }
#ifndef VETHGATE_SLOW
  names.push_back("contained-netdev-6.18");
#endif
  return names;
}

class Sampler {
 public:
  explicit Sampler(bool all) : all_(all) {}
  bool wants(const Mutant& mutant) {
    if (all_) {
      return true;
    }
    return seen_.insert(placeOf(mutant)).second ? fresh_++ % kOneOf == 0
                                                : repeated_++ % kRepetitionsOneOf == 0;
  }

 private:
  bool all_;
  std::size_t fresh_ = 0;
  std::size_t repeated_ = 0;
  std::unordered_set<std::uint64_t> seen_;
};

// Judges mutants and keeps the account.
class Account {
 public:
  struct Counts {
    std::size_t mutants = 0;
    std::size_t judged = 0;
    std::size_t refused = 0;
    std::size_t excepted = 0;
  };

  template <class Choice>
  Counts judgeAll(const std::string& name, Choice& sampler) {
    Fixture one = readTwice(fixture(name));
    const Capture twice = one.capture;
    // By itself first: what a decoder overlooks must not be caught by the comparison alone.
    for (std::size_t i = 0; i < kReadTwice; ++i) {
      one.capture.dump(againOf(static_cast<DumpId>(i))).reset();
    }
    const Plan plan = renderPlan(one.policy, one.link);
    const Verdict untouched = judge(one.policy, plan, one.capture);
    EXPECT_EQ(untouched.code, ExitCode::kDone) << name << ":\n" << reasonsOf(untouched);
    Counts counts;
    const auto show = [&](const Mutant& mutant) {
      ++counts.mutants;
      if (sampler.wants(mutant)) {
        ++counts.judged;
        const Verdict verdict = judge(one.policy, plan, one.capture);
        if (verdict.code != ExitCode::kDone) {
          EXPECT_FALSE(verdict.reasons.empty()) << name << ": " << describe(mutant);
          ++counts.refused;
        } else if (verdict.readback == untouched.readback && excuse(mutant)) {
          ++counts.excepted;
        } else {
          unlisted_.insert(name + ": " + describe(mutant));
        }
      }
    };
    const Capture before = one.capture;
    forEachMutant(one.capture, Part::kFirst, show);
    EXPECT_EQ(one.capture, before) << "the generator did not put everything back";
    one.capture = twice;
    forEachMutant(one.capture, Part::kAgain, show);
    EXPECT_EQ(one.capture, twice) << "the generator did not put everything back";
    return counts;
  }

  // Accepted although no entry covers them, or with other rules than before.
  [[nodiscard]] const std::set<std::string>& unlisted() const { return unlisted_; }
  [[nodiscard]] std::vector<std::string> unneeded() const {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < exceptions().size(); ++i) {
      for (std::size_t change = 0; change < kChangeCount; ++change) {
        if (exceptions()[i].changes.contains(static_cast<Change>(change)) &&
            !needed_.contains({i, static_cast<Change>(change)})) {
          result.push_back(std::string(changeName(static_cast<Change>(change))) + " of " +
                           exceptions()[i].path);
        }
      }
    }
    return result;
  }

 private:
  bool excuse(const Mutant& mutant) {
    bool found = false;
    for (std::size_t i = 0; i < exceptions().size(); ++i) {
      if (covers(exceptions()[i], mutant)) {
        needed_.insert({i, mutant.change});
        found = true;
      }
    }
    return found;
  }

  std::set<std::string> unlisted_;
  std::set<std::pair<std::size_t, Change>> needed_;
};

TEST(Mutation, EveryChangeIsRefusedOrListed) {
  const char* const asked = std::getenv("VETHGATE_MUTANTS");
  const std::string wanted = asked == nullptr ? "" : asked;
  Sampler sampler(!wanted.empty());
  Account account;
  Account::Counts all;
  std::cout << std::left << std::setw(32) << "capture"
            << "  mutants   judged  refused excepted\n";
  for (const std::string& name : captureNames()) {
    if (!wanted.empty() && wanted != "all" && wanted != name) {
      continue;
    }
    const Account::Counts counts = account.judgeAll(name, sampler);
    std::cout << std::left << std::setw(32) << name << std::right << std::setw(9) << counts.mutants
              << std::setw(9) << counts.judged << std::setw(9) << counts.refused << std::setw(9)
              << counts.excepted << std::endl;
    EXPECT_GT(counts.refused, counts.excepted);
    all.mutants += counts.mutants;
    all.judged += counts.judged;
    all.refused += counts.refused;
    all.excepted += counts.excepted;
  }
  std::cout << "mutation: " << all.mutants << " mutants, " << all.judged << " judged, "
            << all.refused << " refused, " << all.excepted << " in the " << exceptions().size()
            << " listed places\n";
  std::size_t shown = 0;
  for (const std::string& mutant : account.unlisted()) {
    if (++shown <= kMaxShown) {
      ADD_FAILURE() << "accepted, and not listed: " << mutant;
    }
  }
  EXPECT_EQ(account.unlisted().size(), 0U);
  if (kOneOf == 1 && (wanted.empty() || wanted == "all")) {
    for (const std::string& entry : account.unneeded()) {
      ADD_FAILURE() << "listed, but every such mutant is refused: " << entry;
    }
  }
}

// Of the messages of the engine's table, which stand first in their dumps, every mutant: most of
// their places are ones that a plan's rules have, and other values, as well.
class OfEnginesTable {
 public:
  bool wants(const Mutant& mutant) {
    return ofTable(mutant, "nft.tables", 1) || ofTable(mutant, "nft.chains", 4) ||
           ofTable(mutant, "nft.rules", 6);
  }

 private:
  bool ofTable(const Mutant& mutant, std::string_view dump, std::size_t messages) {
    return mutant.path.substr(0, mutant.path.find('/')) == dump && mutant.message < messages &&
           count_++ % kOneOf == 0;
  }
  std::size_t count_ = 0;
};

TEST(Mutation, EveryChangeOfTheEnginesTableIsRefusedOrListed) {
  for (const char* name : {"engine-docker-20.10", "engine-docker-26.1"}) {
    OfEnginesTable ofTable;
    Account account;
    const Account::Counts counts = account.judgeAll(name, ofTable);
    std::cout << std::left << std::setw(32) << name << std::right << std::setw(9) << counts.mutants
              << std::setw(9) << counts.judged << std::setw(9) << counts.refused << std::setw(9)
              << counts.excepted << std::endl;
    EXPECT_GT(counts.judged, 10'000 / kOneOf);
    EXPECT_GT(counts.refused, counts.excepted);
    for (const std::string& mutant : account.unlisted()) {
      ADD_FAILURE() << "accepted, and not listed: " << mutant;
    }
  }
}

TEST(Mutation, EveryChangeOfTheTextIsRefusedOnReading) {
  const Fixture one = fixture("contained-tiny-6.1");
  EXPECT_EQ(readCapture(captureText(one.capture)), one.capture);
  const auto mutants = textMutants(one.capture);
  for (const TextMutant& mutant : mutants) {
    try {
      static_cast<void>(readCapture(mutant.text));
      ADD_FAILURE() << mutant.name << " was accepted";
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::kBadInput) << mutant.name;
    }
  }
  std::cout << "text: " << mutants.size() << " mutants, all refused\n";
}

}  // namespace
}  // namespace vethgate::test
