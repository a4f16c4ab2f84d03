// What a judgement found wrong, one full sentence each, in a bounded list.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "base/program.hpp"

namespace vethgate {

class Findings {
 public:
  // A namespace that has nothing in common with its plan would otherwise print every rule of both.
  static constexpr std::size_t kMaxReasons = 200;
  static constexpr std::size_t kMaxReasonLength = 1000;

  // Thrown by the first add() of a list that wants no second one.
  struct Enough {};

  explicit Findings(bool firstOnly = false) : firstOnly_(firstOnly) {}

  // Names that the kernel gave are part of it: it is cut and made printable here, once for all.
  void add(std::string reason) {
    ++count_;
    if (reasons_.size() < kMaxReasons) {
      if (reason.size() > kMaxReasonLength) {
        reason.resize(kMaxReasonLength);
        reason += "...";
      }
      reasons_.push_back(printable(std::move(reason)));
    }
    if (firstOnly_) {
      throw Enough{};
    }
  }
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }
  [[nodiscard]] std::vector<std::string> take() && {
    if (count_ > reasons_.size()) {
      reasons_.push_back("and " + std::to_string(count_ - reasons_.size()) +
                         " more that are not listed");
    }
    return std::move(reasons_);
  }

 private:
  std::vector<std::string> reasons_;
  std::size_t count_ = 0;
  bool firstOnly_;
};

}  // namespace vethgate
