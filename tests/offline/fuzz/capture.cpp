// A capture file: whatever it holds, it is judged or refused, and it is never contained unless it
// reads back as the namespace that it was made from.
#include "verifier/capture.hpp"

#include "target.hpp"
#include "tests/offline/verifier/support.hpp"

VETHGATE_FUZZ_JSON()

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vethgate;
  static const test::Fixture kGood = test::fixture("contained-tiny-6.1");
  static const std::optional<std::string> kReadback = test::judged(kGood).readback;
  fuzz::refusing([&] {
    const Verdict verdict =
        test::judged({kGood.policy, kGood.link, readCapture(fuzz::textOf(data, size))});
    fuzz::require(verdict.reasons.empty() == (verdict.code == ExitCode::kDone));
    fuzz::require(verdict.code != ExitCode::kDone || verdict.readback == kReadback);
  });
  return 0;
}
