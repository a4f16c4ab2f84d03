// The accounting reader; see reader.hpp for what it promises.
#include "netlink/reader.hpp"

#include <endian.h>
#include <linux/netlink.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.hpp"

namespace vethgate {
namespace {

constexpr std::size_t kHeaderBytes = sizeof(nlattr);

constexpr std::size_t aligned(std::size_t size) {
  return (size + NLA_ALIGNTO - 1) & ~std::size_t{NLA_ALIGNTO - 1};
}

bool isZero(ByteView bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; });
}

// The one size that a kind allows; kString, kBytes and kNested have a range or none.
std::optional<std::size_t> fixedSize(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kFlag:
      return 0;
    case AttributeKind::kU8:
      return 1;
    case AttributeKind::kU16:
    case AttributeKind::kU16Be:
      return 2;
    case AttributeKind::kU32:
    case AttributeKind::kU32Be:
      return 4;
    case AttributeKind::kU64:
    case AttributeKind::kU64Be:
      return 8;
    case AttributeKind::kString:
    case AttributeKind::kBytes:
    case AttributeKind::kNested:
      return std::nullopt;
  }
  return std::nullopt;
}

std::string count(std::size_t bytes) { return std::to_string(bytes) + " bytes"; }

std::uint8_t toHost(std::uint8_t value) { return value; }
std::uint16_t toHost(std::uint16_t value) { return be16toh(value); }
std::uint32_t toHost(std::uint32_t value) { return be32toh(value); }
std::uint64_t toHost(std::uint64_t value) { return be64toh(value); }

}  // namespace

AttributeReader::Slots::Slots(Slots&& other) noexcept
    : far_(std::move(other.far_)), size_(std::exchange(other.size_, 0)) {
  if (far_.empty()) {
    std::copy_n(other.near_.begin(), size_, near_.begin());
  }
}

void AttributeReader::Slots::add(const Slot& slot) {
  if (size_ < kNear) {
    near_[size_] = slot;
  } else {
    if (far_.empty()) {
      far_.assign(near_.begin(), near_.end());
    }
    far_.push_back(slot);
  }
  ++size_;
}

// NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): see steps_
AttributeReader::AttributeReader(const AttributeTable& table, ByteView payload,
                                 std::string_view parent)
    : table_(&table), root_(parent), exceptions_(std::uncaught_exceptions()) {
  parse(payload);
}

AttributeReader::AttributeReader(const AttributeReader& parent, Step step,
                                 const AttributeTable& table, ByteView payload)
    : table_(&table), root_(parent.root_), exceptions_(std::uncaught_exceptions()) {
  if (parent.depth_ == kMaxDepth) {
    throw Failure(ExitCode::kDefect, parent.path() + ": tables nest deeper than " +
                                         std::to_string(kMaxDepth) + " levels");
  }
  std::copy_n(parent.steps_.begin(), parent.depth_, steps_.begin());
  depth_ = parent.depth_;
  steps_[depth_++] = step;
  parse(payload);
}

AttributeReader::AttributeReader(AttributeReader&& other) noexcept
    : table_(other.table_),
      root_(std::move(other.root_)),
      depth_(other.depth_),
      exceptions_(other.exceptions_),
      finished_(std::exchange(other.finished_, true)),
      slots_(std::move(other.slots_)) {
  std::copy_n(other.steps_.begin(), depth_, steps_.begin());
}

AttributeReader::~AttributeReader() {
  if (!finished_ && std::uncaught_exceptions() <= exceptions_) {
    // Going on would certify something that nobody looked at.
    const std::string where = path();
    static_cast<void>(
        std::fprintf(stderr, "%s: a reader was dropped before everything in it was accounted for\n",
                     where.c_str()));
    std::abort();
  }
}

