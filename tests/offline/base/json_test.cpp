// Strict documents: what is read, and everything that is refused.
#include "base/json.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "base/error.hpp"

namespace vethgate {
namespace {

std::string refusal(const std::function<void()>& body) {
  try {
    body();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::kBadInput);
    return failure.what();
  }
  return "";
}

std::string parseRefusal(const std::string& text) {
  return refusal([&] { static_cast<void>(parseDocument(text, "plan")); });
}

void expectRefused(const std::string& text, const std::string& part) {
  const std::string message = parseRefusal(text);
  EXPECT_EQ(message.rfind("plan: ", 0), 0U) << message;
  EXPECT_NE(message.find(part), std::string::npos) << "\"" << message << "\" for " << text;
}

TEST(ParseDocument, buildsWhatTheTextSays) {
  const Json document = parseDocument(
      R"({"a":[1,-2,true,null,"x",{"b":{}}],"c":18446744073709551615,"d":[[],[3]]} )", "plan");
  EXPECT_EQ(document.dump(),
            R"({"a":[1,-2,true,null,"x",{"b":{}}],"c":18446744073709551615,"d":[[],[3]]})");
}

TEST(ParseDocument, refusesRepeatedKeysAtAnyDepth) {
  EXPECT_EQ(parseRefusal(R"({"a":1,"b":{"a":2}})"), "");
  expectRefused(R"({"a":1,"a":1})", "the key \"a\" stands twice");
  expectRefused(R"({"b":[{"a":1,"\u0061":2}]})", "the key \"a\" stands twice");
  expectRefused("{\"b\\u0007\":1,\"b\\u0007\":1}", "the key \"b?\" stands twice");
}

TEST(ParseDocument, refusesNumbersThatAreNotIntegersWithin64Bits) {
  EXPECT_EQ(parseRefusal("[-9223372036854775808,18446744073709551615]"), "");
  for (const char* number :
       {"53.7", "1.0", "1e2", "1E0", "18446744073709551616", "-9223372036854775809", "1e99"}) {
    expectRefused("[" + std::string(number) + "]", "is not an integer within 64 bits");
  }
  for (const char* text :
       {"[01]", "[+1]", "[-]", "[0x10]", "[NaN]", "[1e999]", "[1.]", "[.5]", "[1_0]"}) {
    expectRefused(text, "not JSON");
  }
}

TEST(ParseDocument, refusesWhatIsNotOneDocument) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\":}", "{'a':1}", "[1]2", "{}{}", "[1] x",
                           "// c\n[1]", "[1]/* c */", "{\"a\" 1}", "tru", "\"\t\"", "\"\\u12\""}) {
    expectRefused(text, "not JSON at byte");
  }
  expectRefused(std::string("[1]\0", 4), "a NUL character");
  expectRefused(std::string("[1]\0{", 5), "not JSON at byte 4");
  expectRefused(std::string("[1,\0 2]", 7), "a NUL character");
  expectRefused("[\"\xff\"]", "not JSON");
  expectRefused("[\"\xed\xa0\x80\"]", "not JSON");  // half of a surrogate pair
  expectRefused("\xEF\xBB\xBF[1]", "byte order mark");
  EXPECT_EQ(parseRefusal(" [1]\n"), "");
}

