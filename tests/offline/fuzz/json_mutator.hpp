// A mutator that knows JSON: most of its changes leave a document that can be parsed, so that the
// readers behind the parser are what is tested.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t maxSize);

namespace vethgate::fuzz {

// libFuzzer's LLVMFuzzerCustomMutator for a JSON text.
[[nodiscard]] std::size_t mutateJson(std::uint8_t* data, std::size_t size, std::size_t maxSize,
                                     unsigned seed);

}  // namespace vethgate::fuzz
