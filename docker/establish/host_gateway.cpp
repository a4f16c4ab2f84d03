#include "docker/establish/host_gateway.hpp"

namespace vethgate::docker {

std::vector<bool> replaceHostGateway(Json& policy, const std::string& address) {
  std::vector<bool> replaced;
  if (!policy.is_object() || !policy.contains("allow") || !policy["allow"].is_array()) {
    return replaced;
  }
  for (Json& exception : policy["allow"]) {
    const bool word =
        exception.is_object() && exception.contains("to") && exception["to"] == kHostGateway;
    if (word) {
      exception["to"] = address;
    }
    replaced.push_back(word);
  }
  return replaced;
}

}  // namespace vethgate::docker
