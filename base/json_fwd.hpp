// The name of a JSON value, for headers that only pass one on: json.hpp itself takes seconds to
// compile.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace vethgate {

using Json = nlohmann::json;

}  // namespace vethgate
