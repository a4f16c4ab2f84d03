// What every target shares. A target may throw Failure, which is how the product refuses; anything
// else is a finding.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"
#include "json_mutator.hpp"

namespace vethgate::fuzz {

// Ends the run with a finding that libFuzzer keeps.
inline void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

template <class Body>
void refusing(const Body& body) {
  try {
    body();
  } catch (const Failure& failure) {
    require(failure.code() != ExitCode::kDefect);
  }
}

inline std::string_view textOf(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace vethgate::fuzz

// Of a target whose input is a JSON document.
#define VETHGATE_FUZZ_JSON()                                                           \
  extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, \
                                                 std::size_t maxSize, unsigned seed) { \
    return vethgate::fuzz::mutateJson(data, size, maxSize, seed);                      \
  }
