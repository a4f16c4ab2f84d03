// What lines of a record and lines of a log have in common: words of the form key=value. It must
// not know which line it reads.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vethgate::evidence {

// Sentences, each naming its place. Nothing stops at the first.
using Problems = std::vector<std::string>;

using Fields = std::map<std::string, std::string, std::less<>>;

// The words of a line, which one or more spaces separate; none where a byte is not printable ASCII.
[[nodiscard]] std::vector<std::string_view> wordsOf(std::string_view line);

// Of `words`, each field of `keys`, once and with a value. Whatever else is there, missing, empty
// or repeated goes to `problems`; a field that stands twice has no value then, since neither is
// more right. `where` begins each sentence.
[[nodiscard]] Fields readFields(const std::vector<std::string_view>& words,
                                std::span<const std::string_view> keys, const std::string& where,
                                Problems& problems);

// The value of `key`, empty where there is none.
[[nodiscard]] const std::string& valueOf(const Fields& fields, std::string_view key);

// Calls `each` with every line, without its newline, and its number from 1.
void forEachLine(std::string_view text,
                 const std::function<void(std::string_view line, std::size_t number)>& each);

}  // namespace vethgate::evidence
