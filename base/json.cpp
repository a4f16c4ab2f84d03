#include "base/json.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace vethgate {
namespace {

constexpr std::size_t kMaxTextLength = 200;
constexpr std::size_t kUsualFields = 12;  // of an object; a rule of the plan is asked for ten

// Builds the document while it refuses what nlohmann's own DOM builder would let pass.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  StrictBuilder(std::string what, std::span<const StreamedList> streamed)
      : what_(std::move(what)), streamed_(streamed) {}

  [[nodiscard]] Json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    badInput(what_ + ": the number " + text.substr(0, 40) + " is not an integer within 64 bits");
  }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t& /*value*/) override { badInput(what_ + ": binary value"); }

  bool start_object(std::size_t /*count*/) override { return open(Json::object()); }
  bool start_array(std::size_t /*count*/) override {
    const StreamedList* const list = announcedList();
    open(Json::array());
    if (list != nullptr) {
      open_ = {list, stack_.back(), 0};
    }
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (stack_.size() <= kStreamedDepth) {
      names_.at(stack_.size() - 1) = name;
    }
    auto [position, inserted] =
        stack_.back()->get_ref<Json::object_t&>().try_emplace(name, nullptr);
    if (!inserted) {
      badInput(what_ + ": the key \"" + printable(name) + "\" stands twice in one object");
    }
    slot_ = &position->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    badInput(what_ + ": not JSON at byte " + std::to_string(position) + ": " +
             printable(error.what()));
  }

 private:
  static std::string printable(std::string text) {
    std::replace_if(
        text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
    return text.substr(0, kMaxTextLength);
  }

  Json* place(Json value) {
    if (stack_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    if (slot_ != nullptr) {
      Json* target = std::exchange(slot_, nullptr);
      *target = std::move(value);
      return target;
    }
    auto& array = stack_.back()->get_ref<Json::array_t&>();
    array.push_back(std::move(value));
    return &array.back();
  }

  bool add(Json value) {
    place(std::move(value));
    handOut();
    return true;
  }

  // The streamed list, if any, that key() announced.
  [[nodiscard]] const StreamedList* announcedList() const {
    if (slot_ == nullptr || stack_.size() > kStreamedDepth ||
        std::any_of(stack_.begin(), stack_.end(), [](const Json* j) { return j->is_array(); })) {
      return nullptr;
    }
    std::string path;
    for (std::size_t i = 0; i < stack_.size(); ++i) {
      path.append(i == 0 ? "" : ".").append(names_.at(i));
    }
    const auto found =
        std::find_if(streamed_.begin(), streamed_.end(),
                     [&path](const StreamedList& list) { return list.path == path; });
    return found == streamed_.end() ? nullptr : &*found;
  }

  // What has just been completed, when it is an element of the streamed list.
  void handOut() {
    if (stack_.empty() || stack_.back() != open_.array) {
      return;
    }
    auto& array = open_.array->get_ref<Json::array_t&>();
    open_.list->take(array.back(), open_.count++);
    array.pop_back();
  }

  bool open(Json container) {
    if (stack_.size() == kMaxDepth) {
      badInput(what_ + ": nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    stack_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    if (stack_.back() == open_.array) {
      open_ = {};
    }
    stack_.pop_back();
    handOut();
    return true;
  }

  // How deep a streamed list may lie: "iptables.v4".
  static constexpr std::size_t kStreamedDepth = 2;
  struct OpenList {
    const StreamedList* list = nullptr;
    Json* array = nullptr;
    std::size_t count = 0;  // of the elements so far
  };

  std::string what_;
  std::span<const StreamedList> streamed_;
  std::array<std::string, kStreamedDepth> names_;  // the last key on each level
  OpenList open_;
  Json root_;
  std::vector<Json*> stack_;
  Json* slot_ = nullptr;  // the member that key() announced
};

[[noreturn]] void wrongType(const Json& value, const std::string& path, const char* expected) {
  badInput(path + " must be " + expected + ", found " + value.type_name());
}

}  // namespace

void refuseUnreadable(std::string_view text, const std::string& what, std::size_t maxBytes) {
  if (text.size() > maxBytes) {
    badInput(what + ": " + std::to_string(text.size()) + " bytes, at most " +
             std::to_string(maxBytes) + " are accepted");
  }
  if (text.substr(0, 3) == "\xEF\xBB\xBF") {
    badInput(what + ": starts with a byte order mark");
  }
  // The lexer takes NUL for the end of its input and would not look at what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    badInput(what + ": not JSON at byte " + std::to_string(nul + 1) + ": a NUL character");
  }
}

