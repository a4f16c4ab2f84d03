// The pure part of `vethgate status`: whose answer it is, and how a status is told.
#include "docker/status/status.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "base/error.hpp"
#include "docker/custody/labels.hpp"

namespace vethgate::docker {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string kId(64, 'a');
constexpr std::uint64_t kNow = 1'800'000'000;  // 2027-01-15 08:00:00 UTC

Json answer() {
  return {{"job", "j1"},
          {"owner", "w1"},
          {"id", kId},
          {"holder", "vethgate-j1"},
          {"deadline", kNow + 3'600},
          {"policy", {{"version", 1}}},
          {"link",
           {{"index", 3},
            {"name", "eth0"},
            {"mac", "02:42:ac:11:00:02"},
            {"peer", 4},
            {"netns", 4026532290},
            {"addresses", {"172.17.0.2"}}}}};
}

Subject subject() { return readSubject(answer().dump(), "j1", "w1"); }

void expectRefused(const Json& document, const char* part) {
  try {
    (void)readSubject(document.dump(), "j1", "w1");
    FAIL() << "accepted; expected: " << part;
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kBadInput);
    EXPECT_THAT(failure.what(), HasSubstr(part));
  }
}

TEST(StatusSubject, IsReadFromTheAnswer) {
  const Subject read = subject();
  EXPECT_EQ(read.id, kId);
  EXPECT_EQ(read.deadline, kNow + 3'600);
  EXPECT_EQ(read.policy, answer().at("policy"));
  EXPECT_EQ(read.link, answer().at("link"));
}

TEST(StatusSubject, OfAnotherJobIsRefused) {
  const auto with = [](const char* key, const Json& value) {
    Json changed = answer();
    changed[key] = value;
    return changed;
  };
  expectRefused(with("job", "j2"), "answer.job is \"j2\", expected \"j1\"");
  expectRefused(with("owner", "w2"), "answer.owner is \"w2\", expected \"w1\"");
  expectRefused(with("id", std::string(63, 'a')), "expected 64 hexadecimal digits");
  expectRefused(with("id", std::string(64, 'g')), "expected 64 hexadecimal digits");
  expectRefused(with("policy", {{"version", 2}}), "policy.version");
  expectRefused(with("link", Json::object()), "answer.link");
  Json without = answer();
  without.erase("deadline");
  expectRefused(without, "the field \"deadline\" is missing");
}

TEST(StatusTime, IsReadInEverySpellingOfAnEngine) {
  EXPECT_EQ(unixSecond("2027-01-15T08:00:00.324651564Z"), kNow);
  EXPECT_EQ(unixSecond("2027-01-15T08:00:00Z"), kNow);
  EXPECT_EQ(unixSecond("2027-01-15T10:30:00.1+02:30"), kNow);
  EXPECT_EQ(unixSecond("2027-01-15T03:00:00-05:00"), kNow);
  for (const char* bad :
       {"", "2027-01-15", "2027-01-15T08:00:00", "2027-01-15T08:00:00Zx", "0001-01-01T00:00:00Z"}) {
    EXPECT_EQ(unixSecond(bad), std::nullopt) << bad;
  }
}

TEST(StatusTime, SpansAreShort) {
  EXPECT_EQ(spanText(0), "0 s");
  EXPECT_EQ(spanText(185), "3 min 5 s");
  EXPECT_EQ(spanText(7'200), "2 h 0 min");
  EXPECT_EQ(spanText(3 * 86'400 + 4 * 3'600), "3 d 4 h");
}

Status judged(ExitCode code) {
  Status status;
  status.subject = subject();
  status.holder = "running";
  status.created = kNow - 185;
  status.removeAfter = kNow + 7'200;
  status.code = code;
  const bool contained = code == ExitCode::kDone;
  status.verdict = {
      {"verdict", contained ? "contained" : "refused"},
      {"reasons", contained ? Json::array() : Json({"a rule\nis missing"})},
      {"unchecked", Json::array()},
      {"drops",
       {{"flower 103/0x5 drop 10.0.0.0/8", 3}, {"netdev #2 drop v4_1 (9 prefixes: private)", 0}}}};
  return status;
}

TEST(StatusText, SaysWhatIsAskedOnALineEach) {
  EXPECT_EQ(statusText(judged(ExitCode::kDone), kNow),
            "job           j1 of w1\n"
            "verdict       contained\n"
            "dropped       3 packets by flower 103/0x5 drop 10.0.0.0/8\n"
            "holder        running, " +
                kId +
                "\n"
                "age           3 min 5 s\n"
                "deadline      2027-01-15 09:00:00 UTC, in 1 h 0 min\n"
                "remove after  2027-01-15 10:00:00 UTC, in 2 h 0 min\n");
}

TEST(StatusText, SaysWhyANamespaceIsRefusedAndWhatHasPassed) {
  const std::string text = statusText(judged(ExitCode::kRefused), kNow + 3'660);
  EXPECT_THAT(text, HasSubstr("verdict       refused\nreason        a rule?is missing\n"));
  EXPECT_THAT(text, HasSubstr("09:00:00 UTC, 1 min 0 s ago"));
  EXPECT_THAT(statusSentence(judged(ExitCode::kRefused)), HasSubstr("job j1 is refused: a rule"));
  EXPECT_EQ(statusSentence(judged(ExitCode::kDone)), "job j1 is contained");
}

TEST(StatusText, AHolderThatIsGoneHasNoVerdict) {
  Status status;
  status.subject = subject();
  const std::string text = statusText(status, kNow);
  EXPECT_THAT(text, HasSubstr("verdict       no verdict\nholder        absent, "));
  EXPECT_THAT(text, Not(HasSubstr("dropped")));
  EXPECT_THAT(text, Not(HasSubstr("age")));
  EXPECT_EQ(status.code, ExitCode::kEngine);
  EXPECT_THAT(statusSentence(status), HasSubstr("its holder is absent"));
  const Json document = Json::parse(statusJson(status, kNow));
  EXPECT_TRUE(document.at("verdict").is_null());
  EXPECT_TRUE(document.at("age").is_null());
}

// By the rule that a sweep reads it by, up to the stamp of a deadline that nothing can be added to.
TEST(StatusStamp, IsAUnixSecondOrNone) {
  const auto stamp = [](const char* text) { return stampOf({{kRemoveAfterLabel, text}}); };
  EXPECT_EQ(stamp("1800007200"), kNow + 7'200);
  EXPECT_EQ(stamp("0"), 0U);
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  EXPECT_EQ(stamp("18446744073709551615"), kLast);
  for (const char* none : {"", "18446744073709551616", "-1", "+1", " 1", "1 ", "0x1", "soon"}) {
    EXPECT_EQ(stamp(none), std::nullopt) << none;
  }
  EXPECT_EQ(stampOf({}), std::nullopt);
  Status status = judged(ExitCode::kDone);
  status.removeAfter = kLast;
  EXPECT_THAT(statusText(status, kNow),
              HasSubstr("remove after  unix second 18446744073709551615"));
}

TEST(StatusDocument, HoldsTheVerdictWhole) {
  const Status status = judged(ExitCode::kDone);
  const Json document = Json::parse(statusJson(status, kNow));
  EXPECT_EQ(document.at("verdict"), status.verdict);
  EXPECT_EQ(document.at("age"), 185);
  EXPECT_EQ(document.at("deadline"), kNow + 3'600);
  EXPECT_EQ(document.at("remove_after"), kNow + 7'200);
  EXPECT_EQ(document.at("holder"), "running");
}

}  // namespace
}  // namespace vethgate::docker
