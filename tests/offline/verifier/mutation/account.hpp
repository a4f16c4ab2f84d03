// The account of a mutation test: what became of the mutants that were judged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "mutants.hpp"
#include "support.hpp"

namespace vethgate::test {

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
  // The same for each entry that no mutant needed, and for each place of an entry, to the bit, in
  // which every mutant was refused: nothing is listed but what was accepted in some message.
  void expectNoneUnneeded() const;

 private:
  // Whether an entry covers the mutant.
  bool note(const Mutant& mutant, bool accepted);

  Counts all_;
  std::size_t differing_ = 0;
  std::set<std::string> unlisted_;
  std::set<std::pair<std::size_t, Change>> needed_;
  // Of every place that an entry covers: whether a mutant was accepted there.
  std::map<std::pair<std::size_t, std::string>, bool> places_;
};

}  // namespace vethgate::test
