#include "docker/custody/labels.hpp"

#include <charconv>

namespace vethgate::docker {

std::string holderName(const std::string& job) { return "vethgate-" + job; }

std::string helperName(const std::string& job, const std::string& verb) {
  return "vethgate." + verb + "-" + job;
}

std::optional<std::uint64_t> stampOf(const Labels& labels) {
  const auto label = labels.find(kRemoveAfterLabel);
  if (label == labels.end()) {
    return std::nullopt;
  }
  const std::string& text = label->second;
  std::uint64_t second = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, second);
  return error == std::errc() && stop == end ? std::optional(second) : std::nullopt;
}

}  // namespace vethgate::docker
