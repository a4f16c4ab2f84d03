// The capture document: what is written comes back, and nothing but such a document is read.
#include "verifier/capture.hpp"

#include <gmock/gmock.h>
#include <rapidcheck.h>

#include "base/error.hpp"
#include "support.hpp"

namespace vethgate::test {
namespace {

const std::string kEmpty =
    R"({"version":1,"kernel":"6.1.0","netns":4026532290,"legacy":["ip filter"],"dumps":[)"
    R"({"name":"links","messages":["00ff"]},{"name":"nft.rules","messages":[]}]})";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto position = text.find(from);
  if (position == std::string::npos) {
    throw std::logic_error("nothing to replace: " + from);
  }
  return text.replace(position, from.size(), to);
}

TEST(CaptureDocument, HoldsWhatItSays) {
  const Capture capture = readCapture(kEmpty);
  EXPECT_EQ(capture.kernel, "6.1.0");
  EXPECT_EQ(capture.netns, 4026532290U);
  EXPECT_THAT(capture.legacy, testing::ElementsAre("ip filter"));
  EXPECT_EQ(capture.dump(DumpId::kLinks), std::vector<RawMessage>({{0x00, 0xff}}));
  EXPECT_EQ(capture.dump(DumpId::kNftRules), std::vector<RawMessage>{});
  EXPECT_EQ(capture.dump(DumpId::kQdiscs), std::nullopt);
}

TEST(CaptureDocument, NamesAreTheContracts) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kDumpCount; ++i) {
    names.emplace_back(dumpName(static_cast<DumpId>(i)));
  }
  EXPECT_THAT(
      names, testing::ElementsAre(
                 "links", "qdiscs", "filters.egress", "filters.ingress", "chains.egress",
                 "chains.ingress", "nft.generation.before", "nft.tables", "nft.chains", "nft.rules",
                 "nft.sets", "nft.elements", "nft.objects", "nft.flowtables",
                 "nft.generation.after", "links.again", "qdiscs.again", "filters.egress.again",
                 "filters.ingress.again", "chains.egress.again", "chains.ingress.again"));
}

TEST(CaptureDocument, WhatIsWrittenIsRead) {
  EXPECT_TRUE(rc::check([] {
    Capture capture;
    capture.kernel = *rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f));
    capture.netns = *rc::gen::arbitrary<std::uint64_t>();
    capture.legacy = *rc::gen::container<std::vector<std::string>>(
        rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f)));
    for (auto& dump : capture.dumps) {
      if (*rc::gen::arbitrary<bool>()) {
        dump = *rc::gen::arbitrary<std::vector<Bytes>>();
      }
    }
    RC_ASSERT(readCapture(captureText(capture)) == capture);
  }));
}

TEST(CaptureDocument, ARealOneComesBack) {
  const Capture capture = fixture("contained-reference-6.1").capture;
  EXPECT_EQ(readCapture(captureText(capture)), capture);
}

TEST(CaptureDocument, TextBehindANulIsRefused) {
  const std::string text = captureText(fixture("contained-reference-6.1").capture);
  ASSERT_NO_THROW(static_cast<void>(readCapture(text)));
  for (const std::string& behind : {std::string(1, '\0'), std::string("\0x", 2)}) {
    EXPECT_THROW(static_cast<void>(readCapture(text + behind)), Failure);
  }
}

struct BadDocument {
  const char* from;
  const char* to;
  const char* expected;
};

class CaptureRefusal : public testing::TestWithParam<BadDocument> {};

TEST_P(CaptureRefusal, IsBadInput) {
  ASSERT_NO_THROW(static_cast<void>(readCapture(kEmpty)));
  try {
    static_cast<void>(readCapture(replaced(kEmpty, GetParam().from, GetParam().to)));
    FAIL() << "accepted";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kBadInput);
    EXPECT_THAT(failure.what(), testing::HasSubstr(GetParam().expected));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Documents, CaptureRefusal,
    testing::Values(
        BadDocument{"\"version\":1", "\"version\":2", "capture.version is 2, expected 1"},
        BadDocument{"\"version\":1,", "", "the field \"version\" is missing"},
        BadDocument{"\"version\":1", "\"version\":1,\"version\":1", "stands twice"},
        BadDocument{"\"version\":1", "\"version\":1,\"extra\":1", "no place for it"},
        BadDocument{"\"version\":1", "\"version\":true", "a boolean"},
        BadDocument{"\"version\":1", "\"version\":1.0", "not an integer"},
        BadDocument{"4026532290", "-1", "a negative number"},
        BadDocument{"4026532290", "\"1\"", "a string where the document has no place"},
        BadDocument{"\"6.1.0\"", "null", "null where"},
        BadDocument{"6.1.0", "6.1\\n", "not printable ASCII"},
        BadDocument{"\"ip filter\"", "[\"ip filter\"]", "a list where"},
        BadDocument{"\"ip filter\"", "1", "a number where"},
        BadDocument{"\"legacy\":[\"ip filter\"],", "", "the field \"legacy\" is missing"},
        BadDocument{"\"name\":\"links\"", "\"name\":\"lynx\"", "the name \"lynx\" is unknown"},
        BadDocument{"\"nft.rules\"", "\"links\"", "stands twice or out of order"},
        BadDocument{"\"name\":\"links\",", "", "the field \"name\" is missing"},
        BadDocument{",\"messages\":[]", "", "the field \"messages\" is missing"},
        BadDocument{"\"messages\":[]", "\"messages\":[],\"more\":[]", "a list where"},
        BadDocument{"\"messages\":[]", "\"messages\":[{}]", "an object where"},
        BadDocument{"00ff", "00fF", "not lower-case hex"}, BadDocument{"00ff", "00f", "not lower"},
        BadDocument{"{\"version\"", "\xEF\xBB\xBF{\"version\"", "byte order mark"},
        BadDocument{"[]}]}", "[]}]} x", "not JSON"}, BadDocument{"[]}]}", "[]}]", "not JSON"},
        BadDocument{"{\"version\"", "[{\"version\"", "a list where"}));

TEST(CaptureDocument, SizeIsBounded) {
  const std::string text(kMaxCaptureBytes + 1, ' ');
  EXPECT_THROW(static_cast<void>(readCapture(text)), Failure);
}

}  // namespace
}  // namespace vethgate::test
