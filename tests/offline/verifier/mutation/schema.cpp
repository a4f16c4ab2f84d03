// Rows of message types, and the walk along their tables; see schema.hpp.
#include "schema.hpp"

#include <linux/netfilter/nf_tables.h>
#include <linux/netlink.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>

#include "probe/link_selection.hpp"
#include "verifier/nft_expressions.hpp"
#include "verifier/nft_tables.hpp"
#include "verifier/tc_tables.hpp"

namespace vethgate::test {
namespace {

struct Field {
  const char* name;
  std::size_t size;
};
using Fields = std::span<const Field>;

constexpr std::array kMessageHeader = {Field{"nlmsg_len", 4}, Field{"nlmsg_type", 2},
                                       Field{"nlmsg_flags", 2}, Field{"nlmsg_seq", 4},
                                       Field{"nlmsg_pid", 4}};
constexpr std::array kLinkHeader = {Field{"ifi_family", 1}, Field{"ifi_pad", 1},
                                    Field{"ifi_type", 2},   Field{"ifi_index", 4},
                                    Field{"ifi_flags", 4},  Field{"ifi_change", 4}};
constexpr std::array kTcHeader = {
    Field{"tcm_family", 1}, Field{"tcm_pad1", 1},   Field{"tcm_pad2", 2}, Field{"tcm_ifindex", 4},
    Field{"tcm_handle", 4}, Field{"tcm_parent", 4}, Field{"tcm_info", 4}};
constexpr std::array kNftHeader = {Field{"nfgen_family", 1}, Field{"version", 1},
                                   Field{"res_id", 2}};
constexpr std::array kDone = {Field{"error", 4}};

struct Row {
  DumpId id;
  Fields fixed;
  const AttributeTable* table;  // nullptr: a plan leads to no such message
  // The places whose values say which list of the dump a message belongs to.
  std::span<const char* const> list;
};

constexpr std::array kByLink = {"/ifi_index", "/tcm_ifindex"};
constexpr std::array kByPref = {"/tcm_info"};  // with the protocol
constexpr std::array kByTable = {"/nfgen_family", "/NFTA_TABLE_NAME", "/NFTA_CHAIN_TABLE"};
constexpr std::array kByChain = {"/nfgen_family", "/NFTA_RULE_TABLE", "/NFTA_RULE_CHAIN"};
constexpr std::array kBySet = {"/NFTA_SET_NAME", "/NFTA_SET_ELEM_LIST_SET"};

const std::array<Row, kDumpCount> kRows = {{
    {DumpId::kLinks, kLinkHeader, &kLinkTable, kByLink},
    {DumpId::kQdiscs, kTcHeader, &tc::kQdisc, kByLink},
    {DumpId::kFiltersEgress, kTcHeader, &tc::kFilter, kByPref},
    {DumpId::kFiltersIngress, kTcHeader, &tc::kFilter, {}},
    {DumpId::kChainsEgress, kTcHeader, &tc::kChain, {}},
    {DumpId::kChainsIngress, kTcHeader, &tc::kChain, {}},
    {DumpId::kNftGenerationBefore, kNftHeader, &nft::kGeneration, {}},
    {DumpId::kNftTables, kNftHeader, &nft::kTable, kByTable},
    {DumpId::kNftChains, kNftHeader, &nft::kChain, kByTable},
    {DumpId::kNftRules, kNftHeader, &nft::kRule, kByChain},
    {DumpId::kNftSets, kNftHeader, &nft::kSet, kBySet},
    {DumpId::kNftElements, kNftHeader, &nft::kElements, kBySet},
    {DumpId::kNftObjects, kNftHeader, nullptr, {}},
    {DumpId::kNftFlowtables, kNftHeader, nullptr, {}},
    {DumpId::kNftGenerationAfter, kNftHeader, &nft::kGeneration, {}},
    {DumpId::kLinksAgain, kLinkHeader, &kLinkTable, kByLink},
    {DumpId::kQdiscsAgain, kTcHeader, &tc::kQdisc, kByLink},
    {DumpId::kFiltersEgressAgain, kTcHeader, &tc::kFilter, kByPref},
    {DumpId::kFiltersIngressAgain, kTcHeader, &tc::kFilter, {}},
    {DumpId::kChainsEgressAgain, kTcHeader, &tc::kChain, {}},
    {DumpId::kChainsIngressAgain, kTcHeader, &tc::kChain, {}},
}};

const Row& rowOf(DumpId id) {
  const auto* const row =
      std::find_if(kRows.begin(), kRows.end(), [id](const Row& one) { return one.id == id; });
  if (row == kRows.end()) {
    throw std::logic_error("no row for the dump " + std::string(dumpName(id)));
  }
  return *row;
}

const AttributeSpec& specOf(const AttributeTable& table, unsigned type, const std::string& path) {
  if (table.element != nullptr) {
    return *table.element;
  }
  const auto spec = std::find_if(table.specs.begin(), table.specs.end(),
                                 [type](const AttributeSpec& one) { return one.type == type; });
  if (spec == table.specs.end()) {
    throw std::logic_error(path + ": the tables have no attribute " + std::to_string(type));
  }
  return *spec;
}

std::string_view textOf(const Bytes& value) {
  return {reinterpret_cast<const char*>(value.data()), value.empty() ? 0 : value.size() - 1};
}

class Walk {
 public:
  explicit Walk(std::vector<Region>& regions) : regions_(regions) {}

