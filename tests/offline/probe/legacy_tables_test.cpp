// A module that is loaded while its list is looked for.
#include "probe/legacy_tables.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.hpp"
#include "tests/offline/netlink/wire.hpp"

namespace vethgate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Fails so often with `code`, then tells; counts its calls.
struct Reader {
  ExitCode code = ExitCode::kRefused;
  int failures = 0;
  int calls = 0;
  std::vector<std::string> operator()() {
    if (++calls <= failures) {
      throw Failure(code, "reading " + std::to_string(calls));
    }
    return {"ip filter"};
  }
};

TEST(LegacyTables, AreReadAgainWhenAModuleCame) {
  for (const int failures : {0, 1, 3}) {
    Reader reader{ExitCode::kRefused, failures};
    EXPECT_THAT(legacyTablesBy(std::ref(reader)), ElementsAre("ip filter"));
    EXPECT_EQ(reader.calls, failures + 1);
  }
}

TEST(LegacyTables, AreRefusedWhenModulesComeWithoutEnd) {
  Reader reader{ExitCode::kRefused, 100};
  EXPECT_THAT(wire::refusal([&] { static_cast<void>(legacyTablesBy(std::ref(reader))); },
                            ExitCode::kRefused),
              HasSubstr("reading 4"));
}

TEST(LegacyTables, ThatCannotBeToldAreNotAskedForAgain) {
  Reader reader{ExitCode::kUnsupported, 1};
  EXPECT_THAT(wire::refusal([&] { static_cast<void>(legacyTablesBy(std::ref(reader))); },
                            ExitCode::kUnsupported),
              HasSubstr("reading 1"));
  EXPECT_EQ(reader.calls, 1);
}

}  // namespace
}  // namespace vethgate