void AttributeReader::parse(ByteView payload) {
  std::size_t position = 0;
  while (!payload.empty()) {
    ++position;
    if (payload.size() < kHeaderBytes) {
      refuse(count(payload.size()) + " are left over at the end");
    }
    nlattr header{};
    std::memcpy(&header, payload.data(), kHeaderBytes);
    const std::size_t length = header.nla_len;
    const auto type = static_cast<std::uint16_t>(header.nla_type & NLA_TYPE_MASK);
    const AttributeSpec* const spec = specOf(type);
    if (spec == nullptr) {
      refuse("attribute " + std::to_string(type) + " is not known");
    }
    if (length < kHeaderBytes || length > payload.size()) {
      refuseAt(*spec, position,
               "its length is " + std::to_string(length) + " where " +
                   std::to_string(kHeaderBytes) + " to " + std::to_string(payload.size()) +
                   " are possible");
    }
    const ByteView value = payload.subspan(kHeaderBytes, length - kHeaderBytes);
    if (table_->element != nullptr && type != position) {
      refuse("element " + std::to_string(position) + " of the list carries the number " +
             std::to_string(type));
    }
    if (!spec->repeats && table_->element == nullptr && find(type) != nullptr) {
      refuseAt(*spec, position, "stands twice");
    }
    check(*spec, header.nla_type, value, position);
    slots_.add({spec, value.data(), static_cast<std::uint16_t>(value.size()), false});

    // The last attribute may end without its padding, but not amid it.
    if (length == payload.size()) {
      break;
    }
    const std::size_t step = aligned(length);
    if (step > payload.size()) {
      refuseAt(*spec, position, "is cut off amid its padding");
    }
    if (!isZero(payload.subspan(length, step - length))) {
      refuseAt(*spec, position, "its padding is not zero");
    }
    payload = payload.subspan(step);
  }
}

void AttributeReader::check(const AttributeSpec& spec, std::uint16_t header, ByteView payload,
                            std::size_t position) const {
  const auto flags = static_cast<std::uint16_t>(header & ~NLA_TYPE_MASK);
  if (flags != spec.flags) {
    refuseAt(spec, position,
             "carries the flag bits " + std::to_string(flags) + " where " +
                 std::to_string(spec.flags) + " are expected");
  }
  if (const auto size = fixedSize(spec.kind)) {
    if (payload.size() != *size) {
      refuseAt(spec, position,
               "holds " + count(payload.size()) + " where " + count(*size) + " are expected");
    }
    return;
  }
  if (spec.kind == AttributeKind::kNested) {
    return;
  }
  std::size_t size = payload.size();
  if (spec.kind == AttributeKind::kString) {
    const auto nul = std::find(payload.begin(), payload.end(), std::uint8_t{0});
    if (nul == payload.end() || nul + 1 != payload.end()) {
      refuseAt(spec, position, "is not a text with one NUL, at its end");
    }
    --size;
  }
  if (size < spec.minimum || size > spec.maximum) {
    refuseAt(spec, position,
             "holds " + count(size) + " where " + std::to_string(spec.minimum) + " to " +
                 std::to_string(spec.maximum) + " are expected");
  }
}

const AttributeSpec* AttributeReader::specOf(std::uint16_t type) const noexcept {
  if (table_->element != nullptr) {
    return table_->element;
  }
  const auto specs = table_->specs;
  // Most tables list their attributes densely, in the kernel's order: try that place first.
  if (!specs.empty() && type >= specs.front().type) {
    const auto guess = static_cast<std::size_t>(type - specs.front().type);
    if (guess < specs.size() && specs[guess].type == type) {
      return &specs[guess];
    }
  }
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [type](const AttributeSpec& spec) { return spec.type == type; });
  return found == specs.end() ? nullptr : &*found;
}

AttributeReader::Slot* AttributeReader::find(std::uint16_t type) {
  if (table_->element != nullptr) {
    throw Failure(ExitCode::kDefect, path() + ": a list has elements, not attributes by type");
  }
  const auto slots = slots_.all();
  const auto found = std::find_if(slots.begin(), slots.end(),
                                  [type](const Slot& slot) { return slot.spec->type == type; });
  return found == slots.end() ? nullptr : &*found;
}

AttributeReader::Slot& AttributeReader::take(std::uint16_t type) {
  Slot* const slot = find(type);
  if (slot == nullptr) {
    if (specOf(type) == nullptr) {
      throw Failure(ExitCode::kDefect, pathOf(type) + ": asked for, but not in the table");
    }
    refuse(type, "is missing");
  }
  if (slot->spec->repeats) {
    throw Failure(ExitCode::kDefect, pathOf(type) + ": repeats, so it is taken by elements()");
  }
  if (slot->taken) {
    refuse(type, "was taken twice");
  }
  slot->taken = true;
  return *slot;
}

