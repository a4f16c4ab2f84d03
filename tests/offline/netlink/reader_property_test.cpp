// Random attribute trees: read back equal when whole, refused after any mutation that changes what
// they say or how they are laid out.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "netlink/reader.hpp"
#include "tests/offline/netlink/wire.hpp"

namespace vethgate {
namespace {

// A table of every kind, nested in itself by way of a list, three levels deep.
constexpr std::array kLeafSpecs{
    AttributeSpec{1, "U8", AttributeKind::kU8},
    AttributeSpec{2, "U16", AttributeKind::kU16},
    AttributeSpec{3, "U32_BE", AttributeKind::kU32Be, 0, 0, nullptr, NLA_F_NET_BYTEORDER},
    AttributeSpec{4, "U64", AttributeKind::kU64},
    AttributeSpec{5, "TEXT", AttributeKind::kString, 1, 15},
    AttributeSpec{6, "BYTES", AttributeKind::kBytes, 1, 9},
    AttributeSpec{7, "FLAG", AttributeKind::kFlag},
};
constexpr AttributeTable kLeafTable{"LEAF", kLeafSpecs};
constexpr AttributeSpec kElement{0,           "ELEMENT",   AttributeKind::kNested, 0, 0,
                                 &kLeafTable, NLA_F_NESTED};
constexpr AttributeTable kListTable{"LIST", {}, &kElement};
constexpr std::array kTopSpecs{
    AttributeSpec{1, "U8", AttributeKind::kU8},
    AttributeSpec{5, "TEXT", AttributeKind::kString, 1, 15},
    AttributeSpec{8, "LIST", AttributeKind::kNested, 0, 0, &kListTable},
    AttributeSpec{9, "LEAF", AttributeKind::kNested, 0, 0, &kLeafTable, NLA_F_NESTED},
};
constexpr AttributeTable kTopTable{"TOP", kTopSpecs};

constexpr unsigned kTypeMask = 0x3fff;  // NLA_TYPE_MASK, which is a negative int

struct Node {
  unsigned type = 0;  // with flags
  Bytes payload;      // of a leaf
  bool nested = false;
  std::vector<Node> children;
};

rc::Gen<Bytes> payloadOf(const AttributeSpec& spec) {
  const auto bytes = [](std::size_t size) {
    return rc::gen::container<Bytes>(size, rc::gen::arbitrary<std::uint8_t>());
  };
  switch (spec.kind) {
    case AttributeKind::kU8:
      return bytes(1);
    case AttributeKind::kU16:
      return bytes(2);
    case AttributeKind::kU32Be:
      return bytes(4);
    case AttributeKind::kU64:
      return bytes(8);
    case AttributeKind::kString:
      return rc::gen::mapcat(
          rc::gen::inRange<std::size_t>(spec.minimum, spec.maximum + 1), [](std::size_t size) {
            return rc::gen::map(rc::gen::container<std::string>(size, rc::gen::inRange('a', 'z')),
                                [](const std::string& text) { return wire::text(text); });
          });
    case AttributeKind::kBytes:
      return rc::gen::mapcat(rc::gen::inRange<std::size_t>(spec.minimum, spec.maximum + 1), bytes);
    default:
      return rc::gen::just(Bytes{});
  }
}

std::vector<Node> arbitraryLevel(const AttributeTable& table);

Node arbitraryNode(const AttributeSpec& spec, unsigned type) {
  Node node;
  node.type = type | spec.flags;
  node.nested = spec.kind == AttributeKind::kNested;
  if (node.nested) {
    node.children = arbitraryLevel(*spec.table);
  } else {
    node.payload = *payloadOf(spec);
  }
  return node;
}

std::vector<Node> arbitraryLevel(const AttributeTable& table) {
  std::vector<Node> level;
  if (table.element != nullptr) {
    const auto count = *rc::gen::inRange(1U, 5U);
    for (unsigned i = 1; i <= count; ++i) {
      level.push_back(arbitraryNode(*table.element, i));
    }
    return level;
  }
  // A subset, in the kernel's order or in another: the order says nothing.
  for (const AttributeSpec& spec : table.specs) {
    if (*rc::gen::arbitrary<bool>()) {
      level.push_back(arbitraryNode(spec, spec.type));
    }
  }
  if (!level.empty() && *rc::gen::arbitrary<bool>()) {
    std::swap(level.front(), level.back());
  }
  return level;
}

Bytes encode(const std::vector<Node>& level) {
  Bytes bytes;
  for (const Node& node : level) {
    bytes = wire::join(
        {bytes, wire::attribute(node.type, node.nested ? encode(node.children) : node.payload)});
  }
  return bytes;
}

// Everything that the reader hands out, as path → value.
using Values = std::map<std::string, std::string>;

void expected(const std::string& path, const AttributeTable& table, const std::vector<Node>& level,
              Values& values) {
  for (const Node& node : level) {
    const unsigned type = node.type & kTypeMask;
    std::string name = path + "[" + std::to_string(type) + "]";
    const AttributeSpec* found = table.element;
    for (const AttributeSpec& spec : table.specs) {
      if (spec.type == type) {
        found = &spec;
        name = path + "/" + spec.name;
      }
    }
    if (node.nested) {
      values[name] = "nested";
      expected(name, *found->table, node.children, values);
    } else {
      values[name] = toHex(node.payload);
    }
  }
}

void take(AttributeReader& reader, const AttributeTable& table, Values& values);

void takeNested(AttributeReader reader, const AttributeTable& table, Values& values) {
  values[reader.path()] = "nested";
  take(reader, table, values);
  reader.finish();
}

void take(AttributeReader& reader, const AttributeTable& table, Values& values) {
  if (table.element != nullptr) {
    for (AttributeReader& element : reader.elements()) {
      takeNested(std::move(element), *table.element->table, values);
    }
    return;
  }
  const auto put = [&](std::uint16_t type, const Bytes& bytes) {
    values[reader.pathOf(type)] = toHex(bytes);
  };
  for (const AttributeSpec& spec : table.specs) {
    if (!reader.has(spec.type)) {
      continue;
    }
    switch (spec.kind) {
      case AttributeKind::kU8:
        put(spec.type, wire::raw(reader.u8(spec.type)));
        break;
      case AttributeKind::kU16:
        put(spec.type, wire::raw(reader.u16(spec.type)));
        break;
      case AttributeKind::kU32Be: {
        const std::uint32_t value = reader.u32(spec.type);
        put(spec.type,
            {static_cast<std::uint8_t>(value >> 24), static_cast<std::uint8_t>(value >> 16 & 0xff),
             static_cast<std::uint8_t>(value >> 8 & 0xff),
             static_cast<std::uint8_t>(value & 0xff)});
        break;
      }
      case AttributeKind::kU64:
        put(spec.type, wire::raw(reader.u64(spec.type)));
        break;
      case AttributeKind::kString:
        put(spec.type, wire::text(reader.string(spec.type)));
        break;
      case AttributeKind::kBytes: {
        const ByteView bytes = reader.bytes(spec.type);
        put(spec.type, Bytes(bytes.begin(), bytes.end()));
        break;
      }
      case AttributeKind::kFlag:
        put(spec.type, reader.flag(spec.type) ? Bytes{} : Bytes{1});
        break;
      default:
        takeNested(reader.nested(spec.type), *spec.table, values);
    }
  }
}

// What is read of `bytes`; throws what the reader throws.
Values readAllOf(const Bytes& bytes) {
  Values values;
  AttributeReader reader(kTopTable, bytes, "TOP");
  take(reader, kTopTable, values);
  reader.finish();
  return values;
}

Values expectedOf(const std::vector<Node>& tree) {
  Values values;
  expected("TOP", kTopTable, tree, values);
  return values;
}

bool isRefused(const Bytes& bytes) {
  try {
    static_cast<void>(readAllOf(bytes));
  } catch (const Failure& failure) {
    return failure.code() == ExitCode::kRefused;
  }
  return false;
}

// Every node of the tree, with the level that holds it.
void collect(std::vector<Node>& level,
             std::vector<std::pair<std::vector<Node>*, std::size_t>>& all) {
  for (std::size_t i = 0; i < level.size(); ++i) {
    all.emplace_back(&level, i);
    collect(level[i].children, all);
  }
}

// A tree of at least one node, and one of its nodes.
struct Target {
  std::vector<Node> tree;
  std::vector<Node>* level = nullptr;
  std::size_t index = 0;
  [[nodiscard]] Node& node() const { return (*level)[index]; }
};

void pick(Target& target) {
  target.tree = arbitraryLevel(kTopTable);
  std::vector<std::pair<std::vector<Node>*, std::size_t>> all;
  collect(target.tree, all);
  RC_PRE(!all.empty());
  std::tie(target.level, target.index) = *rc::gen::elementOf(all);
}

TEST(ReaderProperty, WholeTreesReadBackEqual) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<Node> tree = arbitraryLevel(kTopTable);
    RC_ASSERT(readAllOf(encode(tree)) == expectedOf(tree));
  }));
}

