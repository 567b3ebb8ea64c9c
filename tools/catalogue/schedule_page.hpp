#pragma once

#include <string>

#include "schedules/catalogue/registry.hpp"

namespace plumb {

/// Everything about one schedule, for a terminal: its row of the catalogue, its options and an example.
std::string schedule_page_text(const ScheduleSpec& spec, bool colour = false);

/// The same as a Markdown document.
std::string schedule_page_markdown(const ScheduleSpec& spec);

/// The table of all schedules, with links to their pages in the same folder, as a Markdown document.
std::string schedule_index_markdown();

}  // namespace plumb
