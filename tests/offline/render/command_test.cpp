// vethgate-render as it is called: options, exit codes, streams, and what it is linked with.
#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "support.hpp"

namespace vethgate::test {
namespace {

CommandResult render(const std::vector<std::string>& arguments, const std::string& input = "") {
  return runCommand("vethgate-render", arguments, input);
}

std::string linkPath() { return goldenFolder() / "link.json"; }
std::string policyPath(const std::string& name) { return goldenFolder() / name / "policy.json"; }

TEST(RenderCommand, emitsEachForm) {
  for (const auto& [form, file] :
       std::vector<std::pair<std::string, std::string>>{{"plan", "plan.json"},
                                                        {"iptables-save", "iptables-save"},
                                                        {"tc", "tc"},
                                                        {"table", "table"}}) {
    const CommandResult result =
        render({"--link", linkPath(), "--policy", policyPath("reference"), "--emit", form});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    EXPECT_EQ(result.out, readText(goldenFolder() / "reference" / file));
    EXPECT_EQ(result.err, "");
  }
}

TEST(RenderCommand, readsThePolicyFromItsInput) {
  const std::string policy = readText(policyPath("minimal"));
  const std::string expected = readText(goldenFolder() / "minimal/plan.json");
  EXPECT_EQ(render({"--link", linkPath(), "--emit", "plan"}, policy).out, expected);
  EXPECT_EQ(render({"--link", linkPath(), "--policy", "-", "--emit", "plan"}, policy).out,
            expected);
}

TEST(RenderCommand, saysWhatItIs) {
  const CommandResult version = render({"--version"});
  EXPECT_EQ(version.exitCode, 0);
  EXPECT_EQ(version.out, std::string(VETHGATE_VERSION) + "\n");
  const CommandResult help = render({"--help"});
  EXPECT_EQ(help.exitCode, 0);
  EXPECT_NE(help.out.find("--link"), std::string::npos);
}

struct BadCall {
  std::vector<std::string> arguments;
  std::string input;
  const char* message;
};

TEST(RenderCommand, refusesWithASentenceAndNoAnswer) {
  const std::string good = R"({"version":1})";
  const std::vector<BadCall> calls{
      {{}, good, "--link"},
      {{"--link", linkPath()}, good, "--emit"},
      {{"--link", linkPath(), "--emit", "json"}, good, "--emit"},
      {{"--link", linkPath(), "--emit", "plan", "--emit", "tc"}, good, "--emit"},
      {{"--link", linkPath(), "--emit", "plan", "--frob"}, good, "--frob"},
      {{"--link", linkPath(), "--emit", "plan", "extra"}, good, "extra"},
      {{"--link", "/nonexistent/link", "--emit", "plan"}, good, "/nonexistent/link"},
      {{"--link", linkPath(), "--policy", "/nonexistent/policy", "--emit", "plan"}, "", "policy"},
      {{"--link", "-", "--emit", "plan"}, good, "standard input"},
      {{"--link", policyPath("minimal"), "--emit", "plan"}, good, "link"},
      {{"--link", linkPath(), "--emit", "plan"}, "", "policy"},
      {{"--link", linkPath(), "--emit", "plan"}, "{", "policy"},
      {{"--link", linkPath(), "--emit", "plan"},
       R"({"version":1,"default":"x"})",
       "policy.default"},
      {{"--link", linkPath(), "--emit", "tc"}, R"({"version":1,"layers":["iptables"]})", "flower"},
      {{"--link", linkPath(), "--emit", "plan"}, std::string((4 << 20) + 1, ' '), "policy"},
  };
  for (const BadCall& call : calls) {
    const CommandResult result = render(call.arguments, call.input);
    EXPECT_EQ(result.exitCode, 2) << call.message;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(result.err.rfind("vethgate-render: ", 0), 0U) << result.err;
    EXPECT_NE(result.err.find(call.message), std::string::npos) << result.err;
    EXPECT_EQ(result.err.find('\n'), result.err.size() - 1) << result.err;
  }
  EXPECT_EQ(render({"--link", linkPath(), "--emit", "plan"}, good).exitCode, 0);
}

// The names in the symbol table of a 64-bit little-endian ELF file (elf(5)): of what is linked into
// it, and of what it imports.
std::set<std::string> symbolsOf(const std::string& command) {
  const std::string path = std::string(VETHGATE_BIN_DIR) + "/" + command;
  const std::string file = readText(path);
  const auto at = [&]<class T>(T value, std::uint64_t offset) {
    if (offset + sizeof value > file.size()) {
      throw std::runtime_error("ELF structure past the end of " + path);
    }
    std::memcpy(&value, file.data() + offset, sizeof value);
    return value;
  };
  const auto header = at(Elf64_Ehdr{}, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    throw std::runtime_error(path + " is not a 64-bit ELF file");
  }
  std::set<std::string> names;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = at(Elf64_Shdr{}, header.e_shoff + i * header.e_shentsize);
    if (section.sh_type != SHT_SYMTAB) {
      continue;
    }
    const auto strings =
        at(Elf64_Shdr{}, header.e_shoff + std::uint64_t{section.sh_link} * header.e_shentsize);
    for (std::uint64_t entry = 0; entry < section.sh_size; entry += sizeof(Elf64_Sym)) {
      const auto symbol = at(Elf64_Sym{}, section.sh_offset + entry);
      names.emplace(file.c_str() + strings.sh_offset + symbol.st_name);
    }
  }
  return names;
}

bool holds(const std::set<std::string>& symbols, const std::string& part) {
  return std::any_of(symbols.begin(), symbols.end(),
                     [&](const auto& name) { return name.find(part) != std::string::npos; });
}

// The link line is the architecture: what decides the rules has no way to a kernel. Each name is of
// a room or library that another command is linked with, which shows that it would be seen.
TEST(RenderCommand, isLinkedWithoutNetlink) {
  const std::set<std::string> render = symbolsOf("vethgate-render");
  const std::set<std::string> probe = symbolsOf("vethgate-probe");
  EXPECT_TRUE(holds(render, "readPolicy"));
  for (const char* name : {"NetlinkSocket", "AttributeReader", "seccomp_load", "capng_apply"}) {
    EXPECT_TRUE(holds(probe, name)) << name;
    EXPECT_FALSE(holds(render, name)) << name;
  }
}

// Nothing of the sockets API either, and no way to another program, whichever library would bring
// it: the program is static, so that whatever it may call is in it.
#ifndef VETHGATE_SANITIZE  // whose runtime is in the program, and wraps all of them
TEST(RenderCommand, holdsNoSocketFunction) {
  const std::set<std::string> render = symbolsOf("vethgate-render");
  const std::set<std::string> probe = symbolsOf("vethgate-probe");
  EXPECT_TRUE(render.contains("write"));
  EXPECT_FALSE(holds(render, "@GLIBC")) << "something is imported";
  for (const char* function : {"socket", "sendto", "connect", "bind"}) {
    EXPECT_TRUE(probe.contains(function)) << function;
  }
  for (const char* function : {"socket", "sendmsg", "sendto", "connect", "bind", "fork", "vfork",
                               "execve", "posix_spawn", "system", "popen"}) {
    EXPECT_FALSE(render.contains(function)) << function;
    EXPECT_FALSE(render.contains(std::string("__") + function)) << function;
  }
}
#endif

}  // namespace
}  // namespace vethgate::test
