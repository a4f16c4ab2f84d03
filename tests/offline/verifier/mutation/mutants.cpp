// The generator; see mutants.hpp.
#include "mutants.hpp"

#include <linux/netlink.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "message_mutants.hpp"
#include "schema.hpp"

namespace vethgate::test {
namespace {

constexpr std::array<std::string_view, kChangeCount> kNames = {
    "bit", "remove", "duplicate", "retype", "flags", "lengthen", "shorten",   "exchange", "unpad",
    "add", "cut",    "drop",      "double", "swap",  "move",     "interrupt", "document"};

nlmsghdr headerOf(const RawMessage& message) {
  nlmsghdr header{};
  std::memcpy(&header, message.data(), sizeof header);
  return header;
}

// Those that the capture has; nft.elements only when it holds an answer.
std::vector<DumpId> allDumps(const Capture& capture) {
  std::vector<DumpId> ids;
  for (std::size_t i = 0; i < kDumpCount; ++i) {
    const auto id = static_cast<DumpId>(i);
    if (capture.dump(id) && !capture.dump(id)->empty()) {
      ids.push_back(id);
    }
  }
  return ids;
}

bool isOf(Part part, DumpId id) { return (id >= DumpId::kLinksAgain) == (part == Part::kAgain); }

bool endsWithDone(const std::vector<RawMessage>& dump) {
  return !dump.empty() && headerOf(dump.back()).nlmsg_type == NLMSG_DONE;
}

// Changes of the list of messages.
class ListMutants {
 public:
  ListMutants(Capture& capture, DumpId id, const Show& show)
      : capture_(capture),
        id_(id),
        dump_(*capture.dump(id)),
        original_(dump_),
        path_(dumpName(id)),
        show_(show) {
    for (const RawMessage& message : dump_) {
      lists_.push_back(listOf(id, message));
    }
  }

  [[nodiscard]] Place place(std::size_t i) const {
    const bool last = std::find(lists_.begin() + static_cast<std::ptrdiff_t>(i) + 1, lists_.end(),
                                lists_[i]) == lists_.end();
    return {id_, i,
            lists_[i].empty() ? Standing::kEnd : (last ? Standing::kLast : Standing::kInner)};
  }

  void all() {
    const std::size_t end = original_.size() - (endsWithDone(original_) ? 1 : 0);
    for (std::size_t i = 0; i < original_.size(); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      dump_.erase(dump_.begin() + at);
      shown(Change::kDrop, path_, i, 0);
      for (const std::size_t where : {i, end}) {
        dump_.insert(dump_.begin() + static_cast<std::ptrdiff_t>(where), original_[i]);
        shown(Change::kDouble, path_, i, where == i ? 0 : 1);
      }
      if (i + 1 < original_.size()) {
        swap(i, i + 1, 0);
      }
      if (i + 2 < end) {
        swap(i, end - 1, 1);
      }
      move(i);
    }
  }

 private:
  void shown(Change change, std::string_view path, std::size_t i, std::size_t position) {
    show_({change, path, position, 0, place(i)});
    dump_ = original_;
  }

  void swap(std::size_t i, std::size_t other, std::size_t position) {
    const bool end = lists_[i].empty() || lists_[other].empty();
    const bool one = lists_[i] == lists_[other];
    std::swap(dump_[i], dump_[other]);
    shown(Change::kSwap, path_ + (end ? ":end" : (one ? ":one list" : ":two lists")), i, position);
  }

  void move(std::size_t i) {
    dump_.erase(dump_.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::size_t other = 0; other < kDumpCount; ++other) {
      const auto id = static_cast<DumpId>(other);
      if (id != id_) {
        const auto before = capture_.dump(id);
        auto& target = before ? *capture_.dump(id) : capture_.dump(id).emplace();
        target.insert(target.end() - (endsWithDone(target) ? 1 : 0), original_[i]);
        show_({Change::kMove, path_, other, 0, place(i)});
        capture_.dump(id) = before;
      }
    }
    dump_ = original_;
  }