void AttributeReader::expectKind(const Slot& slot, AttributeKind kind,
                                 AttributeKind alternative) const {
  if (slot.spec->kind != kind && slot.spec->kind != alternative) {
    throw Failure(ExitCode::kDefect,
                  pathOf(slot.spec->type) + ": asked for as another kind than its table says");
  }
}

template <class Value>
Value AttributeReader::integer(const Slot& slot, AttributeKind host, AttributeKind network) const {
  expectKind(slot, host, network);
  Value value{};
  std::memcpy(&value, slot.data, sizeof value);
  return slot.spec->kind == host ? value : toHost(value);
}

std::uint8_t AttributeReader::u8(std::uint16_t type) {
  return integer<std::uint8_t>(take(type), AttributeKind::kU8, AttributeKind::kU8);
}

std::uint16_t AttributeReader::u16(std::uint16_t type) {
  return integer<std::uint16_t>(take(type), AttributeKind::kU16, AttributeKind::kU16Be);
}

std::uint32_t AttributeReader::u32(std::uint16_t type) {
  return integer<std::uint32_t>(take(type), AttributeKind::kU32, AttributeKind::kU32Be);
}

std::uint64_t AttributeReader::u64(std::uint16_t type) {
  return integer<std::uint64_t>(take(type), AttributeKind::kU64, AttributeKind::kU64Be);
}

std::string_view AttributeReader::string(std::uint16_t type) {
  const Slot& slot = take(type);
  expectKind(slot, AttributeKind::kString, AttributeKind::kString);
  return {reinterpret_cast<const char*>(slot.data), std::size_t{slot.size} - 1};
}

ByteView AttributeReader::bytes(std::uint16_t type) {
  const Slot& slot = take(type);
  expectKind(slot, AttributeKind::kBytes, AttributeKind::kBytes);
  return slot.payload();
}

AttributeReader AttributeReader::descend(const Slot& slot, std::uint32_t index) const {
  expectKind(slot, AttributeKind::kNested, AttributeKind::kNested);
  if (slot.spec->table == nullptr) {
    throw Failure(ExitCode::kDefect,
                  pathOf(slot.spec->type) + ": nested, but its table is not given");
  }
  const bool listed = table_->element != nullptr;
  return {*this, Step{listed ? nullptr : slot.spec->name, index}, *slot.spec->table,
          slot.payload()};
}

AttributeReader AttributeReader::nested(std::uint16_t type) { return descend(take(type), 0); }

AttributeReader AttributeReader::nestedAs(std::uint16_t type, const AttributeTable& table,
                                          const char* content) {
  const Slot& slot = take(type);
  expectKind(slot, AttributeKind::kBytes, AttributeKind::kBytes);
  return {*this, Step{slot.spec->name, 0, content}, table, slot.payload()};
}

bool AttributeReader::flag(std::uint16_t type) {
  if (find(type) == nullptr) {
    return false;
  }
  expectKind(take(type), AttributeKind::kFlag, AttributeKind::kFlag);
  return true;
}

bool AttributeReader::has(std::uint16_t type) const noexcept {
  const auto slots = slots_.all();
  return std::any_of(slots.begin(), slots.end(),
                     [type](const Slot& slot) { return slot.spec->type == type && !slot.taken; });
}

// An attribute that was taken already is there, so take() gets to refuse it: "absent" would be
// wrong.
std::optional<std::uint8_t> AttributeReader::maybeU8(std::uint16_t type) {
  return find(type) == nullptr ? std::nullopt : std::optional(u8(type));
}

std::optional<std::uint16_t> AttributeReader::maybeU16(std::uint16_t type) {
  return find(type) == nullptr ? std::nullopt : std::optional(u16(type));
}

std::optional<std::uint32_t> AttributeReader::maybeU32(std::uint16_t type) {
  return find(type) == nullptr ? std::nullopt : std::optional(u32(type));
}

std::optional<std::uint64_t> AttributeReader::maybeU64(std::uint16_t type) {
  return find(type) == nullptr ? std::nullopt : std::optional(u64(type));
}

