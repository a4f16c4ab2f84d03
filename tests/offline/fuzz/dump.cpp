// One dump of a namespace, as bytes: the first names the dump and the capture that it stands in,
// the rest is its messages. Attributes are what the mutator changes.
#include <linux/netlink.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <random>

#include "target.hpp"
#include "tests/offline/fuzz/dump_input.hpp"
#include "tests/offline/verifier/support.hpp"

namespace vethgate::fuzz {
namespace {

using test::Attribute;
using test::Attributes;
using Random = std::minstd_rand;

std::size_t below(Random& random, std::size_t count) {
  return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
}

// Every list of attributes in the tree, the outermost first.
void listsOf(Attributes& attributes, std::vector<Attributes*>& lists) {
  if (!attributes.empty()) {
    lists.push_back(&attributes);
  }
  for (Attribute& attribute : attributes) {
    listsOf(attribute.children, lists);
  }
}

void changeValue(Bytes& value, Random& random) {
  switch (below(random, 3)) {
    case 0:
      value.push_back(static_cast<std::uint8_t>(below(random, 256)));
      break;
    case 1:
      if (!value.empty()) {
        value.pop_back();
      }
      break;
    default:
      if (!value.empty()) {
        std::uint8_t& byte = value[below(random, value.size())];
        byte = static_cast<std::uint8_t>(byte ^ 1U << below(random, 8));
      }
      break;
  }
}

void changeAttributes(Attributes& attributes, Random& random) {
  std::vector<Attributes*> lists;
  listsOf(attributes, lists);
  if (lists.empty()) {
    return;
  }
  Attributes& list = *lists[below(random, lists.size())];
  const std::size_t at = below(random, list.size());
  switch (below(random, 6)) {
    case 0:
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      list.push_back(list[at]);
      break;
    case 2:
      std::swap(list[at], list[below(random, list.size())]);
      break;
    case 3:
      list[at].type = static_cast<std::uint16_t>(list[at].type ^ 1U << below(random, 16));
      break;
    default:
      if (!list[at].nested) {
        changeValue(list[at].value, random);
      }
      break;
  }
}

// Whether the bytes are attributes from end to end, as the walker of the tests takes them to be.
bool areAttributes(ByteView bytes) {
  while (!bytes.empty()) {
    nlattr header{};
    if (bytes.size() < sizeof header) {
      return false;
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    const std::size_t step = NLA_ALIGN(header.nla_len);
    if (header.nla_len < sizeof header || step > bytes.size()) {
      return false;
    }
    bytes = bytes.subspan(step);
  }
  return true;
}

void changeMessages(DumpInput& input, Random& random) {
  if (input.messages.empty()) {
    return;
  }
  const std::size_t at = below(random, input.messages.size());
  RawMessage& message = input.messages[at];
  const std::size_t head = headOf(input.id);
  switch (below(random, 8)) {
    case 0:
      input.messages.erase(input.messages.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 1:
      input.messages.push_back(message);
      return;
    case 2:
      std::swap(message, input.messages[below(random, input.messages.size())]);
      return;
    case 3:
      changeValue(message, random);
      return;
    default:
      break;
  }
  if (message.size() < head || !areAttributes(ByteView(message).subspan(head))) {
    changeValue(message, random);
    return;
  }
  Attributes attributes = test::parseAttributes(ByteView(message).subspan(head));
  changeAttributes(attributes, random);
  const Bytes body = test::serialize(attributes);
  message.resize(head);
  message.insert(message.end(), body.begin(), body.end());
  nlmsghdr header{};
  std::memcpy(&header, message.data(), sizeof header);
  header.nlmsg_len = static_cast<std::uint32_t>(message.size());
  std::memcpy(message.data(), &header, sizeof header);
}

}  // namespace
}  // namespace vethgate::fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t maxSize, unsigned seed) {
  using namespace vethgate::fuzz;
  Random random(seed);
  if (size < 2 || below(random, 10) == 0) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  DumpInput input = readInput({data, size});
  for (std::size_t changes = 1 + below(random, 3); changes > 0; --changes) {
    changeMessages(input, random);
  }
  const vethgate::Bytes bytes = writeInput(input);
  if (bytes.size() > maxSize) {
    return LLVMFuzzerMutate(data, size, maxSize);
  }
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vethgate;
  static const std::array kGood{test::readOnce(test::fixture(fuzz::kDumpFixtures[0])),
                                test::readOnce(test::fixture(fuzz::kDumpFixtures[1]))};
  static const std::array kReadback{test::judged(kGood[0]).readback,
                                    test::judged(kGood[1]).readback};
  if (size == 0) {
    return 0;
  }
  const fuzz::DumpInput input = fuzz::readInput({data, size});
  test::Fixture one = kGood.at(input.fixture);
  one.capture.dump(input.id) = input.messages;
  fuzz::refusing([&] {
    const Verdict verdict = test::judged(one);
    fuzz::require(verdict.code != ExitCode::kDone ||
                  verdict.readback == kReadback.at(input.fixture));
  });
  return 0;
}