TEST(ParseDocument, refusesDepthOverItsLimit) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(parseRefusal(nested(kMaxDepth)), "");
  expectRefused(nested(kMaxDepth + 1), "nested deeper than 16");
  expectRefused(std::string(100'000, '['), "nested deeper than 16");
  std::string objects = "1";
  for (std::size_t i = 0; i < kMaxDepth + 1; ++i) {
    objects = R"({"a":)" + objects + "}";
  }
  expectRefused(objects, "nested deeper than 16");
}

TEST(ParseDocument, refusesTextOverTheCallersLimit) {
  EXPECT_EQ(parseDocument("[1]", "plan", 3).size(), 1U);
  const std::string message = refusal([] { static_cast<void>(parseDocument("[1] ", "plan", 3)); });
  EXPECT_EQ(message, "plan: 4 bytes, at most 3 are accepted");
}

TEST(ParseDocument, keepsItsMessagesPrintable) {
  const std::string message = parseRefusal("[\"\x01\x1b[31m\"]");
  EXPECT_FALSE(message.empty());
  for (const char c : message) {
    EXPECT_TRUE(c >= 0x20 && c <= 0x7e);
  }
}

TEST(ParseDocument, handsOutTheElementsOfAStreamedList) {
  std::vector<std::string> taken;
  const std::array<StreamedList, 2> streamed{{
      {"rules",
       [&](const Json& e, std::size_t i) { taken.push_back(std::to_string(i) + e.dump()); }},
      {"a.b", [&](const Json& e, std::size_t i) { taken.push_back(std::to_string(i) + e.dump()); }},
  }};
  const auto parse = [&](const std::string& text) {
    taken.clear();
    return canonicalText(parseDocument(text, "plan", kMaxDocumentBytes, streamed));
  };
  EXPECT_EQ(parse(R"({"rules":[{"x":[1,{"rules":[2]}]},3,[4]],"a":{"b":[5],"c":[6]},"d":[7]})"),
            R"({"a":{"b":[],"c":[6]},"d":[7],"rules":[]})");
  EXPECT_EQ(taken, (std::vector<std::string>{R"(0{"x":[1,{"rules":[2]}]})", "13", "2[4]", "05"}));
  // Lists of that name in another place are none of them, and stay.
  for (const char* other :
       {R"([{"rules":[1]}])", R"({"a":[{"b":[1]}]})", R"({"b":[1],"c":{"a":{"b":[1]}}})",
        R"({"a":{"rules":[1]},"rules":{"b":[1]}})", R"({"a":{"b":{"x":[1]}}})"}) {
    EXPECT_EQ(parse(other), other);
    EXPECT_TRUE(taken.empty()) << other;
  }
  EXPECT_EQ(refusal([&] { parse(R"({"rules":[{"x":1,"x":2}]})"); }),
            R"(plan: the key "x" stands twice in one object)");
}

TEST(CanonicalText, sortsKeysAndLeavesNoSpace) {
  EXPECT_EQ(canonicalText(parseDocument("{ \"b\" : 1, \"a\" : [ 1, 2 ],\n\"B\":{} }", "plan")),
            R"({"B":{},"a":[1,2],"b":1})");
}

TEST(ObjectReader, handsOutMembersAndRefusesTheRest) {
  const Json document = parseDocument(R"({"a":1,"b":2})", "policy");
  ObjectReader reader(document, "policy.x[2]");
  EXPECT_EQ(reader.required("a"), 1);
  EXPECT_EQ(reader.optional("c"), nullptr);
  EXPECT_EQ(refusal([&] { reader.finish(); }), "policy.x[2]: the field \"b\" is unknown");
  EXPECT_NE(reader.optional("b"), nullptr);
  reader.finish();
  EXPECT_EQ(reader.pathOf("b"), "policy.x[2].b");
  EXPECT_EQ(refusal([&] { static_cast<void>(reader.required("d")); }),
            "policy.x[2]: the field \"d\" is missing");
  EXPECT_EQ(refusal([] { ObjectReader(Json::array(), "policy"); }),
            "policy must be an object, found array");
}

TEST(ObjectReader, keepsUnknownNamesPrintable) {
  const Json document = parseDocument("{\"a\\u0000\\u001b" + std::string(300, 'x') + "\":1}", "p");
  const std::string message = refusal([&] { ObjectReader(document, "p").finish(); });
  EXPECT_EQ(message.find("p: the field \"a??xxx"), 0U) << message;
  EXPECT_LT(message.size(), 100U);
}

TEST(TypedAccess, refusesEveryOtherType) {
  const Json all = parseDocument(R"([null,true,1,-1,"x",[],{}])", "p");
  for (const Json& value : all) {
    EXPECT_EQ(refusal([&] { static_cast<void>(asString(value, "p")); }).empty(), value.is_string());
    EXPECT_EQ(refusal([&] { static_cast<void>(asText(value, "p")); }).empty(), value.is_string());
    EXPECT_EQ(refusal([&] { static_cast<void>(asBool(value, "p")); }).empty(), value.is_boolean());
    EXPECT_EQ(refusal([&] { static_cast<void>(asArray(value, "p")); }).empty(), value.is_array());
    EXPECT_EQ(refusal([&] { static_cast<void>(asInteger(value, "p", 0, 9)); }).empty(),
              value.is_number_unsigned());
  }
}

TEST(TypedAccess, keepsIntegersInTheirRange) {
  const auto read = [](const char* number) {
    return refusal(
        [&] { static_cast<void>(asInteger(parseDocument(number, "p"), "plan.pref", 101, 65535)); });
  };
  EXPECT_EQ(read("101"), "");
  EXPECT_EQ(read("65535"), "");
  EXPECT_EQ(read("100"), "plan.pref is 100, outside 101..65535");
  EXPECT_EQ(read("65536"), "plan.pref is 65536, outside 101..65535");
  EXPECT_EQ(read("-101"), "plan.pref is -101, outside 101..65535");
  EXPECT_EQ(read("18446744073709551615"), "plan.pref is 18446744073709551615, outside 101..65535");
  const Json largest = parseDocument("18446744073709551615", "p");
  EXPECT_EQ(asInteger(largest, "p", 0, UINT64_MAX), UINT64_MAX);
}

TEST(TypedAccess, takesPrintableTextOfBoundedLength) {
  const auto read = [](const std::string& text) {
    const Json value = text;
    return refusal([&] { static_cast<void>(asText(value, "p")); });
  };
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read(" ~"), "");
  EXPECT_EQ(read(std::string(200, 'x')), "");
  EXPECT_NE(read(std::string(201, 'x')), "");
  for (const std::string& text : {std::string("a\0b", 3), std::string("\x1f"), std::string("\x7f"),
                                  std::string("\n"), std::string("\xc3\xa9")}) {
    EXPECT_EQ(read(text), "p holds a character that is not printable ASCII");
  }
}

}  // namespace
}  // namespace vethgate
