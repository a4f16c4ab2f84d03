// Says for the record of evidence that a row was held: every instance of one test, by its name
// without parameters, ran to its end and passed. So no test needs a line of its own for that.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/live/fixture/evidence.hpp"

namespace vethgate::live {

class HeldListener : public testing::EmptyTestEventListener {
 public:
  // Of all that is registered, so that a filter which leaves instances out leaves the row unsaid.
  void OnTestProgramStart(const testing::UnitTest& unit) override {
    for (int i = 0; i < unit.total_test_suite_count(); ++i) {
      const testing::TestSuite& suite = *unit.GetTestSuite(i);
      for (int j = 0; j < suite.total_test_count(); ++j) {
        ++missing_[rowOf(*suite.GetTestInfo(j))];
      }
    }
  }

  // Comes before GoogleTest's own line about the end.
  void OnTestEnd(const testing::TestInfo& test) override {
    if (test.result()->Passed() && --missing_[rowOf(test)] == 0) {
      caseMeasured(rowOf(test), "held");
    }
  }

 private:
  static std::string rowOf(const testing::TestInfo& test) {
    const std::string name = test.name();
    return std::string(test.test_suite_name()) + "." + name.substr(0, name.find('/'));
  }

  std::map<std::string, int> missing_;
};

}  // namespace vethgate::live