TEST(ReaderProperty, ARemovedAttributeIsMissed) {
  EXPECT_TRUE(rc::check([] {
    Target target;
    pick(target);
    const Values whole = readAllOf(encode(target.tree));
    const Node& first = target.level->front();
    const bool inList = first.nested && (first.type & kTypeMask) == 1;
    const bool leavesGap = inList && target.index + 1 < target.level->size();
    target.level->erase(target.level->begin() + static_cast<std::ptrdiff_t>(target.index));
    const Bytes bytes = encode(target.tree);
    if (leavesGap) {
      RC_ASSERT(isRefused(bytes));
    } else {
      RC_ASSERT(readAllOf(bytes) != whole);
    }
  }));
}

TEST(ReaderProperty, ADuplicateIsRefused) {
  EXPECT_TRUE(rc::check([] {
    Target target;
    pick(target);
    const Node copy = target.node();
    const auto place = *rc::gen::inRange<std::size_t>(0, target.level->size() + 1);
    target.level->insert(target.level->begin() + static_cast<std::ptrdiff_t>(place), copy);
    RC_ASSERT(isRefused(encode(target.tree)));
  }));
}

TEST(ReaderProperty, ATypeThatNoTableKnowsIsRefused) {
  EXPECT_TRUE(rc::check([] {
    Target target;
    pick(target);
    const auto type = *rc::gen::inRange<unsigned>(10, kTypeMask + 1);
    target.node().type = (target.node().type & ~kTypeMask) | type;
    RC_ASSERT(isRefused(encode(target.tree)));
  }));
}

