#include "account.hpp"

#include <gtest/gtest.h>

#include <iomanip>
#include <iostream>
#include <sstream>

#include "exceptions.hpp"
#include "render/render.hpp"
#include "verifier/envelope.hpp"
#include "verifier/findings.hpp"
#include "verifier/readings.hpp"

namespace vethgate::test {
namespace {

constexpr std::size_t kMaxShown = 100;
constexpr std::size_t kWholeOneOf = 61;
constexpr int kNameWidth = 40;

// What judge() does with a second reading, without the rest of it.
bool differs(const Capture& capture) {
  Findings findings;
  checkEnvelopes(capture, findings);
  if (findings.empty() && hasSecondReading(capture)) {
    compareReadings(capture, findings);
  }
  return !findings.empty();
}

}  // namespace

Counts Account::judgeAll(const std::string& name, const Fixture& fixture, const Choice& wants) {
  // The first reading by itself: what a decoder overlooks must not be caught by the comparison
  // alone.
  Fixture one = readOnce(fixture);
  const Plan plan = renderPlan(one.policy, one.link);
  const Verdict untouched = judge(one.policy, plan, one.capture);
  EXPECT_EQ(untouched.code, ExitCode::kDone) << name << ":\n" << reasonsOf(untouched);
  EXPECT_EQ(judge(one.policy, plan, fixture.capture).code, ExitCode::kDone) << name;
  EXPECT_FALSE(differs(fixture.capture)) << name;
  Counts counts;
  Part part = Part::kFirst;
  const auto show = [&](const Mutant& mutant) {
    ++counts.mutants;
    if (wants(mutant)) {
      ++counts.judged;
      // A reading that differs is refused for that alone: that the judgement says so, too, is
      // looked at now and then.
      if (part == Part::kAgain && differs(one.capture) && differing_++ % kWholeOneOf != 0) {
        ++counts.refused;
        note(mutant, false);
        return;
      }
      const Verdict verdict = judge(one.policy, plan, one.capture, false, Reasons::kFirst);
      if (counts.judged % kWholeOneOf == 0) {
        EXPECT_EQ(judge(one.policy, plan, one.capture).code, verdict.code) << describe(mutant);
      }
      if (verdict.code != ExitCode::kDone) {
        EXPECT_FALSE(verdict.reasons.empty()) << name << ": " << describe(mutant);
        note(mutant, false);
        ++counts.refused;
      } else if (verdict.readback == untouched.readback && note(mutant, true)) {
        ++counts.excepted;
      } else {
        unlisted_.insert(name + ": " + describe(mutant));
      }
    }
  };
  const auto mutate = [&](Part which) {
    part = which;
    const Capture before = one.capture;
    forEachMutant(one.capture, part, show);
    EXPECT_EQ(one.capture, before) << "the generator did not put everything back";
  };
  mutate(Part::kFirst);
  one.capture = fixture.capture;
  mutate(Part::kAgain);

  std::cout << std::left << std::setw(kNameWidth) << name << std::right << std::setw(9)
            << counts.mutants << std::setw(9) << counts.judged << std::setw(9) << counts.refused
            << std::setw(9) << counts.excepted << std::endl;
  all_.mutants += counts.mutants;
  all_.judged += counts.judged;
  all_.refused += counts.refused;
  all_.excepted += counts.excepted;
  return counts;
}

std::string Account::heading() {
  std::ostringstream line;
  line << std::left << std::setw(kNameWidth) << "capture"
       << "  mutants   judged  refused excepted\n";
  return line.str();
}

std::string Account::sum() const {
  return std::to_string(all_.mutants) + " mutants, " + std::to_string(all_.judged) + " judged, " +
         std::to_string(all_.refused) + " refused, " + std::to_string(all_.excepted) + " in the " +
         std::to_string(exceptions().size()) + " listed places\n";
}

void Account::expectNoneUnlisted() const {
  std::size_t shown = 0;
  for (const std::string& mutant : unlisted_) {
    if (++shown <= kMaxShown) {
      ADD_FAILURE() << "accepted, and not listed: " << mutant;
    }
  }
  EXPECT_EQ(unlisted_.size(), 0U);
  EXPECT_GT(all_.refused, all_.excepted);
}

void Account::expectNoneUnneeded() const {
  for (std::size_t i = 0; i < exceptions().size(); ++i) {
    for (std::size_t change = 0; change < kChangeCount; ++change) {
      if (exceptions()[i].changes.contains(static_cast<Change>(change)) &&
          !needed_.contains({i, static_cast<Change>(change)})) {
        ADD_FAILURE() << "listed, but every such mutant is refused: "
                      << changeName(static_cast<Change>(change)) << " of " << exceptions()[i].path;
      }
    }
  }
  std::size_t loose = 0;
  for (const auto& [place, accepted] : places_) {
    if (!accepted && ++loose <= kMaxShown) {
      ADD_FAILURE() << "listed by the entry of " << exceptions()[place.first].path
                    << ", but always refused: " << place.second;
    }
  }
  EXPECT_EQ(loose, 0U);
}

bool Account::note(const Mutant& mutant, bool accepted) {
  bool found = false;
  for (std::size_t i = 0; i < exceptions().size(); ++i) {
    if (covers(exceptions()[i], mutant)) {
      Mutant place = mutant;
      // Of links each message is a place of its own, since only one of them is the job's.
      place.place.message = mutant.place.dump == DumpId::kLinks ? mutant.place.message : 0;
      places_[{i, describe(place)}] |= accepted;
      if (accepted) {
        needed_.insert({i, mutant.change});
      }
      found = true;
    }
  }
  return found;
}

}  // namespace vethgate::test
