// What every container of vethgate's is named and labelled with, so that another process can tell
// whose it is, what it is for and when nobody needs it any more. It must not know an engine's
// calls.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "docker/engine/types.hpp"

namespace vethgate::docker {

inline constexpr const char* kOwnerLabel = "vethgate.owner";
inline constexpr const char* kJobLabel = "vethgate.job";
inline constexpr const char* kRoleLabel = "vethgate.role";                 // one of the three below
inline constexpr const char* kRemoveAfterLabel = "vethgate.remove-after";  // unix second, decimal
// Tells the containers of one attempt from those of another for the same job.
inline constexpr const char* kAttemptLabel = "vethgate.attempt";

inline constexpr const char* kHolderRole = "holder";
inline constexpr const char* kHelperRole = "helper";
// The job's own container, which the worker starts with the labels of the answer.
inline constexpr const char* kJobRole = "job";

// What the helpers of an attempt are for; others carry a verb of their own.
inline constexpr std::array kVerbs{"host", "apply", "verify"};

[[nodiscard]] std::string holderName(const std::string& job);  // "vethgate-JOB"
// "vethgate.VERB-JOB": no job has an id that makes this the name of its holder.
[[nodiscard]] std::string helperName(const std::string& job, const std::string& verb);

// The unix second of kRemoveAfterLabel; nullopt when it is missing, or no decimal number of 64 bits
// and nothing else.
[[nodiscard]] std::optional<std::uint64_t> stampOf(const Labels& labels);

}  // namespace vethgate::docker
