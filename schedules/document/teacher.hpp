#pragma once

#include "schedules/document/schedule.hpp"

namespace plumb {

/// Whether some X are forwards of a teacher (`ExtraWork::Kind::kTeacher`).
bool has_teacher(const Schedule& schedule);

}  // namespace plumb
