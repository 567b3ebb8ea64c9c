#pragma once

#include <span>
#include <string_view>

namespace plumb {

/// One file schedules/catalogue/GROUP/*.rules, compiled into the library.
struct WrittenSchedule {
  std::string_view group;
  std::string_view text;
};

/// All of them, by group and file.
std::span<const WrittenSchedule> written_schedules();

}  // namespace plumb
