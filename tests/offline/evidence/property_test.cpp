// A good record in which anything but a comment is changed is refused: every line and every field
// in turn, and bytes at random.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "evidence/record.hpp"
#include "tests/offline/evidence/exhibit.hpp"

namespace vethgate::evidence::test {
namespace {

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  forEachLine(text, [&](std::string_view line, std::size_t) { lines.emplace_back(line); });
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    text += line + "\n";
  }
  return text;
}

class Mutations : public testing::Test {
 protected:
  Mutations() : lines_(linesOf(exhibit_.record())) {
    EXPECT_TRUE(exhibit_.judged(joined(lines_)).good());
  }

  void expectRefused(std::vector<std::string> lines, const std::string& what) {
    ++tried_;
    EXPECT_FALSE(exhibit_.judged(joined(lines)).good()) << what;
  }
  // With line `i` replaced.
  void expectRefusedWith(std::size_t i, const std::string& line) {
    std::vector<std::string> lines = lines_;
    lines[i] = line;
    expectRefused(lines, lines_[i] + "\n -> " + line);
  }

  Exhibit exhibit_;
  std::vector<std::string> lines_;
  std::size_t tried_ = 0;
};

TEST_F(Mutations, OfEveryLineAreRefused) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (lines_[i].starts_with("#")) {
      continue;
    }
    std::vector<std::string> deleted = lines_;
    deleted.erase(deleted.begin() + static_cast<std::ptrdiff_t>(i));
    expectRefused(deleted, "without " + lines_[i]);
    std::vector<std::string> doubled = lines_;
    doubled.push_back(lines_[i]);
    expectRefused(doubled, "twice " + lines_[i]);
  }
  EXPECT_GT(tried_, 40U);
}

TEST_F(Mutations, OfEveryFieldAreRefused) {
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    const std::string& line = lines_[i];
    for (std::size_t at = line.find('='); at != std::string::npos && line[0] != '#';
         at = line.find('=', at + 1)) {
      const std::size_t begin = line.rfind(' ', at) + 1;  // 0 where there is no space
      const std::size_t end = std::min(line.find(' ', at), line.size());
      const std::string before = line.substr(0, begin);
      const std::string key = line.substr(begin, at - begin);
      const std::string value = line.substr(at + 1, end - at - 1);
      const std::string after = line.substr(end);
      for (const std::string& field :
           {std::string(), key, key + "=", "x" + key + "=" + value, key + "=" + value + "x",
            key + "=" + value.substr(1), key + "=x" + value.substr(1), key + "==" + value,
            key + "=" + value + " " + key + "=" + value, key + "=" + value + " more=1"}) {
        expectRefusedWith(i, before + field + after);
      }
      // What the same field says elsewhere.
      for (const std::string& other : lines_) {
        const std::size_t found = (" " + other).find(" " + key + "=");
        if (found == std::string::npos) {
          continue;
        }
        const std::size_t from = found + key.size() + 1;
        const std::string stranger = other.substr(from, other.find(' ', from) - from);
        if (stranger != value) {
          expectRefusedWith(i, before + key + "=" + stranger + after);
        }
      }
    }
  }
  EXPECT_GT(tried_, 1000U);
}

// What is read decides: two texts of the same record are as good as each other, and no other is.
TEST_F(Mutations, OfBytesAreRefusedUnlessTheySayTheSame) {
  const std::string good = joined(lines_);
  Problems none;
  const std::string meaning = recordText(readRecord(good, none));
  ASSERT_THAT(none, testing::IsEmpty());
  std::size_t same = 0;
  const auto change = [](std::string text) {
    const std::size_t at = *rc::gen::inRange(std::size_t{0}, text.size());
    const char byte = *rc::gen::elementOf(std::string("\n #=ax0\t\xff./6") + '\0');
    switch (*rc::gen::inRange(0, 3)) {
      case 0:
        return text.erase(at, *rc::gen::inRange(std::size_t{1}, std::size_t{80}));
      case 1:
        return text.insert(at, 1, byte);
      default:
        text[at] = byte;
        return text;
    }
  };
  const bool held = rc::check("bytes changed at random", [&] {
    for (int i = 0; i < 20; ++i) {
      const std::string text = change(good);
      Problems problems;
      const bool says = recordText(readRecord(text, problems)) == meaning && problems.empty();
      same += says ? 1 : 0;
      ++tried_;
      RC_ASSERT(exhibit_.judged(text).good() == says);
    }
  });
  EXPECT_TRUE(held);
  // Both were met: changes of comments and spaces, and all others.
  EXPECT_GT(same, 0U);
  EXPECT_LT(same, tried_ / 2);
}

}  // namespace
}  // namespace vethgate::evidence::test
