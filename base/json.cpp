#include "base/json.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace vethgate {
namespace {

constexpr std::size_t kMaxTextLength = 200;

// Builds the document while it refuses what nlohmann's own DOM builder would let pass.
class StrictBuilder : public nlohmann::json_sax<Json> {
 public:
  explicit StrictBuilder(std::string what) : what_(std::move(what)) {}

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
  bool start_array(std::size_t /*count*/) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
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
    return true;
  }

  bool open(Json container) {
    if (stack_.size() == kMaxDepth) {
      badInput(what_ + ": nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    stack_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  std::string what_;
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
  StrictBuilder builder(what);
  parseStrictly(text, what, maxBytes, builder);
  return builder.take();
}

std::string canonicalText(const Json& document) { return document.dump(); }

ObjectReader::ObjectReader(const Json& value, std::string path)
    : value_(value), path_(std::move(path)) {
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
  for (const auto& member : value_.items()) {
    const std::string& key = member.key();
    const bool known =
        std::any_of(taken_.begin(), taken_.end(), [&](const char* name) { return key == name; });
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
