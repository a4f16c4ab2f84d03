// What the tests of the engine's client share.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "base/deadline.hpp"
#include "docker/engine/engine.hpp"
#include "tests/offline/docker/stand_in/stand_in.hpp"

namespace vethgate::docker::test {

inline const std::string kId(64, 'a');
inline const std::string kOtherId(64, 'b');

// Far off, for calls that are expected to end by themselves.
inline Deadline later() { return Deadline::after(std::chrono::seconds(20)); }
// For calls that are expected to run into it.
inline Deadline soon() { return Deadline::after(std::chrono::milliseconds(80)); }

inline std::optional<EngineFailure> failureOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const EngineFailure& failure) {
    return failure;
  }
  return std::nullopt;
}

// The failure that a call must end with.
inline void expectFailure(const std::function<void()>& body, ExitCode code, Outcome outcome,
                          const std::string& part) {
  const std::optional<EngineFailure> failure = failureOf(body);
  ASSERT_TRUE(failure.has_value()) << "nothing was thrown; expected: " << part;
  EXPECT_EQ(failure->code(), code) << failure->what();
  EXPECT_EQ(failure->outcome(), outcome) << failure->what();
  EXPECT_NE(std::string(failure->what()).find(part), std::string::npos)
      << "\"" << failure->what() << "\" does not say: " << part;
}

// The least that describes a container.
inline std::string containerText(const std::string& id, const std::string& name) {
  return R"({"Id":")" + id + R"(","Name":"/)" + name +
         R"(","Image":"sha256:0","State":{"Status":"running","Running":true,"Pid":7,"ExitCode":0,)"
         R"("OOMKilled":false},"HostConfig":{"NetworkMode":"none","ReadonlyRootfs":true,)"
         R"("Privileged":false},"Config":{"Labels":null},"NetworkSettings":{"Networks":{}}})";
}

}  // namespace vethgate::docker::test
