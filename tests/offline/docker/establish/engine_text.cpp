#include "tests/offline/docker/establish/engine_text.hpp"

#include <algorithm>

namespace vethgate::docker::test {

std::string paddedId(unsigned serial, char filler) {
  std::string id = std::to_string(serial);
  id.insert(0, kIdDigits - id.size(), filler);
  return id;
}

std::string message(const std::string& text) { return Json{{"message", text}}.dump(); }

std::string shortName(const std::string& name) {
  const std::string job = "-" + kJob;
  const std::size_t end = name.ends_with(job) ? name.size() - job.size() : name.find("-doctor-");
  if (end == std::string::npos) {
    return name;
  }
  const std::string before = name.substr(0, end);
  const std::string helper = "vethgate.";
  if (before == "vethgate") {
    return "holder";
  }
  return before.starts_with(helper) && before != helper ? before.substr(helper.size()) : name;
}

std::string percentDecoded(const std::string& text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      decoded += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

std::string frame(char stream, const std::string& text) {
  std::string bytes{stream, 0, 0, 0};
  for (const unsigned shift : {24U, 16U, 8U, 0U}) {
    bytes += static_cast<char>((text.size() >> shift) & 0xffU);
  }
  return bytes + text;
}

bool carries(const Json& labels, const Json& wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](const Json& pair) {
    const std::string text = pair;
    const std::size_t equals = text.find('=');
    const auto label = labels.find(text.substr(0, equals));
    return label != labels.end() && *label == text.substr(equals + 1);
  });
}

}  // namespace vethgate::docker::test
