// The generator; see mutants.hpp.
#include "mutants.hpp"

#include <linux/netlink.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "schema.hpp"

namespace vethgate::test {
namespace {

// The header's own are signed.
constexpr std::uint16_t kFlagBits = NLA_F_NESTED | NLA_F_NET_BYTEORDER;

constexpr std::array<std::string_view, kChangeCount> kNames = {
    "bit",   "remove", "duplicate", "retype", "flags", "lengthen", "shorten",   "exchange",
    "unpad", "cut",    "drop",      "double", "swap",  "move",     "interrupt", "document"};

using Show = std::function<void(const Mutant&)>;

template <class Value>
void store(RawMessage& message, std::size_t at, Value value) {
  std::memcpy(message.data() + at, &value, sizeof value);
}

std::uint16_t flagsOf(const RawMessage& message) {
  std::uint16_t flags = 0;
  std::memcpy(&flags, message.data() + offsetof(nlmsghdr, nlmsg_flags), sizeof flags);
  return flags;
}

// All changes within one message.
class MessageMutants {
 public:
  MessageMutants(DumpId id, std::size_t number, RawMessage& message, const Show& show)
      : id_(id),
        number_(number),
        message_(message),
        original_(message),
        anatomy_(dissect(id, message)),
        root_(dumpName(id)),
        show_(show) {}

  void all() {
    bits();
    cuts();
    interrupt();
    if (!anatomy_.attributes.empty()) {
      attributes(anatomy_.attributes);
      wholePayload();
    }
  }

 private:
  void show(Change change, std::string_view path, std::size_t position, unsigned bit = 0) {
    show({change, path, number_, position, bit, id_});
  }

  void show(const Mutant& mutant) {
    if (message_ == original_) {
      throw std::logic_error(std::string(mutant.path) + ": a change changes nothing");
    }
    show_(mutant);
  }

  void bits() {
    for (const Region& region : anatomy_.regions) {
      for (std::size_t at = region.begin; at < region.end; ++at) {
        for (unsigned bit = 0; bit < 8; ++bit) {
          message_[at] = static_cast<std::uint8_t>(message_[at] ^ (1U << bit));
          show(Change::kBit, region.path, at - region.begin, bit);
          message_[at] = original_[at];
        }
      }
    }
  }

  void cuts() {
    for (std::size_t size = 0; size < original_.size(); ++size) {
      message_.resize(size);
      show(Change::kCut, root_, size);
      message_ = original_;
    }
    message_.resize(original_.size() + 4);
    show(Change::kCut, root_, message_.size());
    message_ = original_;
  }

  void interrupt() {
    store(message_, offsetof(nlmsghdr, nlmsg_flags),
          static_cast<std::uint16_t>(flagsOf(message_) | NLM_F_DUMP_INTR));
    show(Change::kInterrupt, root_, 0);
    message_ = original_;
  }

  // Puts the message together from what the tree is now.
  void rebuilt(Change change, std::string_view path, std::size_t position) {
    payload(serialize(anatomy_.attributes));
    show(change, path, position);
    message_ = original_;
  }

  void payload(const Bytes& bytes) {
    message_.resize(anatomy_.attributesAt);
    message_.insert(message_.end(), bytes.begin(), bytes.end());
    store(message_, offsetof(nlmsghdr, nlmsg_len), static_cast<std::uint32_t>(message_.size()));
  }

  // The attributes of the message cut at each byte, and four bytes more, with the right nlmsg_len.
  void wholePayload() {
    const Bytes whole = serialize(anatomy_.attributes);
    std::vector<Mutant> cuts;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      cuts.push_back({Change::kShorten, root_, number_, size, 0, id_});
    }
    std::size_t end = 0;  // of what is kept
    std::size_t padding = 0;
    std::vector<std::string> onward;
    onward.reserve(anatomy_.attributes.size());
    for (const Node& next : anatomy_.attributes) {
      onward.push_back(next.path + ":onward");
      for (std::size_t missing = 0; missing <= padding; ++missing) {
        cuts[end - missing] = {Change::kShorten, onward.back(), number_, missing, 0, id_};
      }
      end += serialize({next}).size();
      padding = paddingOf(next);
    }
    for (; padding > 0; --padding) {
      cuts[end - padding].change = Change::kUnpad;
    }
    for (std::size_t size = 0; size < whole.size(); ++size) {
      payload(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)));
      show(cuts[size]);
      message_ = original_;
    }
    Bytes more = whole;
    more.resize(whole.size() + 4);
    payload(more);
    show(Change::kLengthen, root_, 4);
    message_ = original_;
  }

  static std::size_t paddingOf(const Node& last) {
    return last.nested ? 0 : NLA_ALIGN(last.value.size()) - last.value.size();
  }

  void attributes(std::vector<Node>& list) {
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string path = list[i].path;
      const Node node = list[i];
      const auto here = [&list, i] { return list.begin() + static_cast<std::ptrdiff_t>(i); };
      list.erase(here());
      rebuilt(Change::kRemove, path, 0);
      list.insert(here(), node);
      list.insert(here(), node);
      rebuilt(Change::kDuplicate, path, 0);
      list.erase(here());
      if (i + 1 < list.size() && list[i + 1].type == node.type &&
          serialize({list[i]}) != serialize({list[i + 1]})) {
        std::swap(list[i], list[i + 1]);
        rebuilt(Change::kExchange, path, 0);
        std::swap(list[i], list[i + 1]);
      }
      const unsigned flags = node.type & kFlagBits;
      const unsigned type = node.type - flags;
      for (const unsigned other : {type - 1, type + 1}) {
        list[i].type = static_cast<std::uint16_t>(flags | (other & 0xffffU));
        rebuilt(Change::kRetype, path, other);
      }
      for (const unsigned flag : {1U << 15, 1U << 14}) {  // NLA_F_NESTED, NLA_F_NET_BYTEORDER
        list[i].type = static_cast<std::uint16_t>(node.type ^ flag);
        rebuilt(Change::kFlags, path, flag);
      }
      list[i] = node;
      resize(list[i], node);
      if (node.nested) {
        attributes(list[i].children);
      }
    }
  }

  void resize(Node& node, const Node& before) {
    const Bytes value = before.nested ? serialize(before.children) : before.value;
    node.nested = false;
    node.children.clear();
    for (std::size_t size = 0; size < value.size(); ++size) {
      node.value.assign(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(size));
      const bool unpadded =
          before.nested && size + paddingOf(before.children.back()) == value.size();
      rebuilt(unpadded ? Change::kUnpad : Change::kShorten, before.path, size);
    }
    for (const std::size_t more : {1U, 4U}) {
      node.value = value;
      node.value.resize(value.size() + more);
      rebuilt(Change::kLengthen, before.path, more);
    }
    node = before;
  }

  DumpId id_;
  std::size_t number_;
  RawMessage& message_;
  const RawMessage original_;
  Anatomy anatomy_;
  const std::string root_;
  const Show& show_;
};

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

