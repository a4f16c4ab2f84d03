// What EveryChangeIsRefusedOrListed says of the captures in the repository, of those that the live
// tests have just made of every golden policy: `live-mutants FOLDER`, with what Oracles left there.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <set>
#include <string>

#include "account.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

namespace fs = std::filesystem;

fs::path folder;

std::set<std::string> goldenPolicies() {
  std::set<std::string> names;
  for (const auto& entry :
       fs::directory_iterator(fs::path(VETHGATE_SOURCE_DIR) / "tests/offline/render/golden")) {
    if (fs::exists(entry.path() / "policy.json")) {
      names.insert(entry.path().filename());
    }
  }
  return names;
}

TEST(LiveMutation, EveryChangeIsRefusedOrListed) {
  Sampler sampler(false);
  Account account;
  std::cout << Account::heading();
  for (const std::string& name : goldenPolicies()) {
    const std::string base = folder / ("golden-" + name);
    const Fixture made = readFixture(base + ".policy.json", base + ".link.json", base + ".json");
    account.judgeAll(name, made, [&](const Mutant& mutant) { return sampler.wants(mutant); });
  }
  std::cout << "mutation of " << folder << ": " << account.sum();
  account.expectNoneUnlisted();
}

}  // namespace
}  // namespace vethgate::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 2) {
    std::fprintf(stderr, "usage: live-mutants FOLDER\n");
    return 2;
  }
  vethgate::test::folder = argv[1];
  return RUN_ALL_TESTS();
}
