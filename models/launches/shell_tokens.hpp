#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plumb {

/// A piece of a shell script, before anything in it is replaced.
struct ShellToken {
  enum class Kind : std::uint8_t {
    kWord,
    kOperator,  ///< ; & && || | ( ) ;; and redirections; "\n" for the end of a line
    kArray,     ///< NAME=( or NAME+=(; the words up to the next kArrayEnd are its elements
    kArrayEnd,
    kHereText,  ///< what stands below a line with <<WORD; `quoted`: nothing in it is replaced
  };

  Kind kind = Kind::kWord;
  std::string text;  ///< text of words with their quotes
  std::size_t line = 1;
  bool quoted = false;
};

/// Returns the tokens of a script in the language of bash; comments are left out. Throws `Error` with `name` and the
/// line for a quote or bracket that does not end.
std::vector<ShellToken> shell_tokens(std::string_view script, const std::string& name, std::size_t first_line = 1);

/// Returns the place behind what begins at `at` with a quote, "${", "$(" or "`"; `at` itself where nothing begins;
/// npos: it does not end.
std::size_t shell_unit_end(std::string_view text, std::size_t at);

/// Returns whether `text` can be the name of a variable.
bool is_shell_name(std::string_view text);

/// NAME of "NAME=..." or "NAME+=...", and where its value begins.
std::optional<std::pair<std::string_view, std::size_t>> assigned_name(std::string_view word);

}  // namespace plumb
