#include "support.hpp"

#include <linux/netlink.h>

#include <cstring>
#include <stdexcept>

#include "base/json.hpp"
#include "base/program.hpp"
#include "render/render.hpp"

namespace vethgate::test {
namespace {

constexpr std::size_t kHeader = sizeof(nlmsghdr);
// No attribute of the messages in question has a higher number.
constexpr std::uint16_t kMaxType = 120;

std::size_t fixedSize(DumpId id) {
  if (id == DumpId::kLinks || id == DumpId::kLinksAgain) {
    return 16;
  }
  return id < DumpId::kNftGenerationBefore || id >= DumpId::kLinksAgain ? 20 : 4;
}

std::string fileText(const std::string& path) { return readFile(path, path, kMaxCaptureBytes); }

bool looksNested(ByteView bytes) {
  if (bytes.size() < sizeof(nlattr)) {
    return false;
  }
  while (!bytes.empty()) {
    nlattr header{};
    if (bytes.size() < sizeof header) {
      return false;
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    const unsigned type = header.nla_type & NLA_TYPE_MASK;
    const std::size_t step = NLA_ALIGN(header.nla_len);
    if (header.nla_len < sizeof header || type == 0 || type > kMaxType || step > bytes.size()) {
      return false;
    }
    bytes = bytes.subspan(step);
  }
  return true;
}

// Splits "1[3]" into type and position; the default position is 0.
std::pair<std::uint16_t, std::size_t> step(std::string_view part) {
  const auto bracket = part.find('[');
  const auto type = static_cast<std::uint16_t>(std::stoul(std::string(part.substr(0, bracket))));
  const std::size_t position =
      bracket == std::string_view::npos ? 0 : std::stoul(std::string(part.substr(bracket + 1)));
  return {type, position};
}

std::size_t indexOf(const Attributes& attributes, std::string_view part) {
  auto [type, position] = step(part);
  for (std::size_t i = 0; i < attributes.size(); ++i) {
    if ((attributes[i].type & NLA_TYPE_MASK) == type && position-- == 0) {
      return i;
    }
  }
  throw std::out_of_range("no attribute " + std::string(part));
}

std::string_view lastPart(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);  // npos + 1 is 0
}

template <class Value>
Bytes bigEndian(Value value) {
  Bytes bytes(sizeof value);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(value >> (8 * (bytes.size() - 1 - i)));
  }
  return bytes;
}

}  // namespace

std::string capturesFolder() {
  return std::string(VETHGATE_SOURCE_DIR) + "/tests/offline/verifier/captures";
}

Fixture fixture(const std::string& name) {
  // contained-POLICY-KERNEL; or, made from the tiny policy, refused-WHAT-KERNEL and, with a link of
  // its own, engine-NAME-VERSION.
  const auto dash = name.find_last_of('-');
  const std::string kernel = name.substr(dash + 1);
  const std::string contained = "contained-";
  const std::string policy =
      name.starts_with(contained) ? name.substr(contained.size(), dash - contained.size()) : "tiny";
  const std::string link =
      name.starts_with("engine-") ? name + ".link.json" : "link-" + kernel + ".json";
  const std::string folder = capturesFolder() + "/";
  return readFixture(folder + policy + ".policy.json", folder + link, folder + name + ".json");
}

Fixture readFixture(const std::string& policy, const std::string& link,
                    const std::string& capture) {
  return {readPolicy(std::string_view(fileText(policy))),
          readLink(parseDocument(fileText(link), "link"), "link"), readCapture(fileText(capture))};
}

Fixture readOnce(Fixture fixture) {
  for (std::size_t i = 0; i < kReadTwice; ++i) {
    fixture.capture.dump(againOf(static_cast<DumpId>(i))).reset();
  }
  return fixture;
}

Fixture readTwice(Fixture fixture) {
  for (std::size_t i = 0; i < kReadTwice; ++i) {
    const auto id = static_cast<DumpId>(i);
    auto& again = fixture.capture.dump(againOf(id)) = fixture.capture.dump(id);
    for (RawMessage& message : again.value()) {
      nlmsghdr header{};
      std::memcpy(&header, message.data(), sizeof header);
      header.nlmsg_seq += kReadTwice;  // on the same socket, right behind
      std::memcpy(message.data(), &header, sizeof header);
    }
  }
  auto& programs = fixture.capture.programs.emplace();
  for (const std::uint32_t link : {1U, fixture.link.index}) {
    programs.push_back({link, ProgramHook::kTcxIngress, 0, 0});
    programs.push_back({link, ProgramHook::kTcxEgress, 0, 0});
  }
  return fixture;
}

