#pragma once

#include <string_view>

namespace plumb {

/// One option of a schedule.
struct ScheduleOption {
  std::string_view name;
  std::string_view values;         ///< "a|b" for words, "N" or "L,L,..." for numbers
  std::string_view default_value;  ///< the value, or in words what holds without the option
  std::string_view meaning;        ///< what it decides, as a phrase
};

}  // namespace plumb
