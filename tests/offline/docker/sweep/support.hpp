// What the tests of a pass share: short limits, and the names in a report.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "docker/sweep/pass.hpp"
#include "tests/offline/docker/sweep/yard.hpp"

namespace vethgate::docker::test {

// Nothing is expected to run into these, but on an engine that is silent.
inline constexpr SweepLimits kAmple{.pass = std::chrono::seconds(60),
                                    .call = std::chrono::seconds(30)};
inline constexpr SweepLimits kShortCalls{.pass = std::chrono::seconds(60),
                                         .call = std::chrono::seconds(1)};

template <class Entry>
std::vector<std::string> namesOf(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    names.push_back(entry.name);
  }
  return names;
}

}  // namespace vethgate::docker::test
