#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "schedules/document/schedule_io.hpp"

namespace plumb::testing {

/// A device's list written by plain loops, for comparison with the folded one.
class Unrolled {
 public:
  Unrolled& add(std::int64_t stage, const char* op, std::int64_t number) {
    text_ += (text_.empty() ? "" : " ") + std::to_string(stage) + op + std::to_string(number);
    return *this;
  }
  Unrolled& add_collective(std::int64_t stage, const char* op) {
    text_ += (text_.empty() ? "" : " ") + std::to_string(stage) + op;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The expanded list of a device: texts of its actions, overlapped pairs as two.
inline std::string list_text(const Schedule& schedule, std::int64_t device) {
  std::string text;
  for (const Action& action : expand(schedule.devices[static_cast<std::size_t>(device)])) {
    text += (text.empty() ? "" : " ") + to_string(action);
  }
  return text;
}

}  // namespace plumb::testing
