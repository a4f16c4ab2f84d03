// A plan: what is read is written as the same plan again, and its messages can be built or are
// refused. The digest is mended, or nothing would come past it.
#include "render/plan.hpp"

#include <nlohmann/json.hpp>
#include <string>

#include "applier/steps.hpp"
#include "base/digest.hpp"
#include "base/json.hpp"
#include "target.hpp"

VETHGATE_FUZZ_JSON()

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace vethgate;
  fuzz::refusing([&] { static_cast<void>(readPlan(fuzz::textOf(data, size))); });
  fuzz::refusing([&] {
    Json document = parseDocument(fuzz::textOf(data, size), "plan");
    if (!document.is_object()) {
      return;
    }
    document.erase("digest");
    document["digest"] = sha256Hex(canonicalText(document));
    const Plan plan = readPlan(canonicalText(document));
    fuzz::require(readPlan(planText(plan)) == plan);
    static_cast<void>(buildSteps(plan));
  });
  return 0;
}
