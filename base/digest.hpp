// SHA-256 and lower-case hex, over bytes as given.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vethgate {

using Bytes = std::vector<std::uint8_t>;
using ByteView = std::span<const std::uint8_t>;

// Incremental, for inputs that are never one buffer.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(ByteView bytes);
  void update(std::string_view text);
  [[nodiscard]] std::string hex();  // 64 lower-case digits; the object is spent afterwards

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

[[nodiscard]] std::string sha256Hex(std::string_view text);
[[nodiscard]] std::string toHex(ByteView bytes);
// nullopt for an odd length or a character outside [0-9a-f].
[[nodiscard]] std::optional<Bytes> fromHex(std::string_view text);
[[nodiscard]] bool isSha256Hex(std::string_view text) noexcept;

}  // namespace vethgate
