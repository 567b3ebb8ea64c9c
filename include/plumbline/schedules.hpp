#pragma once

// Who does what, in which order: every schedule, its document, its checks and its program. Library: plumb::schedules.

#include "schedules/catalogue/list_builder.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/action.hpp"
#include "schedules/document/schedule.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/program.hpp"
#include "schedules/versions/delays.hpp"
