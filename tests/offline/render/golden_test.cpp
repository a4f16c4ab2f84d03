// Every golden policy renders to the texts beside it. VETHGATE_UPDATE_GOLDEN=1 rewrites them; the
// difference is then read in the change.
#include <algorithm>
#include <cstdlib>
#include <fstream>

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

TEST(GoldenSet, holdsTheReferenceAndTheCrossProduct) {
  const std::vector<std::string> names = goldenNames();
  EXPECT_GE(names.size(), 24U);
  EXPECT_NE(std::find(names.begin(), names.end(), "reference"), names.end());
}

}  // namespace
}  // namespace vethgate::test
