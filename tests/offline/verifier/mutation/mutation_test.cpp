// Every single change of a real capture is refused, but for the listed places without a meaning;
// and every entry of that list is needed.
// With VETHGATE_MUTANTS=all every mutant of every capture is judged, with the name of a capture
// every mutant of that one; otherwise what Sampler says. The captures of every golden policy, the
// reference's among them, are judged where the live tests make them: see live_captures.cpp.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "account.hpp"
#include "base/error.hpp"
#include "sampler.hpp"
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
constexpr std::size_t kOneOf = 31;
#else
constexpr std::array kPolicies = {"iptables-only", "default-list", "flower-only", "netdev",
                                  "tiny",          "allow-list",   "small"};
constexpr std::size_t kOneOf = 1;
#endif

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

TEST(Mutation, EveryChangeIsRefusedOrListed) {
  const char* const asked = std::getenv("VETHGATE_MUTANTS");
  const std::string wanted = asked == nullptr ? "" : asked;
  Sampler sampler(!wanted.empty(), kOneOf);
  Account account;
  std::cout << Account::heading();
  for (const std::string& name : captureNames()) {
    if (wanted.empty() || wanted == "all" || wanted == name) {
      const Fixture one = readTwice(fixture(name));
      sampler.begin(one.capture);
      account.judgeAll(name, one, [&](const Mutant& mutant) { return sampler.wants(mutant); });
    }
  }
  std::cout << "mutation: " << sampler.sum() << account.sum();
  account.expectNoneUnlisted();
  if (kOneOf == 1 && (wanted.empty() || wanted == "all")) {
    account.expectNoneUnneeded();
  }
}

// Of the messages of the engine's table, which stand first in their dumps, every mutant: most of
// their places are ones that a plan's rules have, and other values, as well.
TEST(Mutation, EveryChangeOfTheEnginesTableIsRefusedOrListed) {
  std::cout << Account::heading();
  for (const char* name : {"engine-docker-20.10", "engine-docker-26.1"}) {
    std::size_t count = 0;
    const auto ofTable = [&](const Mutant& mutant) {
      const auto among = [&](std::string_view dump, std::size_t messages) {
        return mutant.path.substr(0, mutant.path.find('/')) == dump &&
               mutant.place.message < messages;
      };
      return (among("nft.tables", 1) || among("nft.chains", 4) || among("nft.rules", 6)) &&
             count++ % kOneOf == 0;
    };
    Account account;
    EXPECT_GT(account.judgeAll(name, readTwice(fixture(name)), ofTable).judged, 10'000 / kOneOf);
    account.expectNoneUnlisted();
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
