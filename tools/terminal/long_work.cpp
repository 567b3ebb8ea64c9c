#include "tools/terminal/long_work.hpp"

#include <cstdint>
#include <string>

#include "models/ground/units.hpp"
#include "tools/terminal/notes.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {

void note_long_work(std::string_view doing, const WorkSize& size) {
  constexpr double kLongSeconds = 5;
  if (size.seconds < kLongSeconds) return;
  note(std::string(doing) + ' ' + std::to_string(size.actions) + " actions: about " +
       time_text(static_cast<std::int64_t>(size.seconds * kNsPerSecond)) + " and " + bytes_text(size.bytes) +
       " of memory");
}

void note_long_run(const WorkSize& size) { note_long_work("simulating", size); }

}  // namespace plumb
