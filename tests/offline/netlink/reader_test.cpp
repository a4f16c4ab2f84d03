// The accounting reader: what it hands out, and that nothing else gets past it.
#include "netlink/reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <utility>

#include "tests/offline/netlink/wire.hpp"

namespace vethgate {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using wire::attribute;
using wire::refusal;

enum : std::uint16_t {
  kOne = 1,
  kTwo,
  kTwoBe,
  kFour,
  kFourBe,
  kEight,
  kEightBe,
  kText,
  kBlob,
  kMark,
  kChild,
  kListed,
  kChildren,
  kItem,
};

constexpr std::array kChildSpecs{
    AttributeSpec{kOne, "CHILD_ONE", AttributeKind::kU8},
    AttributeSpec{kFour, "CHILD_FOUR", AttributeKind::kU32},
};
constexpr AttributeTable kChildTable{"CHILD", kChildSpecs};
constexpr AttributeSpec kElement{0, "ELEMENT", AttributeKind::kNested, 0, 0, &kChildTable};
constexpr AttributeTable kListTable{"LIST", {}, &kElement};
constexpr std::array kItemSpecs{
    AttributeSpec{.type = kItem,
                  .name = "ITEM",
                  .kind = AttributeKind::kNested,
                  .table = &kChildTable,
                  .flags = NLA_F_NESTED,
                  .repeats = true},
};
constexpr AttributeTable kItemTable{"ITEMS", kItemSpecs};

constexpr std::array kSpecs{
    AttributeSpec{kOne, "ONE", AttributeKind::kU8},
    AttributeSpec{kTwo, "TWO", AttributeKind::kU16},
    AttributeSpec{kTwoBe, "TWO_BE", AttributeKind::kU16Be},
    AttributeSpec{kFour, "FOUR", AttributeKind::kU32},
    AttributeSpec{kFourBe, "FOUR_BE", AttributeKind::kU32Be, 0, 0, nullptr, NLA_F_NET_BYTEORDER},
    AttributeSpec{kEight, "EIGHT", AttributeKind::kU64},
    AttributeSpec{kEightBe, "EIGHT_BE", AttributeKind::kU64Be},
    AttributeSpec{kText, "TEXT", AttributeKind::kString, 1, 4},
    AttributeSpec{kBlob, "BLOB", AttributeKind::kBytes, 2, 4},
    AttributeSpec{kMark, "MARK", AttributeKind::kFlag},
    AttributeSpec{kChild, "NESTED", AttributeKind::kNested, 0, 0, &kChildTable},
    AttributeSpec{kListed, "LISTED", AttributeKind::kNested, 0, 0, &kListTable},
    AttributeSpec{kChildren, "CHILDREN", AttributeKind::kNested, 0, 0, &kItemTable, NLA_F_NESTED},
};
constexpr AttributeTable kTable{"TOP", kSpecs};

const Bytes kChildPayload = attribute(kOne, {9});

AttributeReader read(const Bytes& payload) { return {kTable, payload, "TOP"}; }
AttributeReader read(Bytes&& payload) = delete;  // a reader does not keep its bytes alive

std::string parseRefusal(const Bytes& payload) {
  return refusal([&] { read(payload).finish(); });
}

TEST(Reader, HandsOutEveryKind) {
  const Bytes payload = wire::join({
      attribute(kOne, {0xab}),
      attribute(kTwo, {0x02, 0x01}),
      attribute(kTwoBe, {0x01, 0x02}),
      attribute(kFour, {0x04, 0x03, 0x02, 0x01}),
      attribute(kFourBe | NLA_F_NET_BYTEORDER, {0x01, 0x02, 0x03, 0x04}),
      attribute(kEight, {8, 7, 6, 5, 4, 3, 2, 1}),
      attribute(kEightBe, {1, 2, 3, 4, 5, 6, 7, 8}),
      attribute(kText, wire::text("eth0")),
      attribute(kBlob, {1, 2, 3}),
      attribute(kMark, {}),
      attribute(kChild, kChildPayload),
  });
  AttributeReader reader = read(payload);
  EXPECT_EQ(0xab, reader.u8(kOne));
  EXPECT_EQ(0x0102, reader.u16(kTwo));
  EXPECT_EQ(0x0102, reader.u16(kTwoBe));
  EXPECT_EQ(0x01020304U, reader.u32(kFour));
  EXPECT_EQ(0x01020304U, reader.u32(kFourBe));
  EXPECT_EQ(0x0102030405060708U, reader.u64(kEight));
  EXPECT_EQ(0x0102030405060708U, reader.u64(kEightBe));
  EXPECT_EQ("eth0", reader.string(kText));
  const ByteView blob = reader.bytes(kBlob);
  EXPECT_EQ((Bytes{1, 2, 3}), Bytes(blob.begin(), blob.end()));
  EXPECT_TRUE(reader.has(kMark));
  EXPECT_TRUE(reader.flag(kMark));
  EXPECT_FALSE(reader.has(kMark));
  AttributeReader child = reader.nested(kChild);
  EXPECT_EQ(9, child.u8(kOne));
  EXPECT_EQ(std::nullopt, child.maybeU32(kFour));
  child.finish();
  reader.finish();
}

TEST(Reader, HandsOutWhatMayBeThere) {
  const Bytes nothing;
  AttributeReader empty = read(nothing);
  EXPECT_EQ(std::nullopt, empty.maybeU8(kOne));
  EXPECT_EQ(std::nullopt, empty.maybeU16(kTwo));
  EXPECT_EQ(std::nullopt, empty.maybeU32(kFour));
  EXPECT_EQ(std::nullopt, empty.maybeU64(kEight));
  EXPECT_EQ(std::nullopt, empty.maybeString(kText));
  EXPECT_FALSE(empty.maybeBytes(kBlob).has_value());
  EXPECT_FALSE(empty.maybeNested(kChild).has_value());
  EXPECT_FALSE(empty.flag(kMark));
  empty.ignore(kOne, "absent");
  empty.finish();

  const Bytes payload = wire::join({attribute(kTwo, {1, 0}), attribute(kText, wire::text("lo")),
                                    attribute(kChild, kChildPayload), attribute(kBlob, {1, 2}),
                                    attribute(kOne, {1})});
  AttributeReader reader = read(payload);
  EXPECT_EQ(1, reader.maybeU16(kTwo));
  EXPECT_EQ("lo", reader.maybeString(kText));
  EXPECT_EQ(2U, reader.maybeBytes(kBlob)->size());
  auto child = reader.maybeNested(kChild);
  ASSERT_TRUE(child.has_value());
  EXPECT_EQ(9, child->u8(kOne));
  child->finish();
  reader.ignore(kOne, "a test");
  reader.finish();
}

TEST(Reader, ListsCountFromOneWithoutAGap) {
  const auto list = [](std::initializer_list<unsigned> types) {
    Bytes elements;
    for (const unsigned type : types) {
      elements = wire::join({elements, attribute(type, kChildPayload)});
    }
    return attribute(kListed, elements);
  };
  const auto take = [](const Bytes& payload) {
    AttributeReader reader = read(payload);
    AttributeReader listed = reader.nested(kListed);
    std::vector<AttributeReader> elements = listed.elements();
    for (AttributeReader& element : elements) {
      static_cast<void>(element.u8(kOne));
      element.finish();
    }
    listed.finish();
    reader.finish();
    return elements.size();
  };
  EXPECT_EQ(0U, take(list({})));
  EXPECT_EQ(3U, take(list({1, 2, 3})));
  EXPECT_EQ(14U, take(list({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})));
  const auto reason = [&](std::initializer_list<unsigned> types) {
    return refusal([&] { static_cast<void>(take(list(types))); });
  };
  EXPECT_EQ("TOP/LISTED: element 1 of the list carries the number 0", reason({0}));
  EXPECT_EQ("TOP/LISTED: element 1 of the list carries the number 2", reason({2}));
  EXPECT_EQ("TOP/LISTED: element 3 of the list carries the number 4", reason({1, 2, 4}));
  EXPECT_EQ("TOP/LISTED: element 2 of the list carries the number 1", reason({1, 1}));
}

TEST(Reader, RepeatingAttributesComeInOrder) {
  const Bytes items = wire::join({attribute(kItem | NLA_F_NESTED, attribute(kOne, {1})),
                                  attribute(kItem | NLA_F_NESTED, attribute(kOne, {2}))});
  const Bytes payload = attribute(kChildren | NLA_F_NESTED, items);
  AttributeReader reader = read(payload);
  AttributeReader children = reader.nested(kChildren);
  std::vector<AttributeReader> elements = children.elements(kItem);
  ASSERT_EQ(2U, elements.size());
  EXPECT_EQ("TOP/CHILDREN/ITEM[2]", elements[1].path());
  for (std::uint8_t i = 0; i < 2; ++i) {
    EXPECT_EQ(i + 1, elements[i].u8(kOne));
    elements[i].finish();
  }
  children.finish();
  reader.finish();
}

TEST(Reader, APathLeadsToTheElement) {
  const Bytes payload =
      attribute(kListed, wire::join({attribute(1, kChildPayload), attribute(2, {1})}));
  EXPECT_EQ("TOP/LISTED[2]: 1 bytes are left over at the end", refusal([&] {
              AttributeReader reader = read(payload);
              static_cast<void>(reader.nested(kListed).elements());
            }));
  const Bytes inner = attribute(kListed, attribute(1, attribute(kFour, {1})));
  EXPECT_EQ("TOP/LISTED[1]/CHILD_FOUR: holds 1 bytes where 4 bytes are expected", refusal([&] {
              AttributeReader reader = read(inner);
              static_cast<void>(reader.nested(kListed).elements());
            }));
}

TEST(Reader, NestedReadersOutliveTheirParent) {
  const Bytes payload = attribute(kListed, attribute(1, kChildPayload));
  std::optional<AttributeReader> child;
  {
    AttributeReader reader = read(payload);
    AttributeReader listed = reader.nested(kListed);
    std::vector<AttributeReader> elements = listed.elements();
    child.emplace(std::move(elements.front()));
    listed.finish();
    reader.finish();
  }
  EXPECT_EQ("TOP/LISTED[1]", child->path());
  EXPECT_EQ(9, child->u8(kOne));
  child->finish();
}

TEST(Reader, RefusesWhatNobodyTook) {
  const Bytes payload = wire::join({attribute(kOne, {1}), attribute(kTwo, {1, 0})});
  EXPECT_EQ("TOP/TWO: is not accounted for", refusal([&] {
              AttributeReader reader = read(payload);
              static_cast<void>(reader.u8(kOne));
              reader.finish();
            }));
  const Bytes list =
      attribute(kListed, wire::join({attribute(1, kChildPayload), attribute(2, kChildPayload)}));
  EXPECT_EQ("TOP/LISTED[1]: is not accounted for", refusal([&] {
              AttributeReader reader = read(list);
              reader.nested(kListed).finish();
            }));
  EXPECT_EQ("TOP/LISTED: is not accounted for", parseRefusal(list));
}

TEST(Reader, RefusesWhatIsTakenTwiceOrMissing) {
  const Bytes payload = attribute(kOne, {1});
  for (const bool maybe : {false, true}) {
    EXPECT_EQ("TOP/ONE: was taken twice", refusal([&] {
                AttributeReader reader = read(payload);
                static_cast<void>(reader.u8(kOne));
                // "Absent" would be a wrong answer.
                static_cast<void>(maybe ? reader.maybeU8(kOne).value_or(0) : reader.u8(kOne));
              }));
  }
  EXPECT_EQ("TOP/ONE: was taken twice", refusal([&] {
              AttributeReader reader = read(payload);
              reader.ignore(kOne, "a test");
              reader.ignore(kOne, "a test");
            }));
  EXPECT_EQ("TOP/TWO: is missing", refusal([&] {
              AttributeReader reader = read(payload);
              static_cast<void>(reader.u16(kTwo));
            }));
}

TEST(Reader, RefusesUnknownAndDoubledAttributes) {
  EXPECT_EQ("TOP: attribute 99 is not known", parseRefusal(attribute(99, {})));
  EXPECT_EQ("TOP: attribute 0 is not known", parseRefusal(attribute(0, {})));
  EXPECT_EQ("TOP/ONE: stands twice",
            parseRefusal(wire::join({attribute(kOne, {1}), attribute(kOne, {1})})));
}

TEST(Reader, RefusesOtherFlags) {
  const auto ignored = [](unsigned type) {
    return refusal([&] {
      const Bytes payload = attribute(type, {1, 2, 3, 4});
      AttributeReader reader = read(payload);
      reader.ignore(static_cast<std::uint16_t>(type & 0x3fff), "a test");
      reader.finish();
    });
  };
  EXPECT_EQ("nothing was thrown", ignored(kFour));
  EXPECT_THAT(ignored(kFour | NLA_F_NESTED), StartsWith("TOP/FOUR: carries the flag bits"));
  EXPECT_THAT(ignored(kFour | NLA_F_NET_BYTEORDER), StartsWith("TOP/FOUR: carries the flag bits"));
  EXPECT_EQ("nothing was thrown", ignored(kFourBe | NLA_F_NET_BYTEORDER));
  EXPECT_THAT(ignored(kFourBe), StartsWith("TOP/FOUR_BE: carries the flag bits"));
}

TEST(Reader, RefusesOtherSizes) {
  struct Case {
    std::uint16_t type;
    unsigned flags;
    std::size_t smallest, largest;
  };
  const std::vector<Case> cases{
      {kOne, 0, 1, 1},
      {kTwo, 0, 2, 2},
      {kTwoBe, 0, 2, 2},
      {kFour, 0, 4, 4},
      {kFourBe, NLA_F_NET_BYTEORDER, 4, 4},
      {kEight, 0, 8, 8},
      {kBlob, 0, 2, 4},
      {kEightBe, 0, 8, 8},
      {kMark, 0, 0, 0},
  };
  for (const Case& each : cases) {
    for (std::size_t size = 0; size <= 12; ++size) {
      const Bytes payload = attribute(each.type | each.flags, Bytes(size));
      const std::string reason = refusal([&] {
        AttributeReader reader = read(payload);
        reader.ignore(each.type, "even what is ignored has its size checked");
        reader.finish();
      });
      if (size >= each.smallest && size <= each.largest) {
        EXPECT_EQ("nothing was thrown", reason) << each.type << " " << size;
      } else {
        EXPECT_THAT(reason, HasSubstr("expected")) << each.type << " " << size;
      }
    }
  }
}

TEST(Reader, RefusesTextsThatAreNotOneText) {
  const auto reason = [](const Bytes& text) {
    return refusal([&] {
      const Bytes payload = attribute(kText, text);
      AttributeReader reader = read(payload);
      reader.ignore(kText, "a test");
      reader.finish();
    });
  };
  EXPECT_EQ("nothing was thrown", reason(wire::text("a")));
  EXPECT_EQ("nothing was thrown", reason(wire::text("abcd")));
  EXPECT_THAT(reason(wire::text("abcde")), HasSubstr("holds 5 bytes where 1 to 4"));
  EXPECT_THAT(reason(wire::text("")), HasSubstr("holds 0 bytes where 1 to 4"));
  EXPECT_THAT(reason({}), HasSubstr("one NUL, at its end"));
  EXPECT_THAT(reason({'a', 'b'}), HasSubstr("one NUL, at its end"));
  EXPECT_THAT(reason({'a', 0, 0}), HasSubstr("one NUL, at its end"));
  EXPECT_THAT(reason({'a', 0, 'b', 0}), HasSubstr("one NUL, at its end"));
}

TEST(Reader, RefusesLengthsThatDoNotHold) {
  const auto withLength = [](int length) {
    Bytes bytes = wire::join({attribute(kFour, {1, 2, 3, 4}), attribute(kOne, {1})});
    bytes[0] = static_cast<std::uint8_t>(length);
    return bytes;
  };
  const Bytes whole = withLength(8);
  AttributeReader control = read(whole);
  EXPECT_EQ(0x04030201U, control.u32(kFour));
  EXPECT_EQ(1, control.u8(kOne));
  control.finish();
  for (const int length : {0, 1, 3, 17, 255}) {
    EXPECT_THAT(parseRefusal(withLength(length)),
                HasSubstr("its length is " + std::to_string(length) + " where 4 to 16"));
  }
}

TEST(Reader, RefusesBytesBetweenAndBehind) {
  const auto reason = [](const Bytes& payload) {
    return refusal([&] {
      AttributeReader reader = read(payload);
      reader.ignore(kOne, "a test");
      reader.ignore(kTwo, "a test");
      reader.finish();
    });
  };
  const Bytes one = attribute(kOne, {1});  // 5 bytes and 3 of padding
  const Bytes two = attribute(kTwo, {1, 0});
  EXPECT_EQ("nothing was thrown", reason(wire::join({one, two})));
  // The last may end without its padding (nla_append), but not amid it.
  EXPECT_EQ("nothing was thrown", reason(Bytes(one.begin(), one.begin() + 5)));
  EXPECT_THAT(reason(Bytes(one.begin(), one.begin() + 6)), HasSubstr("amid its padding"));
  EXPECT_THAT(reason(Bytes(one.begin(), one.begin() + 7)), HasSubstr("amid its padding"));
  for (std::size_t byte = 5; byte < 8; ++byte) {
    Bytes dirty = wire::join({one, two});
    dirty[byte] = 1;
    EXPECT_EQ("TOP/ONE: its padding is not zero", reason(dirty));
  }
  for (const std::size_t rest : {1U, 2U, 3U}) {
    EXPECT_THAT(reason(wire::join({one, two, Bytes(rest)})),
                HasSubstr(std::to_string(rest) + " bytes are left over"));
  }
  EXPECT_THAT(reason(wire::join({one, two, Bytes(4)})), HasSubstr("attribute 0 is not known"));
}

TEST(Reader, WhatIsDiscardedMustBeThere) {
  const Bytes payload = attribute(kOne, {1});
  AttributeReader reader = read(payload);
  reader.discard(kOne, "it is a test");
  reader.finish();
  EXPECT_THAT(refusal([&] {
                AttributeReader other = read(payload);
                other.discard(kTwo, "it is a test");
                other.finish();
              }),
              HasSubstr("TWO: is missing"));
}

TEST(Reader, MisuseIsADefect) {
  const Bytes payload = wire::join({attribute(kOne, {1}), attribute(kListed, {})});
  const auto defect = [&](const auto& misuse) {
    return refusal(
        [&] {
          AttributeReader reader = read(payload);
          misuse(reader);
        },
        ExitCode::kDefect);
  };
  EXPECT_THAT(defect([](AttributeReader& r) { static_cast<void>(r.u32(kOne)); }),
              HasSubstr("another kind"));
  EXPECT_THAT(defect([](AttributeReader& r) { static_cast<void>(r.string(kOne)); }),
              HasSubstr("another kind"));
  EXPECT_THAT(defect([](AttributeReader& r) { static_cast<void>(r.nested(kOne)); }),
              HasSubstr("another kind"));
  EXPECT_THAT(defect([](AttributeReader& r) { static_cast<void>(r.u8(99)); }),
              HasSubstr("not in the table"));
  EXPECT_THAT(defect([](AttributeReader& r) { r.ignore(99, "a test"); }),
              HasSubstr("not in the table"));
  EXPECT_THAT(defect([](AttributeReader& r) { static_cast<void>(r.elements()); }),
              HasSubstr("is not a list"));
  EXPECT_THAT(defect([](AttributeReader& r) { static_cast<void>(r.elements(kOne)); }),
              HasSubstr("does not repeat"));
  EXPECT_THAT(defect([](AttributeReader& r) { static_cast<void>(r.nested(kListed).u8(1)); }),
              HasSubstr("has elements"));
}

TEST(ReaderDeathTest, AReaderThatIsDroppedEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const Bytes payload = attribute(kChild, kChildPayload);
  EXPECT_DEATH({ const AttributeReader reader = read(payload); },
               "TOP: a reader was dropped before everything in it was accounted for");
  // Though its parent is finished.
  EXPECT_DEATH(
      {
        AttributeReader reader = read(payload);
        static_cast<void>(reader.nested(kChild));
        reader.finish();
      },
      "TOP/NESTED: a reader was dropped");
  // While an exception unwinds it is not to blame.
  EXPECT_EQ("TOP: elsewhere", refusal([&] {
              AttributeReader reader = read(payload);
              reader.refuse("elsewhere");
            }));
}

}  // namespace
}  // namespace vethgate
