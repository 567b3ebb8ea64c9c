#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumb::testing {

/// The lists with communication that PyTorch 2.14 makes of compute-only lists, bubbles left out. Written from the
/// description of its passes, on texts, and knowing nothing of our lowering. A stage is on the rank whose list names
/// it.
std::vector<std::vector<std::string>> torch_program(const std::vector<std::vector<std::string>>& compute,
                                                    std::int64_t microbatches, bool late_receives);

}  // namespace plumb::testing
