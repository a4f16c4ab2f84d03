// A point in time by which something must have happened. Every wait in the project takes one.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace vethgate {

class Deadline {
 public:
  [[nodiscard]] static Deadline after(std::chrono::milliseconds span) {
    return Deadline(std::chrono::steady_clock::now() + span);
  }
  // For poll(2): never negative, 0 once passed.
  [[nodiscard]] int remainingMs() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        at_ - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
  }
  [[nodiscard]] bool passed() const { return std::chrono::steady_clock::now() >= at_; }

 private:
  explicit Deadline(std::chrono::steady_clock::time_point at) : at_(at) {}
  std::chrono::steady_clock::time_point at_;
};

}  // namespace vethgate
