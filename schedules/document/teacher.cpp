#include "schedules/document/teacher.hpp"

#include <algorithm>

namespace plumb {

bool has_teacher(const Schedule& schedule) {
  return std::ranges::any_of(schedule.extras,
                             [](const auto& extra) { return extra.second.kind == ExtraWork::Kind::kTeacher; });
}

}  // namespace plumb
