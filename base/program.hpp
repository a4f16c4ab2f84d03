// What every vethgate command shares: one place where failures become exit codes, bounded input,
// and answers on stdout.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/deadline.hpp"
#include "base/digest.hpp"

namespace vethgate {

// Runs `body`, and turns a Failure into its exit code and its message into the last line on stderr.
// Any other exception is a defect (exit 1). The body returns the exit code of the normal case.
[[nodiscard]] int runMain(std::string_view program, const std::function<int()>& body);

// One line on stderr, `program` first; what is not printable ASCII becomes '?', so that text of the
// kernel cannot pass for a line of ours. Nothing is left to tell a failure to: it is passed over.
void tell(std::string_view program, const std::string& sentence);
[[nodiscard]] std::string printable(std::string text);

// Whoever feeds a command has its documents ready; one that is still open after this is stuck.
inline constexpr std::chrono::milliseconds kInputTime{60'000};

// Reads `fd` to its end; refuses (kBadInput) more than `maxBytes`, and an end that does not come in
// time (kDeadline).
[[nodiscard]] std::string readAll(int fd, const std::string& what, std::size_t maxBytes,
                                  const Deadline& deadline = Deadline::after(kInputTime));
// "-" is standard input.
[[nodiscard]] std::string readFile(const std::string& path, const std::string& what,
                                   std::size_t maxBytes);

// Writes all of `text`; a write that fails is kDefect, since an answer that nobody got is no
// answer.
void writeAll(int fd, std::string_view text);

}  // namespace vethgate
