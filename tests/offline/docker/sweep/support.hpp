// What the tests of a pass share: short limits, and the names in a report.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "docker/sweep/pass.hpp"
#include "tests/offline/docker/sweep/yard.hpp"

namespace vethgate::docker::test {

inline constexpr SweepLimits kShortCalls{.pass = std::chrono::seconds(20),
                                         .call = std::chrono::milliseconds(200)};

template <class Entry>
std::vector<std::string> namesOf(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    names.push_back(entry.name);
  }
  return names;
}

}  // namespace vethgate::docker::test
