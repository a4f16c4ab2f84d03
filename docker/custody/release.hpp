// The end of a job's containers. It must not know how they came about.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "docker/engine/engine.hpp"

namespace vethgate::docker {

inline constexpr std::chrono::milliseconds kRemovalTime{30'000};

// Removes every container that carries `owner` and `job`: the job's own (role `job`), then helpers,
// then the holder. Done when the engine lists none, has none of the names that an attempt uses, and
// has said of each that was found that it is gone. Returns how many there were; releasing twice is
// no failure. What does not carry both labels is never touched, whatever it is called.
// Failure(kEngine) names what may still exist, as far as the engine has said what there is.
[[nodiscard]] std::size_t release(const Engine& engine, const std::string& owner,
                                  const std::string& job,
                                  std::chrono::milliseconds time = kRemovalTime);

}  // namespace vethgate::docker
