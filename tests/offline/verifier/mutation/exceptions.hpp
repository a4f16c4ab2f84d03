// The places of a capture that carry no meaning, each with its reason: the only ones in which a
// change may go unrefused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "mutants.hpp"

namespace vethgate::test {

// A set of changes.
class Changes {
  static_assert(kChangeCount <= 32);

 public:
  constexpr Changes(std::initializer_list<Change> changes) {
    for (const Change change : changes) {
      bits_ |= std::uint32_t{1} << static_cast<unsigned>(change);
    }
  }
  [[nodiscard]] constexpr bool contains(Change change) const {
    return (bits_ >> static_cast<unsigned>(change) & 1U) != 0;
  }

 private:
  std::uint32_t bits_ = 0;
};

enum class Links : std::uint8_t { kAny, kLoopback, kOthers };  // the loopback is the first message

// Each field narrows what an entry covers.
struct Insignificant {
  std::string path;  // "*": any
  Changes changes;
  const char* reason;
  // Mutant::position, both ends included.
  std::size_t first = 0;
  std::size_t last = static_cast<std::size_t>(-1);
  std::uint8_t bits = 0xff;  // those of each byte whose flips it covers
  Links links = Links::kAny;
  std::optional<Standing> standing = {};
};

[[nodiscard]] const std::vector<Insignificant>& exceptions();

[[nodiscard]] bool covers(const Insignificant& exception, const Mutant& mutant);

// Whether every bit of a byte of a place (Region::path) may be flipped, in this message of the
// dump.
[[nodiscard]] bool saysNothing(std::string_view path, std::size_t message, std::size_t byte);

}  // namespace vethgate::test