std::optional<std::string_view> AttributeReader::maybeString(std::uint16_t type) {
  return find(type) == nullptr ? std::nullopt : std::optional(string(type));
}

std::optional<ByteView> AttributeReader::maybeBytes(std::uint16_t type) {
  return find(type) == nullptr ? std::nullopt : std::optional(bytes(type));
}

std::optional<AttributeReader> AttributeReader::maybeNested(std::uint16_t type) {
  if (find(type) == nullptr) {
    return std::nullopt;
  }
  return {nested(type)};
}

std::vector<AttributeReader> AttributeReader::elements(std::uint16_t type) {
  const AttributeSpec* const spec = specOf(type);
  if (table_->element != nullptr || spec == nullptr || !spec->repeats) {
    throw Failure(ExitCode::kDefect, pathOf(type) + ": does not repeat by its table");
  }
  std::vector<AttributeReader> readers;
  readers.reserve(slots_.all().size());
  std::uint32_t index = 0;
  for (Slot& slot : slots_.all()) {
    if (slot.spec != spec) {
      continue;
    }
    if (std::exchange(slot.taken, true)) {
      refuse(type, "was taken twice");
    }
    readers.push_back(descend(slot, ++index));
  }
  return readers;
}

std::vector<AttributeReader> AttributeReader::elements() {
  if (table_->element == nullptr) {
    throw Failure(ExitCode::kDefect, path() + ": is not a list by its table");
  }
  std::vector<AttributeReader> readers;
  readers.reserve(slots_.all().size());
  std::uint32_t index = 0;
  for (Slot& slot : slots_.all()) {
    if (std::exchange(slot.taken, true)) {
      refuse("was taken twice");
    }
    readers.push_back(descend(slot, ++index));
  }
  return readers;
}

void AttributeReader::ignore(std::uint16_t type, const char* reason) {
  static_cast<void>(reason);  // for the reader of the source
  const AttributeSpec* const spec = specOf(type);
  if (table_->element != nullptr || spec == nullptr) {
    throw Failure(ExitCode::kDefect, pathOf(type) + ": ignored, but not in the table");
  }
  for (Slot& slot : slots_.all()) {
    if (slot.spec == spec && std::exchange(slot.taken, true)) {
      refuse(type, "was taken twice");
    }
  }
}

void AttributeReader::discard(std::uint16_t type, const char* reason) {
  static_cast<void>(reason);
  static_cast<void>(take(type));
}

void AttributeReader::finish() {
  std::size_t index = 0;
  for (const Slot& slot : slots_.all()) {
    ++index;
    if (!slot.taken) {
      refuseAt(*slot.spec, index, "is not accounted for");
    }
  }
  finished_ = true;
}

std::string AttributeReader::path() const {
  std::string text = root_;
  for (std::size_t i = 0; i < depth_; ++i) {
    if (steps_[i].name != nullptr) {
      text.append("/").append(steps_[i].name);
    }
    if (steps_[i].index != 0) {
      text.append("[").append(std::to_string(steps_[i].index)).append("]");
    }
    if (steps_[i].content != nullptr) {
      text.append("(").append(steps_[i].content).append(")");
    }
  }
  return text;
}

std::string AttributeReader::pathOf(std::uint16_t type) const {
  if (table_->element != nullptr) {
    return path() + "[" + std::to_string(type) + "]";
  }
  const AttributeSpec* const spec = specOf(type);
  return path() + "/" + (spec == nullptr ? std::to_string(type) : std::string(spec->name));
}

void AttributeReader::refuse(const std::string& problem) const {
  throw Failure(ExitCode::kRefused, path() + ": " + problem);
}

void AttributeReader::refuse(std::uint16_t type, const std::string& problem) const {
  throw Failure(ExitCode::kRefused, pathOf(type) + ": " + problem);
}

void AttributeReader::refuseAt(const AttributeSpec& spec, std::size_t position,
                               const std::string& problem) const {
  if (table_->element != nullptr) {
    throw Failure(ExitCode::kRefused, path() + "[" + std::to_string(position) + "]: " + problem);
  }
  throw Failure(ExitCode::kRefused, path() + "/" + spec.name + ": " + problem);
}

}  // namespace vethgate
