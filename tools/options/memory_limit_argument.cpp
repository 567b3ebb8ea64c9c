#include "tools/options/memory_limit_argument.hpp"

#include "tools/options/cost_arguments.hpp"
#include "tools/terminal/words.hpp"

namespace plumb {
namespace {

constexpr const char* kMemoryLimitOption = "--memory-limit";

}  // namespace

MemoryLimit parse_memory_limit(const std::string& text, const StageCosts& costs) {
  MemoryLimit limit{.in_bytes = !costs.memory.empty() && costs.memory_units_per_one == 0, .value = std::nullopt};
  if (text.empty()) return limit;
  limit.value = limit.in_bytes ? static_cast<double>(parse_bytes(text, kMemoryLimitOption))
                               : parse_real(text, kMemoryLimitOption, {.least = 0});
  return limit;
}

}  // namespace plumb
