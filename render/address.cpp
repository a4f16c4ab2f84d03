// Parsing and printing of addresses, prefixes and ports. It must not know what they are matched
// for.
#include "render/address.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "base/error.hpp"

namespace vethgate {
namespace {

constexpr std::size_t kMaxShown = 60;

// A document's own text, as a message may repeat it.
std::string quoted(std::string_view text) {
  std::string shown(text.substr(0, kMaxShown));
  std::replace_if(
      shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return "\"" + shown + (text.size() > kMaxShown ? "…\"" : "\"");
}

// Decimal digits alone, without a leading zero; from_chars itself would take "-0" and "007".
std::optional<unsigned> parseDecimal(std::string_view text, unsigned max) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string_view::npos ||
      (text.size() > 1 && text.front() == '0')) {
    return std::nullopt;
  }
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value > max) {
    return std::nullopt;
  }
  return value;
}

std::uint8_t maskOfByte(unsigned length, std::size_t byte) {
  const auto before = static_cast<unsigned>(byte) * 8;
  const unsigned significant = length <= before ? 0 : std::min(length - before, 8U);
  return static_cast<std::uint8_t>(0xff00U >> significant);
}

bool sameUnderMask(const Address& a, const Address& b, unsigned length) {
  for (std::size_t i = 0; i * 8 < length; ++i) {
    if (((a.bytes()[i] ^ b.bytes()[i]) & maskOfByte(length, i)) != 0) {
      return false;
    }
  }
  return true;
}

Address withoutHostBits(const Address& address, unsigned length) {
  std::array<std::uint8_t, 16> bytes = address.bytes();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(bytes[i] & maskOfByte(length, i));
  }
  return {address.family(), bytes};
}

bool hasHostBits(const Address& base, unsigned length) {
  return withoutHostBits(base, length) != base;
}

}  // namespace

std::optional<Address> Address::parse(std::string_view text) {
  // inet_pton() wants a terminated string: a NUL inside `text` would hide what follows it.
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size() || text.find('\0') != std::string_view::npos) {
    return std::nullopt;
  }
  std::copy(text.begin(), text.end(), terminated.begin());
  std::array<std::uint8_t, 16> bytes{};
  if (inet_pton(AF_INET, terminated.data(), bytes.data()) == 1) {
    return Address(Family::kV4, bytes);
  }
  if (inet_pton(AF_INET6, terminated.data(), bytes.data()) == 1) {
    return Address(Family::kV6, bytes);
  }
  return std::nullopt;
}

Address::Address(Family family, const std::array<std::uint8_t, 16>& bytes)
    : family_(family), bytes_(bytes) {
  const bool tail =
      std::any_of(bytes.begin() + 4, bytes.end(), [](auto byte) { return byte != 0; });
  if (family == Family::kV4 && tail) {
    throw Failure(ExitCode::kDefect, "an IPv4 address was made of more than four bytes");
  }
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  const int family = family_ == Family::kV4 ? AF_INET : AF_INET6;
  if (inet_ntop(family, bytes_.data(), buffer.data(), buffer.size()) == nullptr) {
    throw Failure(ExitCode::kDefect, "an address cannot be written as text");
  }
  return buffer.data();
}

Prefix Prefix::parse(std::string_view text, const std::string& path) {
  const std::size_t slash = text.find('/');
  const std::optional<Address> base = Address::parse(text.substr(0, slash));
  if (!base) {
    badInput(path + " is " + quoted(text) + ", expected an IPv4 or IPv6 address or prefix");
  }
  if (slash == std::string_view::npos) {
    return host(*base);
  }
  const std::optional<unsigned> length = parseDecimal(text.substr(slash + 1), base->bits());
  if (!length) {
    badInput(path + " is " + quoted(text) + ", expected a prefix length of 0.." +
             std::to_string(base->bits()));
  }
  if (hasHostBits(*base, *length)) {
    badInput(path + " is " + quoted(text) +
             ", which has bits set after its prefix length; the prefix is " +
             network(*base, *length).text());
  }
  return {*base, *length};
}

Prefix::Prefix(const Address& base, unsigned length) : base_(base), length_(length) {
  if (length > base.bits()) {
    badInput("the prefix length " + std::to_string(length) + " is longer than the address " +
             base.text());
  }
  if (hasHostBits(base, length)) {
    badInput("the address " + base.text() + " has bits set after the prefix length " +
             std::to_string(length));
  }
}

Prefix Prefix::network(const Address& address, unsigned length) {
  return {withoutHostBits(address, length), length};
}

bool Prefix::contains(const Prefix& other) const noexcept {
  return family() == other.family() && length_ <= other.length_ &&
         sameUnderMask(base_, other.base_, length_);
}

bool Prefix::overlaps(const Prefix& other) const noexcept {
  return contains(other) || other.contains(*this);
}

std::string Prefix::text() const { return base_.text() + "/" + std::to_string(length_); }

std::string Prefix::shortText() const { return isHost() ? base_.text() : text(); }

PortRange PortRange::parse(std::string_view text, const std::string& path) {
  const std::size_t dash = text.find('-');
  const std::optional<unsigned> first = parseDecimal(text.substr(0, dash), 65535);
  const std::optional<unsigned> last =
      dash == std::string_view::npos ? first : parseDecimal(text.substr(dash + 1), 65535);
  if (!first || !last || *first == 0 || *last == 0) {
    badInput(path + " is " + quoted(text) + R"(, expected "N" or "N-M" with ports of 1..65535)");
  }
  if (*first > *last) {
    badInput(path + " is " + quoted(text) + ", which ends before it starts");
  }
  return {static_cast<std::uint16_t>(*first), static_cast<std::uint16_t>(*last)};
}

PortRange::PortRange(std::uint16_t first, std::uint16_t last) : first_(first), last_(last) {
  if (first == 0 || first > last) {
    badInput("the ports " + std::to_string(first) + "-" + std::to_string(last) +
             " are not a range within 1..65535");
  }
}

std::string PortRange::text(char separator) const {
  return isSingle() ? std::to_string(first_)
                    : std::to_string(first_) + separator + std::to_string(last_);
}

}  // namespace vethgate
