// The multiplexed output of a container, cut anywhere.
#include "docker/engine/frames.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace vethgate::docker {
namespace {

std::string frame(char stream, const std::string& text) {
  const auto size = static_cast<std::uint32_t>(text.size());
  std::string bytes{stream, 0, 0, 0};
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    bytes += static_cast<char>(size >> shift & 0xff);
  }
  return bytes + text;
}

std::string refusal(const std::string& bytes) {
  try {
    FrameReader reader(8, 4);
    reader.take(bytes);
    static_cast<void>(reader.finish());
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

void expectRefused(const std::string& bytes, const std::string& part) {
  EXPECT_NE(refusal(bytes).find(part), std::string::npos) << refusal(bytes) << " for " << part;
}

RC_GTEST_PROP(Frames, AreTheSameHoweverTheyArrive, ()) {
  const auto texts = *rc::gen::container<std::vector<std::string>>(rc::gen::string<std::string>());
  std::string stream;
  Output expected;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const bool out = *rc::gen::arbitrary<bool>();
    stream += frame(out ? 1 : 2, texts[i]);
    (out ? expected.out : expected.err) += texts[i];
  }
  FrameReader reader(1 << 20, 1 << 20);
  for (std::size_t at = 0; at < stream.size();) {
    const auto piece = *rc::gen::inRange<std::size_t>(1, 20);
    reader.take(std::string_view(stream).substr(at, piece));
    at += piece;
  }
  const Output found = reader.finish();
  RC_ASSERT(found.out == expected.out);
  RC_ASSERT(found.err == expected.err);
}

RC_GTEST_PROP(Frames, AreRefusedWhenTheyEndEarly, ()) {
  const std::string stream = frame(1, "abc") + frame(2, "xy");
  const auto cut = *rc::gen::inRange<std::size_t>(1, stream.size());
  RC_ASSERT(refusal(stream).empty());
  // Between two frames is an end like any other.
  RC_ASSERT(refusal(stream.substr(0, cut)).empty() == (cut == frame(1, "abc").size()));
}

TEST(Frames, EmptyOnesSayNothing) {
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(refusal(frame(1, "") + frame(2, "")), "");
}

TEST(Frames, KeepWithinTheirLimits) {
  EXPECT_EQ(refusal(frame(1, "12345678") + frame(2, "1234")), "");
  expectRefused(frame(1, "123456789"), "stdout is longer than the 8 bytes");
  expectRefused(frame(1, "12345678") + frame(1, "9"), "stdout is longer than the 8 bytes");
  expectRefused(frame(2, "12345"), "stderr is longer than the 4 bytes");
  expectRefused(std::string("\1\0\0\0\xff\xff\xff\xff", 8), "stdout is longer than the 8 bytes");
}

TEST(Frames, RefuseWhatIsNone) {
  expectRefused(frame(0, "a"), "begins with 00000000");
  expectRefused(frame(3, "a"), "begins with 03000000");
  expectRefused(std::string("\1\1\0\0\0\0\0\0", 8), "begins with 01010000");
  expectRefused(std::string("\1\0\0\1\0\0\0\0", 8), "begins with 01000001");
  expectRefused("{\"verdict\":\"contained\"}", "begins with 7b227665");
}

}  // namespace
}  // namespace vethgate::docker
