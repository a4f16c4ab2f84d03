// Captures of real kernels for tests, and edits of them: a message taken apart into its attributes,
// one of them changed, and put together again. No product code parses here: the walker below
// guesses what is nested by trying, so that it shares no mistake with the decoders that it tests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "render/policy.hpp"
#include "verifier/capture.hpp"
#include "verifier/verify.hpp"

namespace vethgate::test {

struct Attribute {
  std::uint16_t type = 0;  // with its NLA_F_* bits
  Bytes value;             // empty when nested
  bool nested = false;
  std::vector<Attribute> children;
};
using Attributes = std::vector<Attribute>;

// A file of captures/, with the policy and the link that its namespace was made from.
struct Fixture {
  Policy policy;
  Link link;
  Capture capture;
};
[[nodiscard]] std::string capturesFolder();
// `name` is the file's without ".json": "contained-small-6.1".
[[nodiscard]] Fixture fixture(const std::string& name);
// From files elsewhere, by their paths.
[[nodiscard]] Fixture readFixture(const std::string& policy, const std::string& link,
                                  const std::string& capture);

// The same with a second reading that repeats the first, as a namespace at rest gives it, and with
// no programs on its links.
[[nodiscard]] Fixture readTwice(Fixture fixture);
// Without the second reading: an edit of the first one is then all that there is.
[[nodiscard]] Fixture readOnce(Fixture fixture);

[[nodiscard]] Verdict judged(const Fixture& fixture);
// All reasons, one a line.
[[nodiscard]] std::string reasonsOf(const Verdict& verdict);

[[nodiscard]] Attributes parseAttributes(ByteView bytes);
[[nodiscard]] Bytes serialize(const Attributes& attributes);

// "4/1[3]/2": the attribute of type 2 in the fourth attribute of type 1 in the one of type 4.
// Throws std::out_of_range when there is none.
[[nodiscard]] Attribute& at(Attributes& attributes, std::string_view path);
[[nodiscard]] Attributes& listOf(Attributes& attributes,
                                 std::string_view path);  // the one it is in
void remove(Attributes& attributes, std::string_view path);

// Takes message `index` of the dump apart, lets `change` have its attributes, and puts it together.
void edit(Capture& capture, DumpId id, std::size_t index,
          const std::function<void(Attributes&)>& change);
// Overwrites bytes of the message as they are; offsets count from nlmsghdr.
void poke(Capture& capture, DumpId id, std::size_t index, std::size_t offset, const Bytes& bytes);

[[nodiscard]] std::vector<RawMessage>& messages(Capture& capture, DumpId id);

[[nodiscard]] Bytes be16(std::uint16_t value);
[[nodiscard]] Bytes be32(std::uint32_t value);
[[nodiscard]] Bytes be64(std::uint64_t value);
[[nodiscard]] Bytes le32(std::uint32_t value);
[[nodiscard]] Bytes text(std::string_view value);  // with its NUL
[[nodiscard]] Attribute leaf(std::uint16_t type, Bytes value);

}  // namespace vethgate::test
