#include "docker/custody/labels.hpp"

namespace vethgate::docker {

std::string holderName(const std::string& job) { return "vethgate-" + job; }

std::string helperName(const std::string& job, const std::string& verb) {
  return "vethgate." + verb + "-" + job;
}

}  // namespace vethgate::docker
