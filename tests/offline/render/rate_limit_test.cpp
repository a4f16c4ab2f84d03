// Rates against what iptables-nft writes for them.
#include "render/rate_limit.hpp"

#include <rapidcheck.h>

#include "support.hpp"

namespace vethgate::test {
namespace {

// Read off iptables-nft 1.8.9: `-m limit --limit N/unit` beside what `nft list ruleset` then shows.
TEST(CarriedLimit, isWhatIptablesWrites) {
  const auto carried = [](std::uint64_t count, std::uint64_t unit) {
    return carriedLimit(count, unit, 12);
  };
  EXPECT_EQ(carried(6, 60), (RateLimit{6, 60, 12}));
  EXPECT_EQ(carried(7, 60), (RateLimit{7, 60, 12}));
  EXPECT_EQ(carried(60, 60), (RateLimit{1, 1, 12}));
  EXPECT_EQ(carried(86'400, 86'400), (RateLimit{1, 1, 12}));
  EXPECT_EQ(carried(100, 3'600), (RateLimit{100, 3'600, 12}));
  EXPECT_EQ(carried(11, 3'600), (RateLimit{11, 3'600, 12}));
  EXPECT_EQ(carried(3, 86'400), (RateLimit{3, 86'400, 12}));
  EXPECT_EQ(carried(3'333, 1), (RateLimit{3'333, 1, 12}));
  EXPECT_EQ(carried(10'000, 1), (RateLimit{10'000, 1, 12}));
}

TEST(CarriedLimit, isNothingWhereIptablesRounds) {
  for (const auto& [count, unit] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {199, 1}, {240, 1}, {600, 1}, {9'999, 1}, {1'024, 60}, {3'599, 60}, {9'999, 3'600}}) {
    EXPECT_FALSE(carriedLimit(count, unit, 1)) << count << " per " << unit;
  }
}

TEST(CarriedLimit, refusesWhatIsOutOfRange) {
  EXPECT_TRUE(carriedLimit(1, 60, kMaxBurst));
  EXPECT_FALSE(carriedLimit(0, 60, 1));
  EXPECT_FALSE(carriedLimit(1, 60, 0));
  EXPECT_FALSE(carriedLimit(1, 60, kMaxBurst + 1));
  EXPECT_FALSE(carriedLimit(1, 61, 1));
  EXPECT_FALSE(carriedLimit(10'001, 1, 1));
  EXPECT_FALSE(carriedLimit(UINT64_MAX, 86'400, 1));
}

TEST(CarriedLimit, keepsTheRateAndIsCarriedAsItIs) {
  EXPECT_TRUE(rc::check([] {
    const auto unit = *rc::gen::element<std::uint64_t>(1, 60, 3'600, 86'400);
    const auto count = *rc::gen::inRange<std::uint64_t>(1, 300);
    const auto limit = carriedLimit(count, unit, 5);
    RC_PRE(limit.has_value());
    RC_ASSERT(limit->rate * unit == count * limit->unit);
    RC_ASSERT(isCarriedExactly(*limit));
  }));
}

}  // namespace
}  // namespace vethgate::test
