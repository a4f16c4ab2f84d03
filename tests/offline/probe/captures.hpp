// The link dumps that data/capture.sh recorded on running kernels.
#pragma once

#include <algorithm>
#include <fstream>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "netlink/datagram.hpp"

namespace vethgate::captures {

struct Section {
  std::string kernel;  // 6.1, 6.12, 6.18
  std::string name;    // of the namespace, as capture.sh names it
  std::vector<RawMessage> dump;
};

inline void PrintTo(const Section& section, std::ostream* out) {
  *out << "Linux " << section.kernel << " " << section.name;
}

inline std::vector<Section> read(const std::string& kernel) {
  std::ifstream file(VETHGATE_SOURCE_DIR "/tests/offline/probe/data/links-" + kernel + ".hex");
  std::vector<Section> sections;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("## ", 0) == 0) {
      sections.push_back({kernel, line.substr(3), {}});
    } else if (line.rfind("# ", 0) != 0) {
      sections.at(sections.size() - 1).dump.push_back(fromHex(line).value());
    }
  }
  if (sections.empty()) {
    throw std::runtime_error("no recorded dumps of Linux " + kernel);
  }
  return sections;
}

inline const std::vector<Section>& all() {
  static const std::vector<Section> sections = [] {
    std::vector<Section> joined;
    for (const char* kernel : {"6.1", "6.12", "6.18"}) {
      for (Section& section : read(kernel)) {
        joined.push_back(std::move(section));
      }
    }
    return joined;
  }();
  return sections;
}

inline const std::vector<RawMessage>& dump(const std::string& kernel, const std::string& name) {
  const auto found = std::find_if(all().begin(), all().end(), [&](const Section& section) {
    return section.kernel == kernel && section.name == name;
  });
  if (found == all().end()) {
    throw std::runtime_error("no recorded dump " + name + " of Linux " + kernel);
  }
  return found->dump;
}

}  // namespace vethgate::captures
