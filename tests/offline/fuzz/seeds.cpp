// Writes the corpora that the targets start from: DIR/policy, DIR/plan, DIR/link, DIR/capture and
// DIR/dump, of the golden policies and the captures of real kernels.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "tests/offline/fuzz/dump_input.hpp"
#include "tests/offline/verifier/support.hpp"

namespace fs = std::filesystem;

namespace {

void copyInto(const fs::path& folder, const fs::path& from, const std::string& name) {
  fs::copy_file(from, folder / name, fs::copy_options::overwrite_existing);
}

void writeSeeds(const fs::path& out) {
  using namespace vethgate;
  const auto folder = [&](const char* target) {
    fs::create_directories(out / target);
    return out / target;
  };
  const fs::path golden = fs::path(VETHGATE_SOURCE_DIR) / "tests/offline/render/golden";
  for (const auto& entry : fs::directory_iterator(golden)) {
    if (entry.is_directory()) {
      const std::string name = entry.path().filename();
      copyInto(folder("policy"), entry.path() / "policy.json", name);
      copyInto(folder("plan"), entry.path() / "plan.json", name);
    }
  }
  for (const auto& entry : fs::directory_iterator(test::capturesFolder())) {
    const std::string name = entry.path().filename();
    if (name.starts_with("link-")) {
      copyInto(folder("link"), entry.path(), name);
    }
    if (name.starts_with("contained-tiny-") || name.starts_with("refused-")) {
      copyInto(folder("capture"), entry.path(), name);
    }
  }
  for (std::size_t i = 0; i < fuzz::kDumpFixtures.size(); ++i) {
    const test::Fixture one = test::fixture(fuzz::kDumpFixtures[i]);
    for (std::size_t kind = 0; kind < fuzz::kDumpKinds; ++kind) {
      const auto id = static_cast<DumpId>(kind);
      if (one.capture.dump(id)) {
        const Bytes bytes = fuzz::writeInput({id, i, *one.capture.dump(id)});
        std::ofstream(folder("dump") / (std::to_string(i) + "-" + std::string(dumpName(id))),
                      std::ios::binary)
            .write(reinterpret_cast<const char*>(bytes.data()),
                   static_cast<std::streamsize>(bytes.size()));
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: fuzz-seeds DIR\n";
    return 2;
  }
  try {
    writeSeeds(argv[1]);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "fuzz-seeds: " << error.what() << "\n";
    return 1;
  }
}
