// docs/refusals.md quotes what the commands say. Whoever meets such a sentence looks for it there,
// so each fixed word of each example must stand beside one of its neighbours in a text of the
// sources. It does not show that the sentence is one, who says it or with which exit code, nor
// that the page has every sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace vethgate {
namespace {

namespace fs = std::filesystem;

std::string contentOf(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string trimmed(const std::string& text) {
  constexpr const char* kEnds = " ;,().:#\"\n";
  const std::size_t first = text.find_first_not_of(kEnds);
  return first == std::string::npos ? ""
                                    : text.substr(first, text.find_last_not_of(kEnds) - first + 1);
}

// What the product's sources hold in quotes. Literals that the compiler joins are one.
struct Literals {
  std::string all;  // a line each
  std::set<std::string> whole;
};

Literals literals() {
  Literals found;
  const std::regex comment(R"re(//[^\n]*)re");
  const std::regex joint(R"re("\s*\n\s*")re");
  const std::regex literal(R"re("((?:[^"\\\n]|\\.)*)")re");
  const std::regex escaped(R"re(\\(.))re");
  for (const char* room : {"base", "probe", "render", "netlink", "applier", "verifier", "confine",
                           "docker", "evidence"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(fs::path(VETHGATE_SOURCE_DIR) / room)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") {
        continue;
      }
      const std::string source =
          std::regex_replace(std::regex_replace(contentOf(entry.path()), comment, ""), joint, "");
      for (std::sregex_iterator at(source.begin(), source.end(), literal), end; at != end; ++at) {
        const std::string text = std::regex_replace((*at)[1].str(), escaped, "$1");
        found.all += text + "\n";
        found.whole.insert(trimmed(text));
      }
    }
  }
  return found;
}

// The sentences in the column of examples, the last but one, or in a table of two the last.
std::vector<std::string> examples() {
  std::vector<std::string> all;
  std::istringstream page(contentOf(fs::path(VETHGATE_SOURCE_DIR) / "docs/refusals.md"));
  const std::regex quoted("`([^`]+)`");
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("|")) {
      continue;
    }
    std::vector<std::string> cells;
    std::istringstream row(line.substr(1));
    for (std::string cell; std::getline(row, cell, '|');) {
      cells.push_back(cell);
    }
    const std::string& column = cells.size() > 2 ? cells[cells.size() - 2] : cells.back();
    for (std::sregex_iterator at(column.begin(), column.end(), quoted), end; at != end; ++at) {
      all.push_back((*at)[1]);
    }
  }
  return all;
}

// Numbers, names, addresses, paths of documents and messages, and what stands in quotes.
bool isOfTheCase(const std::string& word) {
  static const std::regex kOfTheCase(R"re(…|"|[0-9]|[/\[\]_]|\S\.\S|vethgate-)re");
  return std::regex_search(word, kOfTheCase);
}

// A word is the product's when it stands beside one of its neighbours in some literal, or is one.
std::vector<std::string> unknownWords(const std::string& example, const Literals& said) {
  std::vector<std::string> words;
  std::istringstream text(example);
  for (std::string word; text >> word;) {
    words.push_back(word);
  }
  const auto beside = [&](std::size_t i) {
    std::string pair = words[i] + " " + words[i + 1];
    pair = pair.substr(pair.find_first_not_of("(\""));
    pair = pair.substr(0, pair.find_last_not_of(";,.:)") + 1);
    return said.all.find(pair) != std::string::npos;
  };
  std::vector<std::string> unknown;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool known = isOfTheCase(words[i]) || said.whole.contains(trimmed(words[i])) ||
                       (i > 0 && beside(i - 1)) || (i + 1 < words.size() && beside(i));
    if (!known) {
      unknown.push_back(words[i]);
    }
  }
  return unknown;
}

TEST(Refusals, QuoteWhatTheCommandsSay) {
  const Literals said = literals();
  const std::vector<std::string> all = examples();
  EXPECT_GT(all.size(), 70U);
  for (const std::string& example : all) {
    EXPECT_THAT(unknownWords(example, said), testing::IsEmpty())
        << "docs/refusals.md quotes \"" << example << "\", which no source says";
  }
  // And what nobody says is found out.
  EXPECT_THAT(unknownWords("the namespace has no link but its loopbacks", said),
              testing::ElementsAre("loopbacks"));
  EXPECT_THAT(unknownWords("link 2 \"eth0\" (veth): is not DOWN", said),
              testing::ElementsAre("DOWN"));
}

}  // namespace
}  // namespace vethgate
