// Writing and reading of the capture document. Reading goes event by event, because a document tree
// of a large capture would take several times the memory of the messages in it.
#include "verifier/capture.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/program.hpp"

namespace vethgate {
namespace {

constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kWriteChunk = std::size_t{1} << 20;
constexpr std::array<std::string_view, kDumpCount> kNames = {"links",
                                                             "qdiscs",
                                                             "filters.egress",
                                                             "filters.ingress",
                                                             "chains.egress",
                                                             "chains.ingress",
                                                             "nft.generation.before",
                                                             "nft.tables",
                                                             "nft.chains",
                                                             "nft.rules",
                                                             "nft.sets",
                                                             "nft.elements",
                                                             "nft.objects",
                                                             "nft.flowtables",
                                                             "nft.generation.after",
                                                             "links.again",
                                                             "qdiscs.again",
                                                             "filters.egress.again",
                                                             "filters.ingress.again",
                                                             "chains.egress.again",
                                                             "chains.ingress.again"};

constexpr std::array<std::string_view, 2> kHookNames = {"tcx.ingress", "tcx.egress"};

std::string shown(const std::string& text) {
  std::string result = text.substr(0, 40);
  std::replace_if(
      result.begin(), result.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return "\"" + result + "\"";
}

// The document's grammar, one state per kind of container. Whatever does not fit the state is
// refused at once, which also bounds the depth.
class CaptureBuilder : public nlohmann::json_sax<Json> {
 public:
  [[nodiscard]] Capture take() {
    if (state_ != State::kEnd) {
      badInput("capture: the document is not complete");
    }
    return std::move(capture_);
  }

  bool null() override { unexpected("null"); }
  bool boolean(bool /*value*/) override { unexpected("a boolean"); }
  bool number_integer(number_integer_t /*value*/) override { unexpected("a negative number"); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override {
    unexpected("a number that is not an integer within 64 bits");
  }
  bool binary(binary_t& /*value*/) override { unexpected("a binary value"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (state_ == State::kTop && key_ == "version") {
      if (value != kVersion) {
        badInput("capture.version is " + std::to_string(value) + ", expected 1");
      }
    } else if (state_ == State::kTop && key_ == "netns") {
      capture_.netns = value;
    } else if (state_ == State::kProgram) {
      programNumber(value);
    } else {
      unexpected("a number");
    }
    return true;
  }

  bool string(string_t& value) override {
    if (state_ == State::kTop && key_ == "kernel") {
      capture_.kernel = asText(Json(value), "capture.kernel");
    } else if (state_ == State::kLegacy) {
      capture_.legacy.push_back(asText(Json(value), "capture.legacy"));
    } else if (state_ == State::kProgram && key_ == "hook") {
      nameHook(value);
    } else if (state_ == State::kDump && key_ == "name") {
      nameDump(value);
    } else if (state_ == State::kMessages) {
      addMessage(value);
    } else {
      unexpected("a string");
    }
    return true;
  }

  bool start_object(std::size_t /*count*/) override {
    if (state_ == State::kStart) {
      state_ = State::kTop;
    } else if (state_ == State::kDumps) {
      state_ = State::kDump;
      keys_.clear();
      messages_.clear();
    } else if (state_ == State::kPrograms) {
      state_ = State::kProgram;
      keys_.clear();
      capture_.programs->emplace_back();
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (state_ == State::kTop) {
      std::erase(topKeys_, "programs");  // may be missing
      requireKeys(topKeys_, {"version", "kernel", "netns", "legacy", "dumps"}, "capture");
      state_ = State::kEnd;
    } else if (state_ == State::kProgram) {
      requireKeys(keys_, {"link", "hook", "error", "count"}, "capture.programs");
      state_ = State::kPrograms;
    } else {
      requireKeys(keys_, {"name", "messages"}, "capture.dumps");
      capture_.dumps[current_] = std::move(messages_);
      next_ = current_ + 1;
      messages_ = {};
      state_ = State::kDumps;
    }
    return true;
  }

  bool start_array(std::size_t /*count*/) override {
    if (state_ == State::kTop && key_ == "legacy") {
      state_ = State::kLegacy;
    } else if (state_ == State::kTop && key_ == "programs") {
      state_ = State::kPrograms;
      capture_.programs.emplace();
    } else if (state_ == State::kTop && key_ == "dumps") {
      state_ = State::kDumps;
    } else if (state_ == State::kDump && key_ == "messages") {
      state_ = State::kMessages;
    } else {
      unexpected("a list");
    }
    return true;
  }

  bool end_array() override {
    state_ = state_ == State::kMessages ? State::kDump : State::kTop;
    return true;
  }

  bool key(string_t& name) override {
    auto& seen = state_ == State::kTop ? topKeys_ : keys_;
    if (std::find(seen.begin(), seen.end(), name) != seen.end()) {
      badInput("capture: the key " + shown(name) + " stands twice in one object");
    }
    seen.push_back(name);
    key_ = name;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    badInput("capture: not JSON at byte " + std::to_string(position));
  }

 private:
  enum class State : std::uint8_t {
    kStart,
    kTop,
    kLegacy,
    kPrograms,
    kProgram,
    kDumps,
    kDump,
    kMessages,
    kEnd
  };

  [[noreturn]] void unexpected(const char* found) const {
    badInput(std::string("capture: ") + found + " where the document has no place for it (after " +
             shown(key_) + ")");
  }

  static void requireKeys(const std::vector<std::string>& seen,
                          std::initializer_list<std::string_view> expected,
                          const std::string& path) {
    for (const auto& name : seen) {
      if (std::find(expected.begin(), expected.end(), name) == expected.end()) {
        badInput(path + ": the field " + shown(name) + " is unknown");
      }
    }
    for (const auto name : expected) {
      if (std::find(seen.begin(), seen.end(), name) == seen.end()) {
        badInput(path + ": the field \"" + std::string(name) + "\" is missing");
      }
    }
  }

  void programNumber(std::uint64_t value) {
    ProgramAnswer& answer = capture_.programs->back();
    std::uint32_t* const field = key_ == "link"    ? &answer.link
                                 : key_ == "error" ? &answer.error
                                 : key_ == "count" ? &answer.count
                                                   : nullptr;
    if (field == nullptr || value > std::numeric_limits<std::uint32_t>::max()) {
      unexpected("a number");
    }
    *field = static_cast<std::uint32_t>(value);
  }

  void nameHook(const std::string& name) {
    const auto* const found = std::find(kHookNames.begin(), kHookNames.end(), name);
    if (found == kHookNames.end()) {
      badInput("capture.programs: the hook " + shown(name) + " is unknown");
    }
    capture_.programs->back().hook = static_cast<ProgramHook>(found - kHookNames.begin());
  }

  void nameDump(const std::string& name) {
    const auto found = std::find(kNames.begin(), kNames.end(), name);
    if (found == kNames.end()) {
      badInput("capture.dumps: the name " + shown(name) + " is unknown");
    }
    current_ = static_cast<std::size_t>(found - kNames.begin());
    if (current_ < next_) {
      badInput("capture.dumps: " + shown(name) + " stands twice or out of order");
    }
  }

  void addMessage(const std::string& text) {
    auto bytes = fromHex(text);
    if (!bytes) {
      badInput("capture.dumps: message " + std::to_string(messages_.size()) +
               " of one dump is not lower-case hex");
    }
    messages_.push_back(std::move(*bytes));
  }

  State state_ = State::kStart;
  std::string key_;
  std::vector<std::string> topKeys_;
  std::vector<std::string> keys_;  // of the dump or the program
  std::size_t current_ = 0;        // the dump that is being read
  std::size_t next_ = 0;           // the first that may follow
  std::vector<RawMessage> messages_;
  Capture capture_;
};

// Either nothing or the member and the comma behind it.
std::string programsText(const Capture& capture) {
  if (!capture.programs) {
    return "";
  }
  Json list = Json::array();
  for (const ProgramAnswer& answer : *capture.programs) {
    list.push_back({{"link", answer.link},
                    {"hook", hookName(answer.hook)},
                    {"error", answer.error},
                    {"count", answer.count}});
  }
  return "\"programs\":" + list.dump() + ",";
}

// Hands the document to `sink` in pieces of bounded size.
void compose(const Capture& capture, const std::function<void(std::string&)>& sink) {
  std::string text = R"({"version":1,"kernel":)" + Json(capture.kernel).dump() + R"(,"netns":)" +
                     std::to_string(capture.netns) + R"(,"legacy":)" + Json(capture.legacy).dump() +
                     "," + programsText(capture) + R"("dumps":[)";
  const char* betweenDumps = "\n";
  for (std::size_t i = 0; i < kDumpCount; ++i) {
    if (!capture.dumps[i]) {
      continue;
    }
    text.append(std::exchange(betweenDumps, ",\n")).append(R"({"name":")");
    text.append(kNames[i]).append(R"(","messages":[)");
    const char* between = "\n\"";
    for (const auto& message : *capture.dumps[i]) {
      text.append(std::exchange(between, ",\n\"")).append(toHex(message)).push_back('"');
      if (text.size() >= kWriteChunk) {
        sink(text);
        text.clear();
      }
    }
    text.append("]}");
  }
  text.append("]}\n");
  sink(text);
}

}  // namespace

std::string_view hookName(ProgramHook hook) { return kHookNames[static_cast<std::size_t>(hook)]; }

std::string_view dumpName(DumpId id) { return kNames[static_cast<std::size_t>(id)]; }

void writeCapture(int fd, const Capture& capture) {
  compose(capture, [fd](const std::string& piece) { writeAll(fd, piece); });
}

std::string captureText(const Capture& capture) {
  std::string text;
  compose(capture, [&text](const std::string& piece) { text += piece; });
  return text;
}

Capture readCapture(std::string_view text) {
  CaptureBuilder builder;
  parseStrictly(text, "capture", kMaxCaptureBytes, builder);
  return builder.take();
}

}  // namespace vethgate
