// What the render tests share: refusals with their exit code, documents, and runs of the command.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "render/plan.hpp"
#include "render/policy.hpp"
#include "render/render.hpp"

namespace vethgate::test {

// The exit code and sentence of what `body` throws; ExitCode::kDone when it throws nothing.
struct Outcome {
  ExitCode code = ExitCode::kDone;
  std::string message;
};

template <class Body>
[[nodiscard]] Outcome outcomeOf(Body&& body) {
  try {
    std::forward<Body>(body)();
    return {};
  } catch (const Failure& failure) {
    return {failure.code(), failure.what()};
  }
}

// Passes when `outcome` is a refusal with that code whose sentence contains `part`.
inline void expectRefusal(const Outcome& outcome, ExitCode code, const std::string& part) {
  EXPECT_EQ(static_cast<int>(outcome.code), static_cast<int>(code)) << outcome.message;
  EXPECT_NE(outcome.message.find(part), std::string::npos)
      << "\"" << outcome.message << "\" does not say \"" << part << "\"";
}

[[nodiscard]] std::string readText(const std::filesystem::path& path);
[[nodiscard]] std::filesystem::path goldenFolder();
[[nodiscard]] std::vector<std::string> goldenNames();
[[nodiscard]] Link goldenLink();

// The document as a reader meets it. A test writes 1, which is signed in C++ and unsigned in JSON.
[[nodiscard]] Json asRead(const Json& document);
// A policy document with `members` (a JSON object) added to its version.
[[nodiscard]] Policy policyWith(const Json& members);
// The plan of the golden policy of that name.
[[nodiscard]] Plan goldenPlan(const std::string& name);

struct CommandResult {
  int exitCode = -1;
  std::string out;
  std::string err;
};
// Runs build/bin/<name> with `input` on its standard input.
[[nodiscard]] CommandResult runCommand(const std::string& name,
                                       const std::vector<std::string>& arguments,
                                       const std::string& input);

}  // namespace vethgate::test
