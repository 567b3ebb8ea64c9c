#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

namespace plumb {

// Choices that were made once for a machine and a library, kept as text: a first line that says what they are for, then
// a line for each choice.

/// Gives every row behind the first line to `take`, with "NAME:LINE: " for its messages. Throws `Error` where the first
/// line is not `head`: the choices are for another library or machine, or the text is none.
void read_choices(std::string_view text, const std::string& name, const std::string& head,
                  const std::function<void(std::string_view row, const std::string& where)>& take);

/// Writes the whole file and puts it into its place once it is on the disk: the old one stays if anything fails.
void save_choices(const std::filesystem::path& path, const std::string& text);

}  // namespace plumb
