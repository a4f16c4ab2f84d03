// Strict JSON documents: what every reader of a policy, plan, link or capture starts from.
// Refused with ExitCode::kBadInput: duplicate keys, depth over kMaxDepth, a byte order mark,
// trailing text, numbers that are not integers within 64 bits, and a text over the caller's limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"

namespace vethgate {

inline constexpr std::size_t kMaxDocumentBytes = std::size_t{4} << 20;
inline constexpr std::size_t kMaxDepth = 16;

// The part of parseStrictly() that looks at the bytes alone.
void refuseUnreadable(std::string_view text, const std::string& what, std::size_t maxBytes);

// Drives `events` (nlohmann's SAX interface) over a whole text: its size, a byte order mark and a
// NUL are refused here, since the lexer would pass over them; what follows the document is a
// parse_error().
template <class Events>
void parseStrictly(std::string_view text, const std::string& what, std::size_t maxBytes,
                   Events& events) {
  refuseUnreadable(text, what, maxBytes);
  Json::sax_parse(text.begin(), text.end(), &events);
}

// `what` names the document in messages ("policy", "plan", …).
[[nodiscard]] Json parseDocument(std::string_view text, const std::string& what,
                                 std::size_t maxBytes = kMaxDocumentBytes);

// A list whose elements are handed out one by one, each as soon as it is complete, and not kept: a
// document of 30,000 rules then takes the memory of one.
struct StreamedList {
  std::string_view path;  // by its keys, e.g. "iptables.v4"
  std::function<void(const Json& element, std::size_t index)> take;
};
// The same checks; the lists of `streamed` stand empty in the result. What `take` refuses of an
// element comes before whatever is wrong behind it.
[[nodiscard]] Json parseDocument(std::string_view text, const std::string& what,
                                 std::size_t maxBytes, std::span<const StreamedList> streamed);

// Keys sorted, no white space: the form that digests are taken of.
[[nodiscard]] std::string canonicalText(const Json& document);

// Hands out each member of one object once; finish() refuses members that nobody asked for.
// Every message names the path, e.g. `policy.allow[2].ports`.
class ObjectReader {
 public:
  ObjectReader(const Json& value, std::string path);

  [[nodiscard]] const Json& required(const char* key);
  [[nodiscard]] const Json* optional(const char* key);  // nullptr when absent
  void finish() const;

  [[nodiscard]] std::string pathOf(const char* key) const;

 private:
  const Json& value_;
  std::string path_;
  std::vector<const char*> taken_;
};

// Typed access; `path` is used in the refusal only.
[[nodiscard]] const std::string& asString(const Json& value, const std::string& path);
[[nodiscard]] bool asBool(const Json& value, const std::string& path);
[[nodiscard]] std::uint64_t asInteger(const Json& value, const std::string& path, std::uint64_t min,
                                      std::uint64_t max);
[[nodiscard]] const Json& asArray(const Json& value, const std::string& path);
// Printable ASCII, at most 200 characters: the rule for every free text.
[[nodiscard]] const std::string& asText(const Json& value, const std::string& path);

}  // namespace vethgate
