#include "bench/policies.hpp"

namespace vethgate::bench {

std::vector<std::string> spreadPrefixes(std::size_t count) {
  constexpr std::size_t kLengths = 8;
  constexpr std::size_t kShortest = 17;
  std::vector<std::string> prefixes;
  // A /16 each, from 1.0.0.0 on: 10,000 of them end at 40.16.0.0.
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t slot = 0x100 + i;
    prefixes.push_back(std::to_string(slot >> 8) + "." + std::to_string(slot & 0xff) + ".0.0/" +
                       std::to_string(kShortest + i % kLengths));
  }
  return prefixes;
}

std::string policyText(std::size_t denied, const std::string& layers) {
  std::string deny;
  for (const std::string& prefix : spreadPrefixes(denied)) {
    deny += (deny.empty() ? "\"" : ",\"") + prefix + "\"";
  }
  return R"({"version":1,"deny":[)" + (denied == 0 ? R"("private","transition")" : deny) +
         R"(],"allow":[{"to":"172.31.0.1","protocol":"tcp","ports":"49200-49299","why":"proxy"}],)" +
         R"("resolvers":["192.0.2.53","2001:db8::53"],"log":{"rate":"6/minute","burst":12},)" +
         R"("layers":)" + layers + "}";
}

}  // namespace vethgate::bench
