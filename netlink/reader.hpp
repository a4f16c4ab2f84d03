// The accounting reader: decodes attributes so that nothing in a message can go unseen.
// Each message type has a table (attribute, name, kind, size, nested table). The reader hands out each
// attribute once. An attribute that the table lacks, that stands twice, has another length or other
// NLA_F_* flags than the table says, padding that is not zero, bytes left over, or an attribute that
// nobody took: each refuses the whole readback with Failure(kRefused), naming its path, e.g.
// `RTM_NEWTFILTER/TCA_OPTIONS/TCA_FLOWER_ACT[2]`.
// Sources: linux/netlink.h (nlattr), the kernel headers that each table names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"

namespace vethgate {

enum class AttributeKind : std::uint8_t {
  kFlag,    // no payload
  kU8,
  kU16,     // host order
  kU16Be,
  kU32,
  kU32Be,
  kU64,
  kU64Be,
  kString,  // NUL-terminated, exactly one NUL, at its end
  kBytes,   // `minimum`..`maximum` bytes
  kNested,  // `table` describes the payload
};

struct AttributeTable;

struct AttributeSpec {
  std::uint16_t type;
  const char* name;
  AttributeKind kind;
  std::uint16_t minimum = 0;  // kBytes, kString (without the NUL): payload size
  std::uint16_t maximum = 0;
  const AttributeTable* table = nullptr;
  std::uint16_t flags = 0;      // exactly these of NLA_F_NESTED, NLA_F_NET_BYTEORDER
  bool repeats = false;         // may stand more than once (NFTA_LIST_ELEM)
};

struct AttributeTable {
  const char* name;
  std::span<const AttributeSpec> specs;
  // When set, the payload is a list whose attribute types count 1, 2, 3, … (TCA_FLOWER_ACT); every
  // element follows this one spec.
  const AttributeSpec* element = nullptr;
};

class AttributeReader {
 public:
  // `payload` starts at the first attribute and must outlive the reader; `parent` gives the path.
  AttributeReader(const AttributeTable& table, ByteView payload, std::string_view parent);

  // The value of an attribute that must be / may be there. Each call takes the attribute.
  [[nodiscard]] std::uint8_t u8(std::uint16_t type);
  [[nodiscard]] std::uint16_t u16(std::uint16_t type);  // kU16 and kU16Be, returned in host order
  [[nodiscard]] std::uint32_t u32(std::uint16_t type);
  [[nodiscard]] std::uint64_t u64(std::uint16_t type);
  [[nodiscard]] std::string_view string(std::uint16_t type);
  [[nodiscard]] ByteView bytes(std::uint16_t type);
  [[nodiscard]] AttributeReader nested(std::uint16_t type);
  [[nodiscard]] bool flag(std::uint16_t type);  // true when it was there

  [[nodiscard]] bool has(std::uint16_t type) const noexcept;  // there, and not yet taken
  [[nodiscard]] std::optional<std::uint8_t> maybeU8(std::uint16_t type);
  [[nodiscard]] std::optional<std::uint16_t> maybeU16(std::uint16_t type);
  [[nodiscard]] std::optional<std::uint32_t> maybeU32(std::uint16_t type);
  [[nodiscard]] std::optional<std::uint64_t> maybeU64(std::uint16_t type);
  [[nodiscard]] std::optional<std::string_view> maybeString(std::uint16_t type);
  [[nodiscard]] std::optional<ByteView> maybeBytes(std::uint16_t type);
  [[nodiscard]] std::optional<AttributeReader> maybeNested(std::uint16_t type);

  // All elements of a repeating attribute or of a counted list, in order.
  [[nodiscard]] std::vector<AttributeReader> elements(std::uint16_t type);
  [[nodiscard]] std::vector<AttributeReader> elements();

  // Takes an attribute whose value carries no meaning for the verdict; `reason` documents why.
  void ignore(std::uint16_t type, const char* reason);

  // Refuses what nobody took. A reader must be finished, or its owner has not accounted for it.
  void finish() const;

  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::string pathOf(std::uint16_t type) const;
  // Throws Failure(kRefused) "<path>: <problem>".
  [[noreturn]] void refuse(const std::string& problem) const;
  [[noreturn]] void refuse(std::uint16_t type, const std::string& problem) const;

 private:
  struct Slot {
    const AttributeSpec* spec;
    ByteView payload;
    bool taken;
  };
  [[nodiscard]] Slot* find(std::uint16_t type) noexcept;
  [[nodiscard]] Slot& take(std::uint16_t type);

  const AttributeTable* table_;
  std::string path_;
  std::vector<Slot> slots_;
};

}  // namespace vethgate
