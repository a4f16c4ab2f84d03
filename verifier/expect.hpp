// Values that a plan leaves no choice in: anything else refuses, naming the attribute, what was
// found and what was expected.
#pragma once

#include <cstdint>
#include <string>

#include "netlink/reader.hpp"

namespace vethgate {

inline void expect(const AttributeReader& reader, std::uint16_t type, std::uint64_t value,
                   std::uint64_t expected) {
  if (value != expected) {
    reader.refuse(type, "is " + std::to_string(value) + ", expected " + std::to_string(expected));
  }
}

inline void expectU32(AttributeReader& reader, std::uint16_t type, std::uint32_t expected) {
  expect(reader, type, reader.u32(type), expected);
}

}  // namespace vethgate
