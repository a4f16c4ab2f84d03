// Which mutants of many captures are judged: every one of a message that no capture before held,
// and of its repetitions one of so many, always the same ones.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "mutants.hpp"

namespace vethgate::test {

// One of several processes that share the work: each judges what the others do not.
struct Share {
  std::size_t number = 0;
  std::size_t of = 1;
};

class Sampler {
 public:
  // `all`: the repetitions as well. `newOneOf`: of what is new, too, only one of so many mutants.
  explicit Sampler(bool all, std::size_t newOneOf = 1, Share share = {})
      : all_(all), newOneOf_(newOneOf), share_(share) {}

  // Looks for what is new in a capture, before its mutants are asked about.
  void begin(const Capture& capture);
  [[nodiscard]] bool wants(const Mutant& mutant);

  // How many messages there were, and how many new ones.
  [[nodiscard]] std::string sum() const;

 private:
  // Of a message of the capture.
  struct Novelty {
    bool ours = false;  // of this share
    bool isNew = false;
  };

  bool all_;
  std::size_t newOneOf_;
  Share share_;
  std::size_t asked_ = 0;
  std::size_t documents_ = 0;
  std::size_t repeated_ = 0;
  std::size_t messages_ = 0;
  std::size_t newMessages_ = 0;
  std::unordered_set<std::uint64_t> seen_;
  std::array<std::vector<Novelty>, kDumpCount> novelties_;
};

}  // namespace vethgate::test
