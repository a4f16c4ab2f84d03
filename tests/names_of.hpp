// The names in a list of a sweep's report, for the tests of passes and for those on real engines.
#pragma once

#include <string>
#include <vector>

namespace vethgate::test {

template <class Entry>
std::vector<std::string> namesOf(const std::vector<Entry>& entries) {
  std::vector<std::string> names;
  for (const Entry& entry : entries) {
    names.push_back(entry.name);
  }
  return names;
}

}  // namespace vethgate::test
