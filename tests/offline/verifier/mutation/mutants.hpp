// Every single change of a capture, one at a time: of each byte, attribute, message and dump.
// The capture is changed in place, shown, and put back: a mutant costs what judging it costs.
// Not among the changes, since netlink gives it no meaning: the order of attributes of different
// types within one level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "verifier/capture.hpp"

namespace vethgate::test {

enum class Change : std::uint8_t {
  // Of any byte.
  kBit,  // one bit flipped
  // Of one attribute; the lengths around it are right.
  kRemove,
  kDuplicate,
  kRetype,    // the type one up or one down
  kFlags,     // NLA_F_NESTED or NLA_F_NET_BYTEORDER toggled
  kLengthen,  // one or four bytes more, all zeros or all ones
  kShorten,   // cut at each byte; of a nested one its payload, of a message all its attributes
  kExchange,  // with the next one of its own type
  kUnpad,     // without the padding behind the last one of a level
  kAdd,       // one more at either end of a level, of type 0 or of one that nothing has
  // Of one message.
  kCut,  // at each byte, nlmsg_len untouched
  kDrop,
  kDouble,     // beside itself, or at the end
  kSwap,       // with the next, or with the last
  kMove,       // to each other dump
  kInterrupt,  // NLM_F_DUMP_INTR
  // Of the document.
  kDocument,
};
inline constexpr std::size_t kChangeCount = 17;
[[nodiscard]] std::string_view changeName(Change change);

inline constexpr auto kNoDump = static_cast<DumpId>(kDumpCount);

// Where a message stands. Messages of a dump belong to lists, such as the rules of a chain.
enum class Standing : std::uint8_t {
  kInner,
  kLast,  // of its list
  kEnd,   // NLMSG_DONE, of no list
};

struct Place {
  DumpId dump = kNoDump;    // none: of the document
  std::size_t message = 0;  // its number in the dump
  Standing standing = Standing::kInner;
};

struct Mutant {
  Change change;
  // "filters.egress/TCA_OPTIONS/TCA_FLOWER_FLAGS". Of a message whose last attributes are cut off
  // so that nothing of another one is missing, the first that is: "links/IFLA_MAP:onward". Of two
  // messages: "nft.rules:one list", "nft.rules:two lists", "nft.rules:end" when one of them is
  // none.
  std::string_view path;
  std::size_t position = 0;  // kBit: byte within the place; elsewhere the variant
  unsigned bit = 0;          // kBit
  Place place = {};
};
using Show = std::function<void(const Mutant&)>;
[[nodiscard]] std::string describe(const Mutant& mutant);

// Calls `show` with the capture in its changed state, for every mutant; only of the first reading
// and all that is read once, or only of the second reading.
enum class Part : std::uint8_t { kFirst, kAgain };
void forEachMutant(Capture& capture, Part part, const Show& show);

// Changes that only the text of the document can have. All of them must be refused when it is read.
struct TextMutant {
  std::string name;
  std::string text;
};
[[nodiscard]] std::vector<TextMutant> textMutants(const Capture& capture);

}  // namespace vethgate::test
