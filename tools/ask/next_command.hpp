#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb {

/// The options that a question was asked with (`OptionTable::given`).
using GivenOptions = std::vector<std::pair<std::string, std::string>>;

/// Whether the option of this long name is among `given`.
bool is_given(const GivenOptions& given, std::string_view name);

/// " --network gpt2-small --tp 2": all of `given`.
std::string all_options(const GivenOptions& given);

/// Those of `given` that are called in `names`.
std::string kept_options(const GivenOptions& given, const std::vector<std::string_view>& names);

/// Those that the commands of these names have, too, but for those called in `left_out`.
std::string carried_to_simulate(const GivenOptions& given, const std::vector<std::string_view>& left_out = {});
std::string carried_to_sweep(const GivenOptions& given, const std::vector<std::string_view>& left_out = {});

/// " a.json b.json", quoted for a shell.
std::string shell_words(const std::vector<std::string>& words);

}  // namespace plumb
