#include "tests/offline/fuzz/dump_input.hpp"

#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <algorithm>
#include <cstring>

namespace vethgate::fuzz {

DumpInput readInput(ByteView bytes) {
  DumpInput input;
  input.id = static_cast<DumpId>(bytes[0] % kDumpKinds);
  input.fixture = bytes[0] / kDumpKinds % kDumpFixtures.size();
  bytes = bytes.subspan(1);
  while (!bytes.empty()) {
    std::size_t length = bytes.size();
    if (bytes.size() >= sizeof(nlmsghdr)) {
      nlmsghdr header{};
      std::memcpy(&header, bytes.data(), sizeof header);
      length = std::clamp<std::size_t>(header.nlmsg_len, sizeof header, bytes.size());
    }
    input.messages.emplace_back(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
    bytes = bytes.subspan(length);
  }
  return input;
}

Bytes writeInput(const DumpInput& input) {
  Bytes bytes{
      static_cast<std::uint8_t>(input.fixture * kDumpKinds + static_cast<std::size_t>(input.id))};
  for (const RawMessage& message : input.messages) {
    bytes.insert(bytes.end(), message.begin(), message.end());
  }
  return bytes;
}

std::size_t headOf(DumpId id) {
  if (id == DumpId::kLinks) {
    return sizeof(nlmsghdr) + sizeof(ifinfomsg);
  }
  return sizeof(nlmsghdr) + (id < DumpId::kNftGenerationBefore ? sizeof(tcmsg) : sizeof(nfgenmsg));
}

}  // namespace vethgate::fuzz