  void add(const std::string& path, std::size_t size) {
    if (size != 0) {
      regions_.push_back({path, at_, at_ + size});
      at_ += size;
    }
  }

  void addFields(const std::string& parent, Fields fields) {
    for (const Field& field : fields) {
      add(parent + "/" + field.name, field.size);
    }
  }

  std::vector<Node> attributes(const AttributeTable& table, ByteView bytes,
                               const std::string& parent) {
    std::vector<Node> nodes;
    while (!bytes.empty()) {
      nlattr header{};
      if (bytes.size() < sizeof header) {
        throw std::logic_error(parent + ": ends amid an attribute");
      }
      std::memcpy(&header, bytes.data(), sizeof header);
      if (header.nla_len < sizeof header || header.nla_len > bytes.size()) {
        throw std::logic_error(parent + ": an attribute is longer than what holds it");
      }
      const auto type = static_cast<std::uint16_t>(header.nla_type & NLA_TYPE_MASK);
      const AttributeSpec& spec = specOf(table, type, parent);
      const ByteView value = bytes.subspan(sizeof header, header.nla_len - sizeof header);
      Node node;
      node.type = header.nla_type;
      node.path = parent + "/" + spec.name;
      const AttributeTable* below = spec.table;
      // The one payload whose table is chosen by a sibling.
      if (std::string_view(spec.name) == "NFTA_EXPR_DATA" && !nodes.empty()) {
        const std::string_view name = textOf(nodes.front().value);
        below = nft::expressionTable(name);
        node.path += "(" + std::string(name) + ")";
      }
      add(node.path + ":nla_len", 2);
      add(node.path + ":nla_type", 2);
      node.nested = below != nullptr;
      if (node.nested) {
        node.children = attributes(*below, value, node.path);
      } else {
        node.value.assign(value.begin(), value.end());
        add(node.path, value.size());
      }
      const std::size_t step = std::min<std::size_t>(NLA_ALIGN(header.nla_len), bytes.size());
      add(node.path + ":padding", step - header.nla_len);
      bytes = bytes.subspan(step);
      nodes.push_back(std::move(node));
    }
    return nodes;
  }

 private:
  std::vector<Region>& regions_;
  std::size_t at_ = 0;
};

void append(Bytes& bytes, const std::vector<Node>& attributes) {
  for (const Node& node : attributes) {
    const std::size_t start = bytes.size();
    bytes.resize(start + sizeof(nlattr));
    if (node.nested) {
      append(bytes, node.children);
    } else {
      bytes.insert(bytes.end(), node.value.begin(), node.value.end());
    }
    const nlattr header{static_cast<std::uint16_t>(bytes.size() - start), node.type};
    std::memcpy(bytes.data() + start, &header, sizeof header);
    bytes.resize(NLA_ALIGN(bytes.size()));
  }
}

}  // namespace

Bytes serialize(const std::vector<Node>& attributes) {
  Bytes bytes;
  append(bytes, attributes);
  return bytes;
}

Anatomy dissect(DumpId id, const RawMessage& message) {
  const Row& row = rowOf(id);
  Anatomy anatomy;
  Walk walk(anatomy.regions);
  const std::string root(dumpName(id));
  nlmsghdr header{};
  std::memcpy(&header, message.data(), sizeof header);
  const bool done = header.nlmsg_type == NLMSG_DONE;
  walk.addFields(done ? root + "/NLMSG_DONE" : root, kMessageHeader);
  walk.addFields(done ? root + "/NLMSG_DONE" : root, done ? Fields(kDone) : row.fixed);
  anatomy.attributesAt = anatomy.regions.back().end;
  if (!done) {
    if (row.table == nullptr) {
      throw std::logic_error(root + ": a plan leads to no such message, and no table describes it");
    }
    const ByteView rest = ByteView(message).subspan(anatomy.attributesAt);
    anatomy.attributes = walk.attributes(*row.table, rest, root);
    if (serialize(anatomy.attributes) != Bytes(rest.begin(), rest.end())) {
      throw std::logic_error(root + ": a message does not survive being taken apart");
    }
  }
  if (anatomy.regions.back().end != message.size()) {
    throw std::logic_error(root + ": bytes of a message belong to no place");
  }
  return anatomy;
}

std::string listOf(DumpId id, const RawMessage& message) {
  const Anatomy anatomy = dissect(id, message);
  if (anatomy.attributes.empty()) {
    return "";
  }
  std::string list(dumpName(id));
  for (const Region& region : anatomy.regions) {
    for (const std::string_view place : rowOf(id).list) {
      if (region.path.ends_with(place)) {
        list.append(message.begin() + static_cast<std::ptrdiff_t>(region.begin),
                    message.begin() + static_cast<std::ptrdiff_t>(region.end));
      }
    }
  }
  return list;
}

}  // namespace vethgate::test
