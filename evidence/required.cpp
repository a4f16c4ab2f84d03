#include "evidence/required.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.hpp"
#include "evidence/fields.hpp"
#include "evidence/required_list.hpp"

namespace vethgate::evidence {
namespace {

constexpr std::array<std::string_view, 5> kOutcomes = {"connected", "refused", "never-started",
                                                       "launch-refused", kHeld};

[[noreturn]] void defect(std::size_t line, const std::string& what) {
  throw Failure(ExitCode::kDefect,
                "line " + std::to_string(line) + " of the required cases: " + what);
}

[[noreturn]] void standsTwice(std::size_t line, const std::string& id, const std::string& kernel) {
  defect(line, id + " on " + kernel + " stands twice");
}

std::vector<std::string> kernelsOf(std::string_view text) {
  std::vector<std::string> kernels;
  while (true) {
    kernels.emplace_back(text.substr(0, text.find(',')));
    if (kernels.back().size() == text.size()) {
      return kernels;
    }
    text.remove_prefix(kernels.back().size() + 1);
  }
}

bool isKernel(std::string_view kernel) {
  const std::size_t dot = kernel.find('.');
  return kernel.find_first_not_of("0123456789.") == std::string_view::npos && dot != 0 &&
         dot != std::string_view::npos && dot + 1 < kernel.size() &&
         kernel.find('.', dot + 1) == std::string_view::npos;
}

}  // namespace

bool isOutcome(std::string_view word) {
  return std::ranges::find(kOutcomes, word) != kOutcomes.end();
}

std::string rowOf(std::string_view test) {
  const std::size_t dot = test.find('.');
  return std::string(dot == std::string_view::npos ? test : test.substr(0, test.find('/', dot)));
}

std::string seriesOf(std::string_view release) {
  const std::size_t dot = release.find('.');
  return std::string(dot == std::string_view::npos
                         ? release
                         : release.substr(0, release.find_first_of(".-+", dot + 1)));
}

std::vector<RequiredCase> readRequired(std::string_view text) {
  std::vector<RequiredCase> cases;
  std::set<std::pair<std::string, std::string>> seen;
  forEachLine(text, [&](std::string_view line, std::size_t number) {
    const std::string_view content = line.substr(0, line.find('#'));
    if (content.empty()) {
      return;
    }
    const std::vector<std::string_view> words = wordsOf(content);
    if (words.size() < 3 || words.size() > 4) {
      defect(number, "expected OUTCOME KERNELS ID [TEST]");
    }
    if (!isOutcome(words[0])) {
      defect(number, "\"" + std::string(words[0]) + "\" is not an outcome");
    }
    for (const std::string& kernel : kernelsOf(words[1])) {
      if (!isKernel(kernel)) {
        defect(number, "\"" + kernel + "\" is not a kernel such as 6.1");
      }
      const std::string id(words[2]);
      if (!seen.emplace(id, kernel).second) {
        standsTwice(number, id, kernel);
      }
      cases.push_back({.id = id,
                       .outcome = std::string(words[0]),
                       .kernel = kernel,
                       .test = std::string(words.back())});
    }
  });
  if (cases.empty()) {
    throw Failure(ExitCode::kDefect, "the list of required cases is empty");
  }
  return cases;
}

std::vector<RequiredCase> requiredCases() { return readRequired(kRequiredList); }

}  // namespace vethgate::evidence
