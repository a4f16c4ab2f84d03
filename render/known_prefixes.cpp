// The tables behind known_prefixes.hpp, and the extraction of an IPv4 address from an IPv6 one.
#include "render/known_prefixes.hpp"

#include <array>
#include <optional>

namespace vethgate {
namespace {

Prefix prefix(std::string_view text) { return Prefix::parse(text, "a prefix of vethgate's own"); }

// Where an IPv6 range keeps the 32 bits: one or two runs, since RFC 6052 skips bits 64 to 71.
struct Embedding {
  Prefix space;
  std::string_view spelling;
  unsigned firstBit;
  unsigned firstCount;
  unsigned secondBit;  // of the remaining 32 - firstCount bits
  bool inverted;
};

std::span<const Embedding> embeddings() {
  static const Prefix localNat64 = prefix("64:ff9b:1::/48");
  static const Prefix teredo = prefix("2001::/32");
  // An operator picks any RFC 6052 length inside the local-use range, so each one is a spelling.
  static const std::array all{
      Embedding{prefix("64:ff9b::/96"), "NAT64", 96, 32, 0, false},
      Embedding{localNat64, "local-use NAT64 /48", 48, 16, 72, false},
      Embedding{localNat64, "local-use NAT64 /56", 56, 8, 72, false},
      Embedding{localNat64, "local-use NAT64 /64", 72, 32, 0, false},
      Embedding{localNat64, "local-use NAT64 /96", 96, 32, 0, false},
      Embedding{prefix("2002::/16"), "6to4", 16, 32, 0, false},
      Embedding{teredo, "Teredo server", 32, 32, 0, false},
      Embedding{teredo, "Teredo client", 96, 32, 0, true},
      Embedding{mappedPrefix(), "IPv4-mapped", 96, 32, 0, false},
      Embedding{prefix("::/96"), "IPv4-compatible", 96, 32, 0, false},
  };
  return all;
}

bool bitOf(const Address& address, unsigned bit) {
  return (address.bytes()[bit / 8] >> (7 - bit % 8) & 1) != 0;
}

// The leading bits of the IPv4 address that `prefix` fixes.
Prefix extract(const Prefix& from, const Embedding& embedding) {
  std::array<std::uint8_t, 16> bytes{};
  unsigned known = 0;
  for (; known < 32; ++known) {
    const unsigned bit = known < embedding.firstCount
                             ? embedding.firstBit + known
                             : embedding.secondBit + known - embedding.firstCount;
    if (bit >= from.length()) {
      break;
    }
    if (bitOf(from.base(), bit) != embedding.inverted) {
      bytes[known / 8] = static_cast<std::uint8_t>(bytes[known / 8] | 0x80U >> known % 8);
    }
  }
  return {Address(Family::kV4, bytes), known};
}

}  // namespace

std::span<const Prefix> metadataHosts() {
  static const std::array hosts{
      prefix("169.254.169.254"),  // AWS, Azure, Google and most others
      prefix("fd00:ec2::254"),    // AWS over IPv6
      prefix("168.63.129.16"),    // Azure's wireserver
      prefix("100.100.100.200"),  // Alibaba Cloud
      prefix("192.0.0.192"),      // Oracle Cloud
  };
  return hosts;
}

const Prefix& loopbackOf(Family family) {
  static const Prefix v4 = prefix("127.0.0.0/8");
  static const Prefix v6 = prefix("::1");
  return family == Family::kV4 ? v4 : v6;
}

std::span<const Prefix> privatePrefixes() {
  static const std::array prefixes{
      prefix("10.0.0.0/8"),     prefix("172.16.0.0/12"), prefix("192.168.0.0/16"),
      prefix("169.254.0.0/16"), prefix("100.64.0.0/10"), prefix("198.18.0.0/15"),
      prefix("224.0.0.0/4"),    prefix("240.0.0.0/4"),   prefix("fc00::/7"),
      prefix("fe80::/10"),      prefix("ff00::/8"),
  };
  return prefixes;
}

std::span<const Prefix> transitionPrefixes() {
  static const std::array prefixes{
      prefix("64:ff9b::/96"), prefix("64:ff9b:1::/48"), prefix("2002::/16"), prefix("2001::/32"),
      mappedPrefix(),         prefix("::/96"),          prefix("fec0::/10"),
  };
  return prefixes;
}

const Prefix& mappedPrefix() {
  static const Prefix mapped = prefix("::ffff:0:0/96");
  return mapped;
}

std::vector<EmbeddedV4> embeddedV4(const Prefix& from) {
  std::vector<EmbeddedV4> found;
  if (from.family() == Family::kV4) {
    return found;
  }
  for (const Embedding& embedding : embeddings()) {
    if (from.overlaps(embedding.space)) {
      found.push_back({extract(from, embedding), embedding.spelling});
    }
  }
  return found;
}

}  // namespace vethgate
