#include "json_mutator.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

namespace vethgate::fuzz {
namespace {

using nlohmann::json;
using Random = std::minstd_rand;

std::size_t below(Random& random, std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

void collect(json& node, std::vector<json*>& nodes) {
  nodes.push_back(&node);
  if (node.is_structured()) {
    for (json& child : node) {
      collect(child, nodes);
    }
  }
}

// Values at which readers change their minds.
const std::array<json, 16> kValues{json(nullptr),
                                   json(true),
                                   json(0),
                                   json(1),
                                   json(-1),
                                   json(255),
                                   json(256),
                                   json(65535),
                                   json(65536),
                                   json(1.5),
                                   json(18446744073709551615ULL),
                                   json(""),
                                   json("53"),
                                   json("0-1"),
                                   json::array(),
                                   json::object()};

void changeText(std::string& text, Random& random) {
  const std::size_t at = text.empty() ? 0 : below(random, text.size());
  switch (below(random, 4)) {
    case 0:
      text.insert(at, 1, static_cast<char>(below(random, 256)));
      break;
    case 1:
      if (!text.empty()) {
        text.erase(at, 1);
      }
      break;
    case 2:
      if (!text.empty()) {
        text[at] = static_cast<char>(text[at] ^ static_cast<char>(1U << below(random, 8)));
      }
      break;
    default:
      if (!text.empty()) {
        text[at] = "0123456789abcdef:./-"[below(random, 20)];
      }
      break;
  }
}

void changeOne(json& document, Random& random) {
  std::vector<json*> nodes;
  collect(document, nodes);
  json& node = *nodes[below(random, nodes.size())];
  const std::size_t choice = below(random, 8);
  if (node.is_string() && choice < 5) {
    changeText(node.get_ref<std::string&>(), random);
  } else if (node.is_number_integer() && choice < 4) {
    node = node.get<std::uint64_t>() + below(random, 3) - 1;
  } else if (node.is_array() && !node.empty() && choice < 6) {
    const std::size_t at = below(random, node.size());
    if (choice < 2) {
      node.erase(at);
    } else if (choice < 4) {
      node.push_back(node[at]);
    } else {
      std::swap(node[at], node[below(random, node.size())]);
    }
  } else if (node.is_object() && !node.empty() && choice < 6) {
    auto member = node.begin();
    std::advance(member, static_cast<std::ptrdiff_t>(below(random, node.size())));
    if (choice < 3) {
      node.erase(member);
    } else {
      node[member.key() + (choice == 3 ? "x" : "")] = *nodes[below(random, nodes.size())];
    }
  } else if (choice == 6) {
    node = kValues[below(random, kValues.size())];
  } else {
    const json other = *nodes[below(random, nodes.size())];
    node = other;
  }
}

}  // namespace

std::size_t mutateJson(std::uint8_t* data, std::size_t size, std::size_t maxSize, unsigned seed) {
  Random random(seed);
  json document = json::parse(data, data + size, nullptr, false);
  if (document.is_discarded() || below(random, 8) == 0) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  for (std::size_t changes = 1 + below(random, 3); changes > 0; --changes) {
    changeOne(document, random);
  }
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > maxSize) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  std::copy(text.begin(), text.end(), data);
  return text.size();
}

}  // namespace vethgate::fuzz
