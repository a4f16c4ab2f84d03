// All changes within one message; see message_mutants.hpp.
#include "message_mutants.hpp"

#include <linux/netlink.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "schema.hpp"

namespace vethgate::test {
namespace {

// The header's own are signed.
constexpr std::uint16_t kFlagBits = NLA_F_NESTED | NLA_F_NET_BYTEORDER;

constexpr std::uint16_t kNoType = 0;
constexpr std::uint16_t kUnknownType = 0x3fff;  // the highest there can be

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
  MessageMutants(RawMessage& message, const Place& place, const Show& show)
      : place_(place),
        message_(message),
        original_(message),
        anatomy_(dissect(place.dump, message)),
        root_(dumpName(place.dump)),
        show_(show) {}

  void all() {
    bits();
    cuts();
    interrupt();
    headers();
    if (!anatomy_.attributes.empty()) {
      attributes(anatomy_.attributes, root_);
      wholePayload();
    }
  }

 private:
  void show(Change change, std::string_view path, std::size_t position, unsigned bit = 0) {
    show(Mutant{change, path, position, bit, place_});
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

  void resized(std::size_t size) {
    message_.resize(size);
    if (size >= sizeof(std::uint32_t)) {
      store(message_, offsetof(nlmsghdr, nlmsg_len), static_cast<std::uint32_t>(size));
    }
  }

  // Cut within its fixed headers, with the right nlmsg_len; of a message without attributes more.
  void headers() {
    for (std::size_t size = 0; size < anatomy_.attributesAt; ++size) {
      resized(size);
      show(Change::kShorten, root_ + ":header", size);
      message_ = original_;
    }
    if (anatomy_.attributes.empty()) {
      for (const std::size_t more : {1U, 4U}) {
        resized(original_.size() + more);
        show(Change::kLengthen, root_ + ":header", more);
        message_ = original_;
      }
    }
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
      cuts.push_back({Change::kShorten, root_, size, 0, place_});
    }
    std::size_t end = 0;  // of what is kept
    std::size_t padding = 0;
    std::vector<std::string> onward;
    onward.reserve(anatomy_.attributes.size());
    for (const Node& next : anatomy_.attributes) {
      onward.push_back(next.path + ":onward");
      for (std::size_t missing = 0; missing <= padding; ++missing) {
        cuts[end - missing] = {Change::kShorten, onward.back(), missing, 0, place_};
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

  // One attribute more, of types that nothing has.
  void unknown(std::vector<Node>& list, const std::string& path) {
    const std::string added = path + ":added";
    for (const bool first : {true, false}) {
      for (const std::uint16_t type : {kNoType, kUnknownType}) {
        for (const std::size_t size : {0U, 4U}) {
          const auto at = list.insert(first ? list.begin() : list.end(), Node{});
          at->type = type;
          at->value.resize(size);
          rebuilt(Change::kAdd, added, type + size + (first ? 1U << 16U : 0));
          list.erase(first ? list.begin() : list.end() - 1);
        }
      }
    }
  }

  void attributes(std::vector<Node>& list, const std::string& parent) {
    unknown(list, parent);
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
        attributes(list[i].children, path);
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
      for (const std::uint8_t filling : {std::uint8_t{0}, std::uint8_t{0xff}}) {
        node.value = value;
        node.value.resize(value.size() + more, filling);
        rebuilt(Change::kLengthen, before.path, more);
      }
    }
    node = before;
  }

  const Place place_;
  RawMessage& message_;
  const RawMessage original_;
  Anatomy anatomy_;
  const std::string root_;
  const Show& show_;
};

}  // namespace

void forEachMutantOf(RawMessage& message, const Place& place, const Show& show) {
  MessageMutants(message, place, show).all();
}

}  // namespace vethgate::test
