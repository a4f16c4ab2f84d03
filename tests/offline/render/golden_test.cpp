// Every golden policy renders to the texts beside it. VETHGATE_UPDATE_GOLDEN=1 rewrites them; the
// difference is then read in the change.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "support.hpp"

namespace vethgate::test {
namespace {

class Golden : public testing::TestWithParam<std::string> {
 protected:
  // Empty when the plan leaves out the layer that the text is of; then no file may be there either.
  void compare(const char* file, const std::string& text) const {
    const std::filesystem::path path = goldenFolder() / GetParam() / file;
    if (std::getenv("VETHGATE_UPDATE_GOLDEN") != nullptr) {
      std::filesystem::remove(path);
      if (!text.empty()) {
        std::ofstream(path, std::ios::binary) << text;
      }
    }
    EXPECT_EQ(std::filesystem::exists(path) ? readText(path) : "", text) << path;
  }
};

TEST_P(Golden, rendersToTheTextsBesideIt) {
  const Plan plan = goldenPlan(GetParam());
  compare("plan.json", planText(plan) + "\n");
  compare("iptables-save", plan.iptables ? iptablesSaveText(plan) : "");
  compare("tc", plan.flower ? tcBatchText(plan) : "");
  compare("nft", plan.netdev ? nftText(plan) : "");
  compare("table", tableText(plan));
}

TEST_P(Golden, isReadBackAsItWasRendered) {
  EXPECT_EQ(readPlan(readText(goldenFolder() / GetParam() / "plan.json")), goldenPlan(GetParam()));
}

INSTANTIATE_TEST_SUITE_P(Policies, Golden, testing::ValuesIn(goldenNames()), [](const auto& param) {
  std::string name = param.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// The three options that decide which lists a plan has and how each ends.
struct Options {
  std::string layers;
  std::string fallback;
  std::string log;
};

constexpr const char* kEveryLayer = "iptables+flower+netdev";
const std::vector<std::string> kLayers = {"iptables",        "flower",          "netdev",
                                          "iptables+flower", "iptables+netdev", "flower+netdev",
                                          kEveryLayer};
const std::vector<std::string> kFallbacks = {"default pass", "default drop", "default list"};
const std::vector<std::string> kLogs = {"no log", "log"};

Options optionsOf(const std::string& golden) {
  const Policy policy =
      readPolicy(std::string_view(readText(goldenFolder() / golden / "policy.json")));
  std::string layers;
  for (const auto& [written, name] :
       {std::pair(policy.iptables, "iptables"), std::pair(policy.flower, "flower"),
        std::pair(policy.netdev, "netdev")}) {
    if (written) {
      layers += layers.empty() ? name : std::string("+") + name;
    }
  }
  return {layers, kFallbacks.at(static_cast<std::size_t>(policy.fallback)),
          kLogs.at(policy.log ? 1 : 0)};
}

// Which values of the options meet in a policy: each two, and all three where every layer is
// written, which is what a policy says that says nothing.
std::set<std::string> meetings(const Options& options) {
  std::set<std::string> found = {options.layers + ", " + options.fallback,
                                 options.layers + ", " + options.log,
                                 options.fallback + ", " + options.log};
  if (options.layers == kEveryLayer) {
    found.insert(options.layers + ", " + options.fallback + ", " + options.log);
  }
  return found;
}

TEST(GoldenSet, holdsTheReferenceAndEachPairOfOptions) {
  const std::vector<std::string> names = goldenNames();
  EXPECT_NE(std::find(names.begin(), names.end(), "reference"), names.end());

  std::set<std::string> missing;
  for (const std::string& layers : kLayers) {
    for (const std::string& fallback : kFallbacks) {
      for (const std::string& log : kLogs) {
        missing.merge(meetings({layers, fallback, log}));
      }
    }
  }
  ASSERT_EQ(missing.size(), 21U + 14U + 6U + 6U);
  for (const std::string& name : names) {
    for (const std::string& found : meetings(optionsOf(name))) {
      missing.erase(found);
    }
  }
  for (const std::string& combination : missing) {
    ADD_FAILURE() << "no golden policy has: " << combination;
  }
}

}  // namespace
}  // namespace vethgate::test
