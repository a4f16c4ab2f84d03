// The account of a mutation test: which mutants of a capture are judged, and what became of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "mutants.hpp"
#include "support.hpp"

namespace vethgate::test {

// A place occurs in many messages (each drop rule has a destination): the first time it is wanted
// in every way, of its repetitions one of so many, always the same ones.
class Sampler {
 public:
  // `firstOneOf`: of the first ones, too, only one of so many.
  explicit Sampler(bool all, std::size_t firstOneOf = 1) : all_(all), firstOneOf_(firstOneOf) {}
  [[nodiscard]] bool wants(const Mutant& mutant);

 private:
  bool all_;
  std::size_t firstOneOf_;
  std::size_t fresh_ = 0;
  std::size_t repeated_ = 0;
  std::unordered_set<std::uint64_t> seen_;
};

struct Counts {
  std::size_t mutants = 0;
  std::size_t judged = 0;
  std::size_t refused = 0;
  std::size_t excepted = 0;
};

class Account {
 public:
  using Choice = std::function<bool(const Mutant&)>;

  // One line of the table. The capture must hold a second reading.
  Counts judgeAll(const std::string& name, const Fixture& fixture, const Choice& wants);
  [[nodiscard]] static std::string heading();
  [[nodiscard]] std::string sum() const;

  // A failure of the running test for each mutant that was accepted although no entry covers it,
  // or with other rules than before.
  void expectNoneUnlisted() const;
  // The same for each entry that no mutant needed.
  void expectNoneUnneeded() const;

 private:
  bool excuse(const Mutant& mutant);

  Counts all_;
  std::set<std::string> unlisted_;
  std::set<std::pair<std::size_t, Change>> needed_;
};

}  // namespace vethgate::test
