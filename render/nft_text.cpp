// The netdev layer in the words of `nft -f`. It must not know the policy, and decides nothing.
// Everything is matched by position (`@ll,BIT,BITS`), in decimal or hexadecimal numbers: the names
// that nft has for the same fields would bring `meta protocol` with them, which the sender of a
// frame chooses, or the network header, which the kernel finds by it.
#include <string>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "render/render.hpp"

namespace vethgate {
namespace {

// Bits from the start of the Ethernet header.
constexpr unsigned kEtherTypeAt = 96;
constexpr unsigned kV4DestinationAt = (14 + 16) * 8;
constexpr unsigned kV6DestinationAt = (14 + 24) * 8;
constexpr unsigned kHopLimitAt = (14 + 7) * 8;
constexpr unsigned kArpSenderAt = (14 + 8) * 8;

std::string field(const char* header, unsigned at, unsigned bits) {
  return std::string("@") + header + "," + std::to_string(at) + "," + std::to_string(bits);
}

ByteView bytesOf(const Address& address) {
  return ByteView(address.bytes()).first(address.bits() / 8);
}

std::string number(const Address& address) { return "0x" + toHex(bytesOf(address)); }

unsigned destinationAt(Family family) {
  return family == Family::kV4 ? kV4DestinationAt : kV6DestinationAt;
}

// The address with all bits below `length` set to `ones`.
Address filled(const Address& address, unsigned length, bool ones) {
  std::array<std::uint8_t, 16> bytes = address.bytes();
  for (unsigned bit = length; bit < address.bits(); ++bit) {
    const auto mask = static_cast<std::uint8_t>(0x80U >> bit % 8);
    std::uint8_t& byte = bytes.at(bit / 8);
    byte = static_cast<std::uint8_t>(ones ? byte | mask : byte & ~mask);
  }
  return {address.family(), bytes};
}

// True when `second` is the address right behind `first`.
bool follows(const Address& first, const Address& second) {
  std::array<std::uint8_t, 16> next = first.bytes();
  for (unsigned i = first.bits() / 8; i-- > 0;) {
    if (++next.at(i) != 0) {
      return next == second.bytes();
    }
  }
  return false;  // there is none behind the last
}

std::string setText(const NetdevRule& rule) {
  const Family family = rule.to.front().family();
  std::string text = "  set " + rule.set + " {\n    typeof " +
                     field("ll", destinationAt(family), rule.to.front().base().bits()) +
                     "\n    flags constant, interval\n    elements = {";
  // Neighbours that no one prefix stands for are still one interval.
  for (std::size_t i = 0; i < rule.to.size();) {
    const Address& first = rule.to[i].base();
    Address last = filled(first, rule.to[i].length(), true);
    for (++i; i < rule.to.size() && follows(last, rule.to[i].base()); ++i) {
      last = filled(rule.to[i].base(), rule.to[i].length(), true);
    }
    text += (text.back() == '{' ? "\n      " : ",\n      ") + number(first);
    if (first != last) {
      text += "-" + number(last);
    }
  }
  return text + "\n    }\n  }\n";
}

std::string destinationText(const Prefix& to) {
  const unsigned at = destinationAt(to.family());
  if (to.length() % 8 == 0) {
    return " " + field("ll", at, to.length()) + " 0x" +
           toHex(bytesOf(to.base()).first(to.length() / 8));
  }
  const Address ones = filled(Address(to.family(), {}), 0, true);
  return " " + field("ll", at, to.base().bits()) + " & " +
         number(filled(ones, to.length(), false)) + " == " + number(to.base());
}

std::string ruleText(const NetdevRule& rule) {
  std::string text = "   ";
  switch (rule.protocol) {
    case EtherType::kIpv4:
      text += " " + field("ll", kEtherTypeAt, 16) + " 0x0800";
      break;
    case EtherType::kIpv6:
      text += " " + field("ll", kEtherTypeAt, 16) + " 0x86dd";
      break;
    case EtherType::kArp:
      // Ethertype, hardware type, protocol type and both lengths, which lie side by side.
      text += " " + field("ll", kEtherTypeAt, 64) + " 0x0806000108000604";
      break;
    case EtherType::kAll:
      break;
  }
  if (rule.sender) {
    text += " " + field("ll", kArpSenderAt, 80) + " 0x" + toHex(rule.sender->mac) +
            toHex(bytesOf(rule.sender->address));
  }
  if (!rule.set.empty()) {
    const Prefix& first = rule.to.front();
    text += " " + field("ll", destinationAt(first.family()), first.base().bits()) + " @" + rule.set;
  } else if (!rule.to.empty()) {
    text += destinationText(rule.to.front());
  }
  if (rule.hopLimit) {
    text += " " + field("ll", kHopLimitAt, 8) + " " + std::to_string(*rule.hopLimit);
  }
  if (rule.ipProtocol) {
    text += " meta l4proto " + std::to_string(*rule.ipProtocol);
  }
  if (rule.icmpType) {
    text += " " + field("th", 0, 8) + " " + std::to_string(*rule.icmpType);
  }
  if (rule.ports) {
    text += " " + field("th", 16, 16) + " " + rule.ports->text();
  }
  return text + (rule.action == FilterAction::kPass ? " counter accept\n" : " counter drop\n");
}

}  // namespace

std::string nftText(const Plan& plan) {
  if (!plan.netdev) {
    badInput("the policy's layers leave netdev out, so there is no nft text");
  }
  std::string text = "table netdev vethgate {\n";
  for (const NetdevRule& rule : *plan.netdev) {
    if (!rule.set.empty()) {
      text += setText(rule);
    }
  }
  text += "  chain egress {\n    type filter hook egress device \"" + plan.link.name +
          "\" priority 0; policy drop;\n";
  for (const NetdevRule& rule : *plan.netdev) {
    text += ruleText(rule);
  }
  return text + "  }\n}\n";
}

}  // namespace vethgate