  Capture& capture_;
  DumpId id_;
  std::vector<RawMessage>& dump_;
  const std::vector<RawMessage> original_;
  std::vector<std::string> lists_;  // of each message
  const std::string path_;
  const Show& show_;
};

// What the kernel said of programs: each number bit by bit, each answer dropped, doubled, of the
// other hook.
void programMutants(Capture& capture, const Show& show) {
  if (!capture.programs) {
    return;
  }
  const auto original = *capture.programs;
  for (std::size_t i = 0; i < original.size(); ++i) {
    ProgramAnswer& answer = capture.programs->at(i);
    const auto bits = [&](std::string_view path, std::uint32_t& field) {
      for (unsigned bit = 0; bit < 32; ++bit) {
        field ^= std::uint32_t{1} << bit;
        show({Change::kDocument, path, bit, 0, {kNoDump, i}});
        field ^= std::uint32_t{1} << bit;
      }
    };
    bits("programs.link", answer.link);
    bits("programs.error", answer.error);
    bits("programs.count", answer.count);
    answer.hook =
        answer.hook == ProgramHook::kTcxEgress ? ProgramHook::kTcxIngress : ProgramHook::kTcxEgress;
    show({Change::kDocument, "programs.hook", i});
    capture.programs = original;
    capture.programs->erase(capture.programs->begin() + static_cast<std::ptrdiff_t>(i));
    show({Change::kDocument, "programs:dropped", i});
    capture.programs = original;
    capture.programs->push_back(original[i]);
    show({Change::kDocument, "programs:doubled", i});
    capture.programs = original;
  }
}

// Each dump taken away, emptied, in another one's place, or from another socket or question.
void dumpMutants(Capture& capture, Part part, const Show& show) {
  const std::vector<DumpId> ids = allDumps(capture);
  for (const DumpId id : ids) {
    if (!isOf(part, id)) {
      continue;
    }
    const std::string path(dumpName(id));
    const auto original = capture.dump(id);
    const auto shown = [&](const char* what, std::size_t position = 0) {
      show({Change::kDocument, path + what, position});
      capture.dump(id) = original;
    };
    capture.dump(id) = std::nullopt;
    shown(":missing");
    capture.dump(id).emplace();
    shown(":empty");
    for (const DumpId other : ids) {
      if (other != id) {
        capture.dump(id) = capture.dump(other);
        shown(":replaced", static_cast<std::size_t>(other));
      }
      if (id < other) {
        const auto with = capture.dump(other);
        std::swap(capture.dump(id), capture.dump(other));
        shown(":exchanged", static_cast<std::size_t>(other));
        capture.dump(other) = with;
      }
    }
    const auto renumbered = [&](std::uint32_t sequence, std::uint32_t port, const char* what) {
      for (RawMessage& message : *capture.dump(id)) {
        nlmsghdr header = headerOf(message);
        header.nlmsg_seq += sequence;
        header.nlmsg_pid += port;
        std::memcpy(message.data(), &header, sizeof header);
      }
      shown(what, sequence);
    };
    renumbered(1, 0, ":later");
    renumbered(static_cast<std::uint32_t>(-1), 0, ":earlier");
    renumbered(0, 1, ":of another socket");
  }
}

// Changes of what the document holds besides.
void documentMutants(Capture& capture, const Show& show) {
  const auto document = [&show](std::string_view path, std::size_t position = 0) {
    show({Change::kDocument, path, position});
  };
  const std::uint64_t netns = capture.netns;
  for (unsigned bit = 0; bit < 64; ++bit) {
    capture.netns = netns ^ (std::uint64_t{1} << bit);
    document("netns", bit);
  }
  capture.netns = netns;
  for (const char* table : {"ip filter", "ip6 nat", "arp filter"}) {
    capture.legacy.emplace_back(table);
    document("legacy");
    capture.legacy.pop_back();
  }
  capture.kernel.push_back('x');
  document("kernel");
  capture.kernel.pop_back();
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  if (at == std::string::npos) {
    throw std::logic_error("no " + from + " in the document");
  }
  return text.replace(at, from.size(), to);
}

}  // namespace

std::string_view changeName(Change change) { return kNames[static_cast<std::size_t>(change)]; }

std::string describe(const Mutant& mutant) {
  return std::string(changeName(mutant.change)) + " of " + std::string(mutant.path) + ", message " +
         std::to_string(mutant.place.message) + ", at " + std::to_string(mutant.position) +
         (mutant.change == Change::kBit ? "." + std::to_string(mutant.bit) : "");
}

void forEachMutant(Capture& capture, Part part, const Show& show) {
  for (const DumpId id : allDumps(capture)) {
    if (isOf(part, id)) {
      ListMutants list(capture, id, show);
      auto& dump = *capture.dump(id);
      for (std::size_t i = 0; i < dump.size(); ++i) {
        forEachMutantOf(dump[i], list.place(i), show);
      }
      list.all();
    }
  }
  dumpMutants(capture, part, show);
  if (part == Part::kFirst) {
    documentMutants(capture, show);
    programMutants(capture, show);
  }
}

std::vector<TextMutant> textMutants(const Capture& capture) {
  const std::string text = captureText(capture);
  std::vector<TextMutant> mutants = {
      {"another version", replaced(text, "\"version\":1", "\"version\":2")},
      {"no version", replaced(text, "\"version\":1,", "")},
      {"a field more", replaced(text, "{\"version\"", "{\"more\":1,\"version\"")},
      {"a field twice", replaced(text, "{\"version\":1", "{\"version\":1,\"version\":1")},
      {"netns is text", replaced(text, "\"netns\":", "\"netns\":\"1\",\"was\":")},
      {"no kernel", replaced(text, "\"kernel\":", "\"colonel\":")},
      {"no legacy", replaced(text, "\"legacy\":", "\"modern\":")},
      {"no messages", replaced(text, "\"messages\":[", "\"massages\":[")},
      {"text behind the document", text + "x"},
      {"a byte order mark", "\xEF\xBB\xBF" + text},
      {"upper-case hex", replaced(text, "\n\"", "\n\"AA")},
      {"half a byte", replaced(text, "\n\"", "\n\"0")},
  };
  for (const DumpId id : allDumps(capture)) {
    const std::string name(dumpName(id));
    const std::string field = "\"name\":\"" + name + "\"";
    mutants.push_back({name + " renamed", replaced(text, field, "\"name\":\"" + name + "2\"")});
    mutants.push_back({name + " with a field more", replaced(text, field, field + ",\"more\":1")});
    const std::string again = "{" + field + ",\"messages\":[]},{" + field;
    mutants.push_back({name + " twice", replaced(text, "{" + field, again)});
    const std::string foreign = R"({"name":"nft.other","messages":[]},{)" + field;
    mutants.push_back({"another dump before " + name, replaced(text, "{" + field, foreign)});
  }
  return mutants;
}

}  // namespace vethgate::test
