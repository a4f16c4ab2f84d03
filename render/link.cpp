// Reading and writing of the link document. It must not know how a link is measured.
#include "render/link.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>
#include <string_view>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/json.hpp"

namespace vethgate {
namespace {

constexpr std::uint64_t kMaxIndex = std::numeric_limits<std::int32_t>::max();
constexpr std::size_t kMaxName = 15;  // IFNAMSIZ without its NUL (linux/if.h)
constexpr std::size_t kMacTextLength = 17;

// The kernel takes nearly any byte in a name. These are the ones that no text form (tc -batch, a
// log line) needs to quote; a runtime that names its veth otherwise is refused, not guessed at.
bool isNameCharacter(unsigned char c) {
  return std::isalnum(c) != 0 ||
         std::string_view("._-@").find(static_cast<char>(c)) != std::string_view::npos;
}

std::string readName(const Json& value, const std::string& path) {
  const std::string& name = asText(value, path);
  if (name.empty() || name.size() > kMaxName || name == "." || name == ".." ||
      !std::all_of(name.begin(), name.end(), isNameCharacter)) {
    badInput(path + " is \"" + name +
             R"(", expected 1 to 15 letters, digits and "._-@" that name an interface)");
  }
  return name;
}

std::array<std::uint8_t, 6> readMac(const Json& value, const std::string& path) {
  const std::string& text = asText(value, path);
  std::string digits;
  bool separated = text.size() == kMacTextLength;
  for (std::size_t i = 0; separated && i < text.size(); ++i) {
    if (i % 3 == 2) {
      separated = text[i] == ':';
    } else {
      digits.push_back(text[i]);
    }
  }
  const std::optional<Bytes> bytes = separated ? fromHex(digits) : std::nullopt;
  if (!bytes) {
    badInput(path + " is \"" + text + "\", expected six pairs of lower-case hex digits and colons");
  }
  std::array<std::uint8_t, 6> mac{};
  std::copy(bytes->begin(), bytes->end(), mac.begin());
  return mac;
}

// `before`: the one that it must come after, if any.
Address readAddress(const Json& entry, const std::string& place, const Address* before) {
  const std::string& text = asText(entry, place);
  const std::optional<Address> address = Address::parse(text);
  if (!address) {
    badInput(place + " is \"" + text + "\", expected one literal IPv4 or IPv6 address");
  }
  if (before != nullptr && !(*before < *address)) {
    badInput(place + " is " + text + ", expected addresses in ascending order, each once");
  }
  return *address;
}

std::vector<Address> readAddresses(const Json& value, const std::string& path) {
  std::vector<Address> addresses;
  for (const Json& entry : asArray(value, path)) {
    const std::string place = path + "[" + std::to_string(addresses.size()) + "]";
    const Address address =
        readAddress(entry, place, addresses.empty() ? nullptr : &addresses.back());
    if (addresses.size() == kMaxLinkAddresses) {
      badInput(path + " holds more than " + std::to_string(kMaxLinkAddresses) + " addresses");
    }
    addresses.push_back(address);
  }
  return addresses;
}

Json addressTexts(const std::vector<Address>& addresses) {
  Json texts = Json::array();
  for (const Address& address : addresses) {
    texts.push_back(address.text());
  }
  return texts;
}

}  // namespace

Json linkDocument(const Link& link) {
  return {{"addresses", addressTexts(link.addresses)},
          {"index", link.index},
          {"name", link.name},
          {"mac", macText(link.mac)},
          {"peer", link.peer},
          {"netns", link.netns}};
}

Link readLink(const Json& value, const std::string& path) {
  ObjectReader reader(value, path);
  Link link;
  link.index = static_cast<std::uint32_t>(
      asInteger(reader.required("index"), reader.pathOf("index"), 1, kMaxIndex));
  link.name = readName(reader.required("name"), reader.pathOf("name"));
  link.mac = readMac(reader.required("mac"), reader.pathOf("mac"));
  link.peer = static_cast<std::uint32_t>(
      asInteger(reader.required("peer"), reader.pathOf("peer"), 1, kMaxIndex));
  link.netns = asInteger(reader.required("netns"), reader.pathOf("netns"), 1,
                         std::numeric_limits<std::uint64_t>::max());
  if (const Json* addresses = reader.optional("addresses")) {
    link.addresses = readAddresses(*addresses, reader.pathOf("addresses"));
  }
  reader.finish();
  return link;
}

std::string macText(const std::array<std::uint8_t, 6>& mac) {
  std::string text;
  for (const std::uint8_t byte : mac) {
    text += (text.empty() ? "" : ":") + toHex({&byte, 1});
  }
  return text;
}

}  // namespace vethgate
