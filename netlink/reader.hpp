// The accounting reader: decodes attributes so that nothing in a message can go unseen.
// Each message type has a table (attribute, name, kind, size, nested table). The reader hands out
// each attribute once. An attribute that the table lacks, that stands twice, has another length or
// other NLA_F_* flags than the table says, padding that is not zero, bytes left over, or an
// attribute that nobody took or that was taken twice: each refuses the whole readback with
// Failure(kRefused), naming its path, e.g. `RTM_NEWTFILTER/TCA_OPTIONS/TCA_FLOWER_ACT[2]`. It knows
// no message type, and nothing of policies or plans. Sources: linux/netlink.h (nlattr), the kernel
// headers that each table names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"

namespace vethgate {

enum class AttributeKind : std::uint8_t {
  kFlag,  // no payload
  kU8,
  kU16,  // host order
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
  std::uint16_t type;  // without NLA_F_* bits
  const char* name;
  AttributeKind kind;
  std::uint16_t minimum = 0;  // kBytes, kString (without the NUL): payload size
  std::uint16_t maximum = 0;
  const AttributeTable* table = nullptr;
  std::uint16_t flags = 0;  // exactly these of NLA_F_NESTED, NLA_F_NET_BYTEORDER
  bool repeats = false;     // may stand more than once (NFTA_LIST_ELEM)
};

// `maximum` for payloads that only the message bounds.
inline constexpr std::uint16_t kAnySize = std::numeric_limits<std::uint16_t>::max();

struct AttributeTable {
  const char* name;
  std::span<const AttributeSpec> specs;
  // When set, the payload is a list whose attribute types count 1, 2, 3, … (TCA_FLOWER_ACT); every
  // element follows this one spec, which is kNested.
  const AttributeSpec* element = nullptr;
};

// NOTE: the constructor checks everything that the table says of this level; nested levels are
// checked when they are taken. Nothing is copied: a reader, a nested one too, refers to the table
// and to the bytes of the message, and to no other reader, so it may outlive the reader that it
// came from but neither the message nor the table. Every reader must be finished: one that dies
// otherwise, except while an exception unwinds, has left something unseen, and aborts the process.
class AttributeReader {
 public:
  // `payload` starts at the first attribute and must outlive the reader; `parent` gives the path.
  AttributeReader(const AttributeTable& table, ByteView payload, std::string_view parent);
  ~AttributeReader();
  AttributeReader(AttributeReader&& other) noexcept;
  AttributeReader& operator=(AttributeReader&&) = delete;
  AttributeReader(const AttributeReader&) = delete;
  AttributeReader& operator=(const AttributeReader&) = delete;

  // The value of an attribute that must be / may be there. Each call takes the attribute. Asking
  // with another kind than the table's is Failure(kDefect).
  [[nodiscard]] std::uint8_t u8(std::uint16_t type);
  [[nodiscard]] std::uint16_t u16(std::uint16_t type);  // kU16 and kU16Be, returned in host order
  [[nodiscard]] std::uint32_t u32(std::uint16_t type);
  [[nodiscard]] std::uint64_t u64(std::uint16_t type);
  [[nodiscard]] std::string_view string(std::uint16_t type);
  [[nodiscard]] ByteView bytes(std::uint16_t type);
  [[nodiscard]] AttributeReader nested(std::uint16_t type);
  // A kBytes attribute of which another one says what it nests (NFTA_EXPR_DATA, by NFTA_EXPR_NAME):
  // read by `table`, its path with `content`, a literal, behind it: "NFTA_EXPR_DATA(cmp)".
  [[nodiscard]] AttributeReader nestedAs(std::uint16_t type, const AttributeTable& table,
                                         const char* content);
  [[nodiscard]] bool flag(std::uint16_t type);  // true when it was there

