// What the tests of a pass share: short limits, and the names in a report.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "docker/sweep/pass.hpp"
#include "tests/names_of.hpp"
#include "tests/offline/docker/sweep/yard.hpp"

namespace vethgate::docker::test {

// Nothing is expected to run into these, but on an engine that is silent.
inline constexpr SweepLimits kAmple{.pass = std::chrono::seconds(60),
                                    .call = std::chrono::seconds(30)};
inline constexpr SweepLimits kShortCalls{.pass = std::chrono::seconds(60),
                                         .call = std::chrono::seconds(1)};

using vethgate::test::namesOf;

}  // namespace vethgate::docker::test