Json parseDocument(std::string_view text, const std::string& what, std::size_t maxBytes) {
  return parseDocument(text, what, maxBytes, {});
}

Json parseDocument(std::string_view text, const std::string& what, std::size_t maxBytes,
                   std::span<const StreamedList> streamed) {
  StrictBuilder builder(what, streamed);
  parseStrictly(text, what, maxBytes, builder);
  return builder.take();
}

std::string canonicalText(const Json& document) { return document.dump(); }

ObjectReader::ObjectReader(const Json& value, std::string path)
    : value_(value), path_(std::move(path)) {
  taken_.reserve(kUsualFields);
  if (!value_.is_object()) {
    wrongType(value_, path_, "an object");
  }
}

const Json* ObjectReader::optional(const char* key) {
  taken_.push_back(key);
  const auto position = value_.find(key);
  return position == value_.end() ? nullptr : &*position;
}

const Json& ObjectReader::required(const char* key) {
  const Json* found = optional(key);
  if (found == nullptr) {
    badInput(path_ + ": the field \"" + key + "\" is missing");
  }
  return *found;
}

void ObjectReader::finish() const {
  for (const auto& [key, ignored] : value_.get_ref<const Json::object_t&>()) {
    const bool known = std::any_of(taken_.begin(), taken_.end(),
                                   [&name = key](const char* taken) { return name == taken; });
    if (!known) {
      std::string shown = key.substr(0, 40);
      std::replace_if(
          shown.begin(), shown.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
      badInput(path_ + ": the field \"" + shown + "\" is unknown");
    }
  }
}

std::string ObjectReader::pathOf(const char* key) const { return path_ + "." + key; }

const std::string& asString(const Json& value, const std::string& path) {
  if (!value.is_string()) {
    wrongType(value, path, "a string");
  }
  return value.get_ref<const std::string&>();
}

bool asBool(const Json& value, const std::string& path) {
  if (!value.is_boolean()) {
    wrongType(value, path, "true or false");
  }
  return value.get<bool>();
}

std::uint64_t asInteger(const Json& value, const std::string& path, std::uint64_t min,
                        std::uint64_t max) {
  if (!value.is_number_integer()) {
    wrongType(value, path, "an integer");
  }
  const bool negative = !value.is_number_unsigned() && value.get<std::int64_t>() < 0;
  if (negative || value.get<std::uint64_t>() < min || value.get<std::uint64_t>() > max) {
    badInput(path + " is " + value.dump() + ", outside " + std::to_string(min) + ".." +
             std::to_string(max));
  }
  return value.get<std::uint64_t>();
}

const Json& asArray(const Json& value, const std::string& path) {
  if (!value.is_array()) {
    wrongType(value, path, "a list");
  }
  return value;
}

const std::string& asText(const Json& value, const std::string& path) {
  const std::string& text = asString(value, path);
  if (text.size() > kMaxTextLength) {
    badInput(path + " is " + std::to_string(text.size()) + " characters long, at most " +
             std::to_string(kMaxTextLength) + " are accepted");
  }
  const bool printable =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c <= 0x7e; });
  if (!printable) {
    badInput(path + " holds a character that is not printable ASCII");
  }
  return text;
}

}  // namespace vethgate
