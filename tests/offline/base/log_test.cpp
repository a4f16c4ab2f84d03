// Lines of a log: one object each, whatever is in their fields.
#include "base/log.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace vethgate {
namespace {

using namespace std::chrono_literals;  // NOLINT(google-build-using-namespace)

TEST(LogLine, IsOneObjectInAFixedOrder) {
  EXPECT_EQ(logLine(1'796'000'000'007ms, LogLevel::kWarning, "sweep.kept",
                    {{"owner", "worker-1"}, {"removed", 0}}),
            R"({"time":"2026-11-30T00:53:20.007Z","level":"warning","event":"sweep.kept",)"
            R"("owner":"worker-1","removed":0})"
            "\n");
  EXPECT_THAT(logLine(-1ms, LogLevel::kInfo, "e", nlohmann::ordered_json::object()),
              testing::HasSubstr("1969-12-31T23:59:59.999Z"));
}

// An engine's words can neither end a line nor hide in one.
TEST(LogLine, IsPrintableWhateverItSays) {
  std::string every;
  for (int c = 0; c < 256; ++c) {
    every += static_cast<char>(c);
  }
  const std::string line = logLine(0ms, LogLevel::kError, "e", {{"text", every + "\u20ac"}});
  ASSERT_EQ(line.back(), '\n');
  EXPECT_TRUE(std::all_of(line.begin(), line.end() - 1, [](char c) {
    return c >= ' ' && c <= '~';
  })) << line;
  EXPECT_TRUE(nlohmann::json::accept(line));
}

}  // namespace
}  // namespace vethgate
