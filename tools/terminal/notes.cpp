#include "tools/terminal/notes.hpp"

#include <cstdint>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/units.hpp"
#include "tools/terminal/quantity_text.hpp"

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

void note_long_work(std::string_view doing, const WorkSize& size) {
  constexpr double kLongSeconds = 5;
  if (size.seconds < kLongSeconds) return;
  note(std::string(doing) + ' ' + std::to_string(size.actions) + " actions: about " +
       time_text(static_cast<std::int64_t>(size.seconds * kNsPerSecond)) + " and " + bytes_text(size.bytes) +
       " of memory");
}

void note_long_run(const WorkSize& size) { note_long_work("simulating", size); }

}  // namespace plumb
