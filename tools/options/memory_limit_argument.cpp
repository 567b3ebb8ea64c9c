#include "tools/options/memory_limit_argument.hpp"

#include "models/ground/error.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr const char* kMemoryLimitOption = "--memory-limit";

}  // namespace

MemoryLimit parse_memory_limit(const std::string& text, bool in_bytes) {
  MemoryLimit limit{.in_bytes = in_bytes, .value = std::nullopt};
  if (text.empty()) return limit;
  if (!in_bytes && text.find_first_of("kKMGTB") != std::string::npos) {
    throw Error(std::string(kMemoryLimitOption) + ": '" + text +
                "' is of bytes, and abstract costs have none; expected a number of stashes such as 2.5");
  }
  limit.value = in_bytes ? static_cast<double>(parse_bytes(text, kMemoryLimitOption))
                         : parse_real(text, kMemoryLimitOption, {.least = 0});
  return limit;
}

MemoryLimit parse_memory_limit(const std::string& text, const StageCosts& costs) {
  return parse_memory_limit(text, !costs.memory.empty() && costs.memory_units_per_one == 0);
}

}  // namespace plumb
