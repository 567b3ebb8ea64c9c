#include "tools/terminal/held_notes.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/terminal/not_in_program.hpp"
#include "tools/terminal/notes.hpp"

namespace plumb {

void with_held_notes(const std::function<void()>& work) {
  std::optional<CollectedNotes> held(std::in_place);
  const auto tell = [&held] {
    const std::vector<std::string> lines = held->lines();
    held.reset();
    for (const std::string& line : lines) note(line);
  };
  try {
    work();
  } catch (const NotInProgram&) {
    throw;
  } catch (...) {
    tell();
    throw;
  }
  tell();
}

}  // namespace plumb
