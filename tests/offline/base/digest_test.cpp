// SHA-256 against published vectors, and hex both ways.
#include "base/digest.hpp"

#include <gtest/gtest.h>

namespace vethgate {
namespace {

// FIPS 180-2, appendix B.
TEST(Sha256, agreesWithThePublishedVectors) {
  EXPECT_EQ(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256Hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, isTheSameInPieces) {
  Sha256 hash;
  hash.update("a");
  hash.update("");
  hash.update(Bytes{'b', 'c'});
  EXPECT_EQ(hash.hex(), sha256Hex("abc"));
}

TEST(Hex, goesBothWays) {
  const Bytes bytes{0x00, 0x0f, 0xa5, 0xff};
  EXPECT_EQ(toHex(bytes), "000fa5ff");
  EXPECT_EQ(fromHex("000fa5ff"), bytes);
  EXPECT_EQ(fromHex(""), Bytes{});
}

TEST(Hex, refusesWhatToHexDoesNotWrite) {
  for (const std::string& text :
       {std::string("0"), std::string("0g"), std::string("FF"), std::string(" 0"),
        std::string("0x"), std::string("00\0", 3), std::string("0\0", 2)}) {
    EXPECT_FALSE(fromHex(text)) << text;
  }
}

TEST(IsSha256Hex, takesSixtyFourLowerCaseDigits) {
  EXPECT_TRUE(isSha256Hex(sha256Hex("")));
  EXPECT_FALSE(isSha256Hex(""));
  EXPECT_FALSE(isSha256Hex(std::string(63, 'a')));
  EXPECT_FALSE(isSha256Hex(std::string(65, 'a')));
  EXPECT_FALSE(isSha256Hex(std::string(64, 'A')));
  EXPECT_FALSE(isSha256Hex(std::string(63, 'a') + "g"));
}

}  // namespace
}  // namespace vethgate
