#pragma once

#include <string>

#include "tools/reports/card.hpp"
#include "tools/tables/text_timeline.hpp"

namespace plumb {

/// Runs above each other on one time axis, as wide as the terminal: of every run its title, a row per device with its
/// figures at the right end, and the memory of its fullest device. Every column shows the op that takes most of its
/// time; where nearly all actions have room for their names, these, and `=` for as long as they last.
///
///   zb-v
///   d0 | F0F1F2F3B0==  | 25.5 ms
///   d1 |   F0F1F2B0==  | 5.9 % idle
///   mem| ▁▂▄▆█▆▄▂      | 4 stashes
std::string card_text(const Card& card, const TextTimelineOptions& options = {});

}  // namespace plumb
