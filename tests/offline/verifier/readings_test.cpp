// The second reading of links and traffic control: what may differ from the first, and that nothing
// else may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/gen_stats.h>
#include <linux/if_link.h>
#include <linux/pkt_cls.h>
#include <linux/rtnetlink.h>
#include <linux/tc_act/tc_gact.h>

#include <cstring>
#include <ostream>
#include <string>
#include <vector>

#include "support.hpp"

namespace vethgate::test {
namespace {

using testing::HasSubstr;

Fixture atRest() { return readTwice(fixture("contained-tiny-6.1")); }

TEST(Readings, TwoThatAgreeAreContained) {
  const Verdict verdict = judged(atRest());
  EXPECT_EQ(verdict.code, ExitCode::kDone) << reasonsOf(verdict);
  EXPECT_TRUE(verdict.unchecked.empty());
}

TEST(Readings, OneAloneIsSaidToBeOne) {
  Fixture f = atRest();
  for (std::size_t i = 0; i < kReadTwice; ++i) {
    f.capture.dump(againOf(static_cast<DumpId>(i))).reset();
  }
  const Verdict verdict = judged(f);
  EXPECT_EQ(verdict.code, ExitCode::kDone) << reasonsOf(verdict);
  EXPECT_THAT(verdict.unchecked, testing::ElementsAre(HasSubstr("read only once")));
  EXPECT_THAT(verdictText(verdict), HasSubstr("\"unchecked\":[\"links and traffic control"));
}

TEST(Readings, APartOfASecondOneIsRefused) {
  Fixture f = atRest();
  f.capture.dump(DumpId::kChainsIngressAgain).reset();
  EXPECT_EQ(reasonsOf(judged(f)), "dump chains.ingress.again: is missing\n");
}

// One change of the second reading. `index` is a message that has the attribute.
struct Change {
  const char* name;
  DumpId id;
  std::size_t index;
  std::string path;  // of the attribute; empty: a byte of the fixed header
  std::size_t byte;
};

void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

void make(Fixture& f, const Change& change) {
  if (change.path.empty()) {
    messages(f.capture, change.id).at(change.index).at(change.byte) ^= 1;
    return;
  }
  edit(f.capture, change.id, change.index,
       [&](Attributes& attributes) { at(attributes, change.path).value.at(change.byte) ^= 1; });
}

std::string path(std::initializer_list<int> types) {
  std::string text;
  for (const int type : types) {
    text += (text.empty() ? "" : "/") + std::to_string(type);
  }
  return text;
}

class Restless : public testing::TestWithParam<Change> {};
TEST_P(Restless, MayDiffer) {
  Fixture f = atRest();
  make(f, GetParam());
  EXPECT_EQ(reasonsOf(judged(f)), "");
}

// Message 1 of the filters is the first that is no classifier.
INSTANTIATE_TEST_SUITE_P(
    Second, Restless,
    testing::Values(Change{"LinkCounters", DumpId::kLinksAgain, 1, path({IFLA_STATS64}), 0},
                    Change{"QdiscReferences", DumpId::kQdiscsAgain, 0, "", 16 + 16},
                    Change{"QdiscCounters", DumpId::kQdiscsAgain, 0, path({TCA_STATS}), 0},
                    Change{"FilterCounters", DumpId::kFiltersEgressAgain, 1,
                           path({TCA_OPTIONS, TCA_FLOWER_ACT, 1, TCA_ACT_STATS, TCA_STATS_BASIC}),
                           0},
                    Change{"FilterTimes", DumpId::kFiltersEgressAgain, 1,
                           path({TCA_OPTIONS, TCA_FLOWER_ACT, 1, TCA_ACT_OPTIONS, TCA_GACT_TM}),
                           0}),
    [](const auto& one) { return std::string(one.param.name); });

class Telling : public testing::TestWithParam<Change> {};
TEST_P(Telling, MustNotDiffer) {
  Fixture f = atRest();
  make(f, GetParam());
  const Verdict verdict = judged(f);
  EXPECT_EQ(verdict.code, ExitCode::kRefused);
  EXPECT_THAT(reasonsOf(verdict), HasSubstr("dump " + std::string(dumpName(GetParam().id)) +
                                            ": message " + std::to_string(GetParam().index)));
  EXPECT_THAT(reasonsOf(verdict), HasSubstr("unannounced"));
}

INSTANTIATE_TEST_SUITE_P(
    Second, Telling,
    testing::Values(
        Change{"LinkFlags", DumpId::kLinksAgain, 1, "", 16 + 8},
        Change{"LinkAddress", DumpId::kLinksAgain, 1, path({IFLA_ADDRESS}), 5},
        Change{"QdiscKind", DumpId::kQdiscsAgain, 0, path({TCA_KIND}), 0},
        Change{"QdiscHandle", DumpId::kQdiscsAgain, 2, "", 16 + 8},
        Change{"FilterHandle", DumpId::kFiltersEgressAgain, 1, "", 16 + 8},
        Change{"FilterPref", DumpId::kFiltersEgressAgain, 1, "", 16 + 18},
        Change{"FilterKind", DumpId::kFiltersEgressAgain, 1, path({TCA_KIND}), 0},
        Change{"FilterProtocol", DumpId::kFiltersEgressAgain, 1,
               path({TCA_OPTIONS, TCA_FLOWER_KEY_ETH_TYPE}), 0},
        // The verdict of the action, and its index: a filter that was replaced has another.
        Change{"FilterAction", DumpId::kFiltersEgressAgain, 1,
               path({TCA_OPTIONS, TCA_FLOWER_ACT, 1, TCA_ACT_OPTIONS, TCA_GACT_PARMS}), 8},
        Change{"FilterActionIndex", DumpId::kFiltersEgressAgain, 1,
               path({TCA_OPTIONS, TCA_FLOWER_ACT, 1, TCA_ACT_OPTIONS, TCA_GACT_PARMS}), 0},
        Change{"ChainNumber", DumpId::kChainsEgressAgain, 0, path({TCA_CHAIN}), 0}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Readings, AMessageMoreOrLessIsRefused) {
  for (const DumpId id : {DumpId::kLinksAgain, DumpId::kQdiscsAgain, DumpId::kFiltersEgressAgain,
                          DumpId::kChainsEgressAgain}) {
    Fixture f = atRest();
    messages(f.capture, id).erase(messages(f.capture, id).begin());
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("dump " + std::string(dumpName(id)))) << "one less";
    f = atRest();
    messages(f.capture, id)
        .insert(messages(f.capture, id).begin(), messages(f.capture, id).front());
    EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("dump " + std::string(dumpName(id)))) << "one more";
  }
}

// A counter's value may differ, its size not: it would be another attribute.
TEST(Readings, ACounterOfAnotherSizeIsNoRepetition) {
  Fixture f = atRest();
  edit(f.capture, DumpId::kQdiscsAgain, 0,
       [](Attributes& attributes) { at(attributes, path({TCA_STATS})).value.resize(44); });
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("dump qdiscs.again: message 0"));
}

TEST(Readings, AttributesThatAreCutOffAreNoRepetition) {
  Fixture f = atRest();
  auto& message = messages(f.capture, DumpId::kFiltersEgressAgain).at(1);
  message.resize(message.size() - 4);
  const auto length = static_cast<std::uint32_t>(message.size());
  std::memcpy(message.data(), &length, sizeof length);
  EXPECT_THAT(reasonsOf(judged(f)), HasSubstr("dump filters.egress.again: message 1"));
}

}  // namespace
}  // namespace vethgate::test
