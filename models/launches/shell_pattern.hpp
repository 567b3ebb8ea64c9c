#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "models/launches/shell_work.hpp"

namespace plumb {

/// Which part of a text a pattern is to describe.
enum class ShellPart : std::uint8_t { kShortestBeginning, kLongestBeginning, kShortestEnd, kLongestEnd };

/// Returns whether `text` is what the pattern describes, in which '*' and '?' stand for anything and any letter, and
/// [abc] for one of the letters. False, too, where `work` is exhausted.
bool shell_pattern_fits(std::string_view pattern, std::string_view text, ShellWork& work);

/// Returns the length of that part of `text` that `pattern` describes; none where there is no such part, or where
/// `work` is exhausted.
std::optional<std::size_t> shell_pattern_length(std::string_view pattern, std::string_view text, ShellPart part,
                                                ShellWork& work);

}  // namespace plumb
