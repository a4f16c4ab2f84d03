// The live tests' entry. They make namespaces, load modules and turn filters against links, so they
// run in the virtual machine alone; what there is to run can be listed anywhere.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/live/held_listener.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (GTEST_FLAG_GET(list_tests)) {
    return RUN_ALL_TESTS();
  }
  if (std::getenv("VETHGATE_VM") == nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
    std::fprintf(stderr, "live-tests: run me with tests/live/vm/boot (or ./run test live)\n");
    return 2;
  }
  try {
    vethgate::live::describeRun();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "live-tests: %s\n", error.what());
    return 2;
  }
  testing::UnitTest::GetInstance()->listeners().Append(new vethgate::live::HeldListener);
  return RUN_ALL_TESTS();
}