bool endsWithDone(const std::vector<RawMessage>& dump) {
  nlmsghdr header{};
  std::memcpy(&header, dump.back().data(), sizeof header);
  return header.nlmsg_type == NLMSG_DONE;
}

// Changes of the list of messages.
void listMutants(Capture& capture, DumpId id, const Show& show) {
  const std::vector<DumpId> ids = allDumps(capture);
  auto& dump = *capture.dump(id);
  const std::vector<RawMessage> original = dump;
  const std::string path(dumpName(id));
  for (std::size_t i = 0; i < original.size(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    dump.erase(dump.begin() + at);
    show({Change::kDrop, path, i, 0, 0, id});
    for (const DumpId other : ids) {
      if (other != id) {
        auto& target = *capture.dump(other);
        const auto place =
            target.insert(target.end() - (endsWithDone(target) ? 1 : 0), original[i]);
        show({Change::kMove, path, i, static_cast<std::size_t>(other), 0, id});
        target.erase(place);
      }
    }
    dump = original;
    dump.insert(dump.begin() + at, original[i]);
    show({Change::kDouble, path, i, 0, 0, id});
    dump = original;
    if (i + 1 < original.size()) {
      std::swap(dump[i], dump[i + 1]);
      show({Change::kSwap, path, i, 0, 0, id});
      dump = original;
    }
  }
}

// Of the second reading, each dump taken away or emptied.
void missingMutants(Capture& capture, const Show& show) {
  for (const DumpId id : allDumps(capture)) {
    if (id >= DumpId::kLinksAgain) {
      const std::string path(dumpName(id));
      const auto original = capture.dump(id);
      capture.dump(id) = std::nullopt;
      show({Change::kDocument, path + ":missing"});
      capture.dump(id).emplace();
      show({Change::kDocument, path + ":empty"});
      capture.dump(id) = original;
    }
  }
}

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
        show({Change::kDocument, path, i, bit});
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

// Changes of what holds the dumps.
void documentMutants(Capture& capture, const Show& show) {
  const std::vector<DumpId> ids = allDumps(capture);
  const auto document = [&show](std::string_view path, std::size_t position = 0) {
    show({Change::kDocument, path, 0, position});
  };
  for (const DumpId id : ids) {
    const std::string path(dumpName(id));
    const auto original = capture.dump(id);
    capture.dump(id) = std::nullopt;
    document(path + ":missing");
    capture.dump(id).emplace();
    document(path + ":empty");
    capture.dump(id) = original;
    for (const DumpId other : ids) {
      if (other != id) {
        capture.dump(id) = capture.dump(other);
        document(path + ":replaced", static_cast<std::size_t>(other));
        capture.dump(id) = original;
      }
      if (id < other) {
        std::swap(capture.dump(id), capture.dump(other));
        document(path + ":exchanged", static_cast<std::size_t>(other));
        std::swap(capture.dump(id), capture.dump(other));
      }
    }
  }
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
         std::to_string(mutant.message) + ", at " + std::to_string(mutant.position) +
         (mutant.change == Change::kBit ? "." + std::to_string(mutant.bit) : "");
}

void forEachMutant(Capture& capture, Part part, const std::function<void(const Mutant&)>& show) {
  for (const DumpId id : allDumps(capture)) {
    if ((id >= DumpId::kLinksAgain) != (part == Part::kAgain)) {
      continue;
    }
    auto& dump = *capture.dump(id);
    for (std::size_t i = 0; i < dump.size(); ++i) {
      MessageMutants(id, i, dump[i], show).all();
    }
    listMutants(capture, id, show);
  }
  if (part == Part::kFirst) {
    documentMutants(capture, show);
    programMutants(capture, show);
  } else {
    missingMutants(capture, show);
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
