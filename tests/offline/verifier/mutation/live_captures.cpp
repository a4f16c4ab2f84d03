// The same on the captures that the live tests have just made of every golden policy:
// `live-mutants 1/2 FOLDER...` is the first of two processes that share the work on what the test
// Oracles left in the folders. With VETHGATE_MUTANTS=all the repetitions are judged as well.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "account.hpp"
#include "sampler.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> folders;
Share share;

// The paths of all captures without their ends, by size: a message is judged in the smallest one
// that holds it.
std::vector<std::string> captures() {
  std::vector<std::string> paths;
  for (const fs::path& folder : folders) {
    for (const auto& entry :
         fs::directory_iterator(fs::path(VETHGATE_SOURCE_DIR) / "tests/offline/render/golden")) {
      if (fs::exists(entry.path() / "policy.json")) {
        paths.push_back(folder / ("golden-" + entry.path().filename().string()));
      }
    }
  }
  std::ranges::sort(paths, {}, [](const std::string& path) {
    return std::pair(fs::file_size(path + ".json"), path);
  });
  return paths;
}

TEST(LiveMutation, EveryChangeIsRefusedOrListed) {
  const char* const asked = std::getenv("VETHGATE_MUTANTS");
  const bool all = asked != nullptr && std::string_view(asked) == "all";
  Sampler sampler(all, 1, share);
  Account account;
  std::cout << Account::heading();
  for (const std::string& path : captures()) {
    const Fixture made = readFixture(path + ".policy.json", path + ".link.json", path + ".json");
    sampler.begin(made.capture);
    account.judgeAll(path, made, [&](const Mutant& mutant) { return sampler.wants(mutant); });
  }
  std::cout << "mutation: " << sampler.sum() << account.sum();
  account.expectNoneUnlisted();
}

}  // namespace
}  // namespace vethgate::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  unsigned number = 0;
  unsigned of = 0;
  if (argc < 3 || std::sscanf(argv[1], "%u/%u", &number, &of) != 2 || number == 0 || number > of) {
    std::fprintf(stderr, "usage: live-mutants SHARE/SHARES FOLDER...\n");
    return 2;
  }
  vethgate::test::share = {number - 1, of};
  vethgate::test::folders.assign(argv + 2, argv + argc);
  return RUN_ALL_TESTS();
}
