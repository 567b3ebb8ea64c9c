#include "tools/terminal/notes.hpp"

#include <iostream>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

thread_local CollectedNotes* innermost = nullptr;

}  // namespace

CollectedNotes::CollectedNotes() : outer_(innermost) { innermost = this; }

CollectedNotes::~CollectedNotes() { innermost = outer_; }

void note(std::string_view line) {
  if (innermost != nullptr) {
    innermost->lines_.emplace_back(line);
  } else {
    std::cerr << printable(line) << '\n';
  }
}

}  // namespace plumb
