// What the tests of establishing share: a request, limits, and how a failure is caught.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "docker/establish/establish.hpp"
#include "tests/offline/docker/establish/scripted_engine.hpp"

namespace vethgate::docker::test {

inline constexpr std::uint64_t kNow = 1'700'000'000;
inline constexpr std::uint64_t kJobDeadline = kNow + 600;

inline Json requestDocument() {
  return {{"version", 1},
          {"job", kJob},
          {"owner", "worker-1"},
          {"network", "jobs"},
          {"deadline", kJobDeadline},
          {"policy",
           {{"version", 1},
            {"allow",
             Json::array({{{"to", "host-gateway"}, {"protocol", "tcp"}, {"ports", "49200-49299"}},
                          {{"to", "198.51.100.7"}, {"protocol", "tcp"}, {"ports", "443"}}})},
            {"resolvers", {"9.9.9.9", "2620:fe::fe"}}}}};
}

inline EstablishRequest aRequest() { return readRequest(requestDocument().dump(), kImageName); }

// Nothing is expected to run into the first two; the last is what a create without an answer costs.
inline constexpr TimeLimits kAmple{.attempt = std::chrono::seconds(20),
                                   .removal = std::chrono::seconds(20),
                                   .settle = std::chrono::milliseconds(60)};

inline std::optional<Failure> failureOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Failure& failure) {
    return failure;
  }
  return std::nullopt;
}

inline void expectFailure(const std::function<void()>& body, ExitCode code,
                          const std::string& part) {
  const std::optional<Failure> failure = failureOf(body);
  ASSERT_TRUE(failure.has_value()) << "nothing was thrown; expected: " << part;
  EXPECT_EQ(failure->code(), code) << failure->what();
  EXPECT_THAT(failure->what(), testing::HasSubstr(part));
}

}  // namespace vethgate::docker::test
