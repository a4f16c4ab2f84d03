// A link document: what is read is written as the same link again.
#include "render/link.hpp"

#include "base/json.hpp"
#include "target.hpp"

VETHGATE_FUZZ_JSON()

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vethgate;
  fuzz::refusing([&] {
    const Link link = readLink(parseDocument(fuzz::textOf(data, size), "link"), "link");
    fuzz::require(readLink(parseDocument(canonicalText(linkDocument(link)), "link"), "link") ==
                  link);
  });
  return 0;
}