TEST(ReaderProperty, OtherFlagBitsAreRefused) {
  EXPECT_TRUE(rc::check([] {
    Target target;
    pick(target);
    target.node().type ^= *rc::gen::element<unsigned>(NLA_F_NESTED, NLA_F_NET_BYTEORDER,
                                                      NLA_F_NESTED | NLA_F_NET_BYTEORDER);
    RC_ASSERT(isRefused(encode(target.tree)));
  }));
}

TEST(ReaderProperty, ALeafOfAnotherSizeIsRefusedUnlessItsKindAllowsIt) {
  EXPECT_TRUE(rc::check([] {
    Target target;
    pick(target);
    RC_PRE(!target.node().nested);
    const unsigned type = target.node().type & kTypeMask;
    const auto size = *rc::gen::inRange<std::size_t>(0, 40);
    RC_PRE(size != target.node().payload.size());
    const bool bytesInRange = type == 6 && size >= 1 && size <= 9;
    target.node().payload.resize(size, 'x');
    if (bytesInRange) {
      RC_ASSERT(readAllOf(encode(target.tree)) == expectedOf(target.tree));
    } else {
      RC_ASSERT(isRefused(encode(target.tree)));
    }
  }));
}

TEST(ReaderProperty, EveryCutIsRefusedOrEndsBetweenAttributes) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<Node> tree = arbitraryLevel(kTopTable);
    const Bytes whole = encode(tree);
    RC_PRE(!whole.empty());
    const auto size = *rc::gen::inRange<std::size_t>(0, whole.size());
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    if (!isRefused(cut)) {
      // Fewer attributes at the top, or only the padding at the very end is gone: never other
      // values.
      const Values all = expectedOf(tree);
      for (const auto& [path, value] : readAllOf(cut)) {
        RC_ASSERT(all.at(path) == value);
      }
    }
  }));
}

TEST(ReaderProperty, AFlippedBitIsRefusedOrChangesAValue) {
  // A bit in a header, in padding or in a length must be refused or seen; never read as if
  // unchanged.
  EXPECT_TRUE(rc::check([] {
    const std::vector<Node> tree = arbitraryLevel(kTopTable);
    Bytes bytes = encode(tree);
    RC_PRE(!bytes.empty());
    const auto bit = *rc::gen::inRange<std::size_t>(0, bytes.size() * 8);
    bytes[bit / 8] = static_cast<std::uint8_t>(bytes[bit / 8] ^ (1U << (bit % 8)));
    if (!isRefused(bytes)) {
      RC_ASSERT(readAllOf(bytes) != expectedOf(tree));
    }
  }));
}

TEST(ReaderProperty, ArbitraryBytesNeverCrash) {
  EXPECT_TRUE(rc::check([](const Bytes& bytes) {
    if (!isRefused(bytes)) {
      static_cast<void>(readAllOf(bytes));
    }
  }));
}

}  // namespace
}  // namespace vethgate
