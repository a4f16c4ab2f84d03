// It must not know what a rule is made of.
#include "applier/nft_encoding.hpp"

namespace vethgate {

void putValue(MessageBuilder& builder, std::uint16_t attribute, ByteView value) {
  const auto data = builder.nest(attribute);
  builder.put(NFTA_DATA_VALUE, value);
}

void putLoadProtocol(MessageBuilder& builder) {
  putExpression(builder, "meta", [&] {
    builder.putU32Be(NFTA_META_KEY, NFT_META_L4PROTO);
    builder.putU32Be(NFTA_META_DREG, NFT_REG_1);
  });
}

void putLoadPayload(MessageBuilder& builder, nft_payload_bases base, std::uint32_t offset,
                    std::uint32_t length) {
  putExpression(builder, "payload", [&] {
    builder.putU32Be(NFTA_PAYLOAD_DREG, NFT_REG_1);
    builder.putU32Be(NFTA_PAYLOAD_BASE, base);
    builder.putU32Be(NFTA_PAYLOAD_OFFSET, offset);
    builder.putU32Be(NFTA_PAYLOAD_LEN, length);
  });
}

void putMask(MessageBuilder& builder, ByteView mask) {
  const std::array<std::uint8_t, 16> zeros{};
  putExpression(builder, "bitwise", [&] {
    builder.putU32Be(NFTA_BITWISE_SREG, NFT_REG_1);
    builder.putU32Be(NFTA_BITWISE_DREG, NFT_REG_1);
    builder.putU32Be(NFTA_BITWISE_LEN, static_cast<std::uint32_t>(mask.size()));
    putValue(builder, NFTA_BITWISE_MASK, mask);
    putValue(builder, NFTA_BITWISE_XOR, ByteView(zeros).first(mask.size()));
  });
}

void putCompare(MessageBuilder& builder, nft_cmp_ops op, ByteView value) {
  putExpression(builder, "cmp", [&] {
    builder.putU32Be(NFTA_CMP_SREG, NFT_REG_1);
    builder.putU32Be(NFTA_CMP_OP, op);
    putValue(builder, NFTA_CMP_DATA, value);
  });
}

void putEquals(MessageBuilder& builder, ByteView value) { putCompare(builder, NFT_CMP_EQ, value); }

void putEquals(MessageBuilder& builder, std::uint8_t value) {
  putEquals(builder, ByteView(&value, 1));
}

void putPrefix(MessageBuilder& builder, nft_payload_bases base, std::uint32_t offset,
               const Prefix& prefix) {
  const ByteView address(prefix.base().bytes());
  if (prefix.length() % 8 == 0) {
    const std::uint32_t length = prefix.length() / 8;
    putLoadPayload(builder, base, offset, length);
    putEquals(builder, address.first(length));
    return;
  }
  const std::uint32_t length = prefix.base().bits() / 8;
  std::array<std::uint8_t, 16> mask{};
  for (unsigned bit = 0; bit < prefix.length(); ++bit) {
    mask.at(bit / 8) = static_cast<std::uint8_t>(mask.at(bit / 8) | 0x80U >> bit % 8);
  }
  putLoadPayload(builder, base, offset, length);
  putMask(builder, ByteView(mask).first(length));
  putEquals(builder, address.first(length));
}

void putCounter(MessageBuilder& builder) {
  putExpression(builder, "counter", [&] {
    builder.putU64Be(NFTA_COUNTER_BYTES, 0);
    builder.putU64Be(NFTA_COUNTER_PACKETS, 0);
  });
}

void putVerdict(MessageBuilder& builder, std::uint32_t verdict) {
  putExpression(builder, "immediate", [&] {
    builder.putU32Be(NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
    const auto data = builder.nest(NFTA_IMMEDIATE_DATA);
    const auto nested = builder.nest(NFTA_DATA_VERDICT);
    builder.putU32Be(NFTA_VERDICT_CODE, verdict);
  });
}

}  // namespace vethgate
