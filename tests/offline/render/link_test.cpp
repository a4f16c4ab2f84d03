// The link document and every value that it refuses.
#include "render/link.hpp"

#include "support.hpp"

namespace vethgate::test {
namespace {

const Json kLink = {{"index", 3},
                    {"name", "eth0"},
                    {"mac", "02:42:ac:11:00:02"},
                    {"peer", 4},
                    {"netns", 4026532290U}};

TEST(LinkDocument, isReadAndWrittenAlike) {
  const Link link = readLink(asRead(kLink), "link");
  EXPECT_EQ(link.index, 3U);
  EXPECT_EQ(link.name, "eth0");
  EXPECT_EQ(link.mac[1], 0x42);
  EXPECT_EQ(link.peer, 4U);
  EXPECT_EQ(link.netns, 4026532290U);
  Json written = kLink;
  written["addresses"] = Json::array();
  EXPECT_EQ(linkDocument(link), written);
}

struct Nonsense {
  const char* field;
  Json value;
};

void PrintTo(const Nonsense& nonsense, std::ostream* out) {
  *out << nonsense.field << " = " << nonsense.value.dump();
}

class LinkRefusal : public testing::TestWithParam<Nonsense> {};

TEST_P(LinkRefusal, namesTheField) {
  Json document = kLink;
  document[GetParam().field] = GetParam().value;
  expectRefusal(outcomeOf([&] { static_cast<void>(readLink(asRead(document), "link")); }),
                ExitCode::kBadInput, std::string("link.") + GetParam().field);
}

INSTANTIATE_TEST_SUITE_P(
    Values, LinkRefusal,
    testing::Values(Nonsense{"index", 0}, Nonsense{"index", -1}, Nonsense{"index", 2147483648U},
                    Nonsense{"index", "3"}, Nonsense{"index", true}, Nonsense{"peer", 0},
                    Nonsense{"peer", 2147483648U}, Nonsense{"netns", 0}, Nonsense{"netns", -1},
                    Nonsense{"name", ""}, Nonsense{"name", "sixteencharacter"},
                    Nonsense{"name", "a/b"}, Nonsense{"name", "a:b"}, Nonsense{"name", "a b"},
                    Nonsense{"name", "."}, Nonsense{"name", ".."}, Nonsense{"name", "a\"b"},
                    Nonsense{"name", "a#b"}, Nonsense{"name", 3},
                    Nonsense{"name", std::string("a\0b", 3)}, Nonsense{"mac", ""},
                    Nonsense{"mac", "02:42:ac:11:00"}, Nonsense{"mac", "02-42-ac-11-00-02"},
                    Nonsense{"mac", "02:42:AC:11:00:02"}, Nonsense{"mac", "02:42:ac:11:00:0g"},
                    Nonsense{"mac", "02:42:ac:11:00:02:03"}, Nonsense{"mac", "0242:ac:11:00:02:"}));

TEST(LinkDocument, needsEveryFieldAndTakesNoOther) {
  for (const auto& [key, ignored] : kLink.items()) {
    Json document = kLink;
    document.erase(key);
    expectRefusal(outcomeOf([&] { static_cast<void>(readLink(asRead(document), "link")); }),
                  ExitCode::kBadInput, key);
  }
  Json document = kLink;
  document["mtu"] = 1500;
  expectRefusal(outcomeOf([&] { static_cast<void>(readLink(asRead(document), "link")); }),
                ExitCode::kBadInput, "mtu");
  expectRefusal(outcomeOf([&] { static_cast<void>(readLink(Json::array(), "plan.link")); }),
                ExitCode::kBadInput, "plan.link must be an object");
}

}  // namespace
}  // namespace vethgate::test
