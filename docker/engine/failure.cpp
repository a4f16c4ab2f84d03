#include "docker/engine/failure.hpp"

#include <utility>

#include "base/program.hpp"

namespace vethgate::docker {

std::string quoted(std::string text) {
  if (text.size() > kMaxQuotedBytes) {
    text.resize(kMaxQuotedBytes - 3);
    text += "...";
  }
  return printable(std::move(text));
}

}  // namespace vethgate::docker
