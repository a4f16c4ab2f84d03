#include "render/match_reader.hpp"

namespace vethgate {

Prefix readPrefix(const Json& value, const std::string& path) {
  const Prefix prefix = Prefix::parse(asText(value, path), path);
  if (prefix.length() == 0) {
    badInput(path + ": every destination is written as no destination, found " + prefix.text());
  }
  return prefix;
}

void refuseForeignFamily(const Match& match, Family family, const std::string& path) {
  const char* place = family == Family::kV4 ? "an IPv4" : "an IPv6";
  if (match.to && match.to->family() != family) {
    untouchable(path + ".to is " + match.to->text() + " in " + place + " rule");
  }
  if (match.protocol == (family == Family::kV4 ? kProtocolIcmpV6 : kProtocolIcmp)) {
    untouchable(path + ": the other family's ICMP is matched in " + place + " rule");
  }
}

void refuseNarrowedDrop(const Match& match, const std::string& path) {
  if (match.narrowsBeyondDestination()) {
    untouchable(path + ": a drop may be narrowed by its destination alone");
  }
}

}  // namespace vethgate
