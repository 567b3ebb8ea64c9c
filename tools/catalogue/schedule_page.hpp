#pragma once

#include <string>

#include "schedules/catalogue/registry.hpp"
#include "sim/timeline/timeline.hpp"

namespace plumb {

/// A small run of a schedule of the catalogue: as many devices and microbatches as the schedule accepts and a drawing
/// shows action by action in 116 columns, or where that is too little in at most `kMostExampleColumns`.
struct ScheduleExample {
  std::string command;  ///< "simulate zb-v -p 2 -m 4 --cost F=1,I=1,W=1"
  Timeline timeline;    ///< what this command predicts
  std::string drawing;  ///< of the timeline, in characters
};

inline constexpr int kMostExampleColumns = 144;

/// The example of `spec`. The same bytes every time.
ScheduleExample schedule_example(const ScheduleSpec& spec);

/// Everything about one schedule, for a terminal: its row of the catalogue, its options and an example.
std::string schedule_page_text(const ScheduleSpec& spec, bool colour = false);

/// The same as a Markdown document.
std::string schedule_page_markdown(const ScheduleSpec& spec);

/// The table of all schedules, with links to their pages in the same folder, as a Markdown document.
std::string schedule_index_markdown();

}  // namespace plumb
