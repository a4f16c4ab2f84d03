#include "base/digest.hpp"

#include <sha2.h>

#include <array>

namespace vethgate {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

int nibble(char c) {
  const std::size_t value = kDigits.find(c);
  return value == std::string_view::npos ? -1 : static_cast<int>(value);
}

}  // namespace

struct Sha256::Context {
  SHA2_CTX sha;
};

Sha256::Sha256() : context_(std::make_unique<Context>()) { SHA256Init(&context_->sha); }

Sha256::~Sha256() = default;

void Sha256::update(ByteView bytes) { SHA256Update(&context_->sha, bytes.data(), bytes.size()); }

void Sha256::update(std::string_view text) {
  update({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

std::string Sha256::hex() {
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
  SHA256Final(digest.data(), &context_->sha);
  return toHex(digest);
}

std::string sha256Hex(std::string_view text) {
  Sha256 hash;
  hash.update(text);
  return hash.hex();
}

std::string toHex(ByteView bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const std::uint8_t byte : bytes) {
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 0xf]);
  }
  return text;
}

std::optional<Bytes> fromHex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return std::nullopt;
  }
  Bytes bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = nibble(text[i]);
    const int low = nibble(text[i + 1]);
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<std::uint8_t>(high << 4 | low));
  }
  return bytes;
}

bool isSha256Hex(std::string_view text) noexcept {
  return text.size() == 64 && text.find_first_not_of(kDigits) == std::string_view::npos;
}

}  // namespace vethgate