Verdict judged(const Fixture& fixture) {
  return judge(fixture.policy, renderPlan(fixture.policy, fixture.link), fixture.capture);
}

std::string reasonsOf(const Verdict& verdict) {
  std::string text;
  for (const std::string& reason : verdict.reasons) {
    text += reason + "\n";
  }
  return text;
}

Attributes parseAttributes(ByteView bytes) {
  Attributes attributes;
  while (!bytes.empty()) {
    nlattr header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    const ByteView value = bytes.subspan(sizeof header, header.nla_len - sizeof header);
    Attribute attribute{header.nla_type, {}, looksNested(value), {}};
    if (attribute.nested) {
      attribute.children = parseAttributes(value);
    } else {
      attribute.value.assign(value.begin(), value.end());
    }
    attributes.push_back(std::move(attribute));
    bytes = bytes.subspan(std::min<std::size_t>(NLA_ALIGN(header.nla_len), bytes.size()));
  }
  return attributes;
}

Bytes serialize(const Attributes& attributes) {
  Bytes bytes;
  for (const Attribute& attribute : attributes) {
    const Bytes value = attribute.nested ? serialize(attribute.children) : attribute.value;
    const nlattr header{static_cast<std::uint16_t>(sizeof(nlattr) + value.size()), attribute.type};
    const auto* const raw = reinterpret_cast<const std::uint8_t*>(&header);
    bytes.insert(bytes.end(), raw, raw + sizeof header);
    bytes.insert(bytes.end(), value.begin(), value.end());
    bytes.resize(NLA_ALIGN(bytes.size()));
  }
  return bytes;
}

Attributes& listOf(Attributes& attributes, std::string_view path) {
  const auto slash = path.find('/');
  if (slash == std::string_view::npos) {
    return attributes;
  }
  return listOf(attributes[indexOf(attributes, path.substr(0, slash))].children,
                path.substr(slash + 1));
}

Attribute& at(Attributes& attributes, std::string_view path) {
  Attributes& list = listOf(attributes, path);
  return list[indexOf(list, lastPart(path))];
}

void remove(Attributes& attributes, std::string_view path) {
  Attributes& list = listOf(attributes, path);
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(indexOf(list, lastPart(path))));
}

std::vector<RawMessage>& messages(Capture& capture, DumpId id) { return capture.dump(id).value(); }

void edit(Capture& capture, DumpId id, std::size_t index,
          const std::function<void(Attributes&)>& change) {
  RawMessage& message = messages(capture, id).at(index);
  const std::size_t start = kHeader + fixedSize(id);
  Attributes attributes = parseAttributes(ByteView(message).subspan(start));
  // The walker must lose nothing, or an edit would change more than it says.
  if (serialize(attributes) !=
      Bytes(message.begin() + static_cast<std::ptrdiff_t>(start), message.end())) {
    throw std::logic_error("the message does not survive being taken apart");
  }
  change(attributes);
  message.resize(start);
  const Bytes bytes = serialize(attributes);
  message.insert(message.end(), bytes.begin(), bytes.end());
  const auto length = static_cast<std::uint32_t>(message.size());
  std::memcpy(message.data(), &length, sizeof length);
}

void poke(Capture& capture, DumpId id, std::size_t index, std::size_t offset, const Bytes& bytes) {
  RawMessage& message = messages(capture, id).at(index);
  if (offset + bytes.size() > message.size()) {
    throw std::out_of_range("beyond the message");
  }
  std::copy(bytes.begin(), bytes.end(), message.begin() + static_cast<std::ptrdiff_t>(offset));
}

Bytes be16(std::uint16_t value) { return bigEndian(value); }
Bytes be32(std::uint32_t value) { return bigEndian(value); }
Bytes be64(std::uint64_t value) { return bigEndian(value); }
Bytes le32(std::uint32_t value) {
  const Bytes bytes = bigEndian(value);
  return {bytes.rbegin(), bytes.rend()};
}
Bytes text(std::string_view value) {
  Bytes bytes(value.begin(), value.end());
  bytes.push_back(0);
  return bytes;
}
Attribute leaf(std::uint16_t type, Bytes value) { return {type, std::move(value), false, {}}; }

}  // namespace vethgate::test
