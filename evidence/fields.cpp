#include "evidence/fields.hpp"

#include <algorithm>
#include <set>

namespace vethgate::evidence {
namespace {

bool isPrintable(char c) { return c >= 0x20 && c <= 0x7e; }

}  // namespace

std::vector<std::string_view> wordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  if (!std::ranges::all_of(line, isPrintable)) {
    return words;
  }
  while (true) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos) {
      return words;
    }
    line.remove_prefix(begin);
    words.push_back(line.substr(0, line.find(' ')));
    line.remove_prefix(words.back().size());
  }
}

Fields readFields(const std::vector<std::string_view>& words,
                  std::span<const std::string_view> keys, const std::string& where,
                  Problems& problems) {
  Fields fields;
  std::set<std::string, std::less<>> seen;
  const auto say = [&](std::string_view key, const char* what) {
    problems.push_back(where + ": the field \"" + std::string(key) + "\" is " + what);
  };
  for (const std::string_view word : words) {
    const std::size_t at = word.find('=');
    if (at == std::string_view::npos) {
      problems.push_back(where + ": \"" + std::string(word) + "\" is not of the form key=value");
      continue;
    }
    const std::string key(word.substr(0, at));
    const std::string_view value = word.substr(at + 1);
    if (std::ranges::find(keys, key) == keys.end()) {
      say(key, "unknown");
    } else if (!seen.insert(key).second) {
      say(key, "repeated");
      fields.erase(key);
    } else if (value.empty()) {
      say(key, "empty");
    } else {
      fields.emplace(key, value);
    }
  }
  for (const std::string_view key : keys) {
    if (!seen.contains(key)) {
      say(key, "missing");
    }
  }
  return fields;
}

const std::string& valueOf(const Fields& fields, std::string_view key) {
  static const std::string kNone;
  const auto found = fields.find(key);
  return found == fields.end() ? kNone : found->second;
}

void forEachLine(std::string_view text,
                 const std::function<void(std::string_view line, std::size_t number)>& each) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    each(line, number);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
}

}  // namespace vethgate::evidence