  [[nodiscard]] bool has(std::uint16_t type) const noexcept;  // there, and not yet taken
  [[nodiscard]] std::optional<std::uint8_t> maybeU8(std::uint16_t type);
  [[nodiscard]] std::optional<std::uint16_t> maybeU16(std::uint16_t type);
  [[nodiscard]] std::optional<std::uint32_t> maybeU32(std::uint16_t type);
  [[nodiscard]] std::optional<std::uint64_t> maybeU64(std::uint16_t type);
  [[nodiscard]] std::optional<std::string_view> maybeString(std::uint16_t type);
  [[nodiscard]] std::optional<ByteView> maybeBytes(std::uint16_t type);
  [[nodiscard]] std::optional<AttributeReader> maybeNested(std::uint16_t type);

  // All elements of a repeating nested attribute or of a counted list, in order; none is an empty
  // vector. Their paths count from 1.
  [[nodiscard]] std::vector<AttributeReader> elements(std::uint16_t type);
  [[nodiscard]] std::vector<AttributeReader> elements();

  // Takes an attribute, present or not, whose value carries no meaning for the verdict; `reason`
  // documents why. Its length and flags are checked all the same; what it nests is not.
  void ignore(std::uint16_t type, const char* reason);
  // The same for an attribute that must be there.
  void discard(std::uint16_t type, const char* reason);

  // Refuses what nobody took. A reader must be finished, or its owner has not accounted for it.
  void finish();

  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::string pathOf(std::uint16_t type) const;
  // Throws Failure(kRefused) "<path>: <problem>".
  [[noreturn]] void refuse(const std::string& problem) const;
  [[noreturn]] void refuse(std::uint16_t type, const std::string& problem) const;

 private:
  struct Slot {
    const AttributeSpec* spec;
    const std::uint8_t* data;
    std::uint16_t size;
    bool taken;
    [[nodiscard]] ByteView payload() const { return {data, size}; }
  };

  // Most levels hold a handful of attributes; a heap allocation for each would be half the cost.
  class Slots {
   public:
    Slots() = default;
    Slots(Slots&& other) noexcept;
    Slots(const Slots&) = delete;
    Slots& operator=(const Slots&) = delete;
    Slots& operator=(Slots&&) = delete;
    ~Slots() = default;
    void add(const Slot& slot);
    [[nodiscard]] std::span<Slot> all() {
      return {far_.empty() ? near_.data() : far_.data(), size_};
    }
    [[nodiscard]] std::span<const Slot> all() const {
      return {far_.empty() ? near_.data() : far_.data(), size_};
    }

   private:
    static constexpr std::size_t kNear = 12;
    std::array<Slot, kNear> near_;  // only the first size_ are ever read
    std::vector<Slot> far_;         // all of them, once they are more than kNear
    std::size_t size_ = 0;
  };

  // One step of a path; kept as parts, since the text is needed only in a refusal.
  struct Step {
    const char* name;     // nullptr: only the index
    std::uint32_t index;  // 0: none
    const char* content = nullptr;
  };
  static constexpr std::size_t kMaxDepth = 8;

  AttributeReader(const AttributeReader& parent, Step step, const AttributeTable& table,
                  ByteView payload);

  void parse(ByteView payload);
  void check(const AttributeSpec& spec, std::uint16_t header, ByteView payload,
             std::size_t position) const;
  [[nodiscard]] const AttributeSpec* specOf(std::uint16_t type) const noexcept;
  [[nodiscard]] Slot* find(std::uint16_t type);
  [[nodiscard]] Slot& take(std::uint16_t type);
  [[nodiscard]] AttributeReader descend(const Slot& slot, std::uint32_t index) const;
  void expectKind(const Slot& slot, AttributeKind kind, AttributeKind alternative) const;
  template <class Value>
  [[nodiscard]] Value integer(const Slot& slot, AttributeKind host, AttributeKind network) const;
  [[noreturn]] void refuseAt(const AttributeSpec& spec, std::size_t position,
                             const std::string& problem) const;

  const AttributeTable* table_;
  std::string root_;
  std::array<Step, kMaxDepth> steps_;  // only the first depth_ are ever read
  std::size_t depth_ = 0;
  int exceptions_;  // in flight when this reader was made
  bool finished_ = false;
  Slots slots_;
};

}  // namespace vethgate
