// The live tests' entry. They make namespaces, load modules and turn filters against links, so they
// run in the virtual machine alone.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (std::getenv("VETHGATE_VM") == nullptr) {  // NOLINT(concurrency-mt-unsafe): one thread
    std::fprintf(stderr, "live-tests: run me with tests/live/vm/boot (or ./run test live)\n");
    return 2;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
