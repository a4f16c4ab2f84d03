// IP addresses, prefixes and ports as values that cannot hold nonsense.
// Bytes are in network order everywhere in this file.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace vethgate {

enum class Family : std::uint8_t { kV4, kV6 };

class Address {
 public:
  // The two textual forms of inet_pton(3); nullopt for anything else (spaces, zones, leading
  // zeros).
  [[nodiscard]] static std::optional<Address> parse(std::string_view text);
  // `bytes` holds 4 or 16 significant bytes, by family; the rest must be zero.
  Address(Family family, const std::array<std::uint8_t, 16>& bytes);

  [[nodiscard]] Family family() const noexcept { return family_; }
  [[nodiscard]] unsigned bits() const noexcept { return family_ == Family::kV4 ? 32 : 128; }
  [[nodiscard]] const std::array<std::uint8_t, 16>& bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::string text() const;  // inet_ntop(3)

  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 trips over its own rewriting of <=>
  friend auto operator<=>(const Address&, const Address&) = default;

 private:
  Family family_;
  std::array<std::uint8_t, 16> bytes_;
};

class Prefix {
 public:
  // "10.0.0.0/8" or a bare address (full length). Throws Failure(kBadInput) on host bits, a length
  // out of range or written with a sign, space or leading zero; `path` names the place in the
  // document.
  [[nodiscard]] static Prefix parse(std::string_view text, const std::string& path);
  // Throws Failure(kBadInput) on host bits or a length over bits().
  Prefix(const Address& base, unsigned length);
  [[nodiscard]] static Prefix host(const Address& address) { return {address, address.bits()}; }
  // The prefix of that length which `address` lies in: its host bits are cleared.
  [[nodiscard]] static Prefix network(const Address& address, unsigned length);

  [[nodiscard]] Family family() const noexcept { return base_.family(); }
  [[nodiscard]] const Address& base() const noexcept { return base_; }
  [[nodiscard]] unsigned length() const noexcept { return length_; }
  [[nodiscard]] bool isHost() const noexcept { return length_ == base_.bits(); }
  // False across families.
  [[nodiscard]] bool contains(const Prefix& other) const noexcept;
  [[nodiscard]] bool overlaps(const Prefix& other) const noexcept;
  [[nodiscard]] std::string text() const;  // always with "/length"
  // As iproute2 and people write it: without the length of a single address.
  [[nodiscard]] std::string shortText() const;

  friend auto operator<=>(const Prefix&, const Prefix&) = default;  // NOLINT(modernize-use-nullptr)

 private:
  Address base_;
  unsigned length_;
};

// Inclusive, 1..65535, first <= last.
class PortRange {
 public:
  // "N" or "N-M", decimal digits only.
  [[nodiscard]] static PortRange parse(std::string_view text, const std::string& path);
  PortRange(std::uint16_t first, std::uint16_t last);

  [[nodiscard]] std::uint16_t first() const noexcept { return first_; }
  [[nodiscard]] std::uint16_t last() const noexcept { return last_; }
  [[nodiscard]] bool isSingle() const noexcept { return first_ == last_; }
  [[nodiscard]] std::string text(char separator = '-') const;  // "N" when single

  friend auto operator<=>(const PortRange&, const PortRange&) = default;

 private:
  std::uint16_t first_;
  std::uint16_t last_;
};

}  // namespace vethgate
