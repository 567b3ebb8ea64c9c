#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/action.hpp"

namespace plumb {

/// One row of a drawing in characters with the op that each belongs to. Blanks are idle and have no colour.
class CharacterRow {
 public:
  explicit CharacterRow(std::size_t width) : text_(width, ' '), ops_(width, kNone) {}

  /// What stands beyond the end is left out.
  void write(std::size_t begin, std::string_view text, Op op);
  /// The characters from `begin` to `end`, with ANSI colours by op or without.
  std::string to_string(bool colour, std::size_t begin, std::size_t end) const;
  std::string to_string(bool colour) const { return to_string(colour, 0, text_.size()); }

 private:
  static constexpr int kNone = -1;

  std::string text_;
  std::vector<int> ops_;
};

}  // namespace plumb
