#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedules/document/action.hpp"
#include "sim/timeline/timeline.hpp"
#include "tools/reports/picture.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {

// The comparison card: runs on one time axis, as plain data. The terminal (tools/tables/card_text.hpp) and pictures
// (paper_picture.hpp) draw it. Times are nanoseconds.

struct CardSpan {
  double start = 0;
  double end = 0;
  Op op{};
  std::size_t shade = 0;         ///< 0 for the first stage that its device holds
  std::int64_t microbatch = -1;  ///< -1: none
  PictureSpan::Part part = PictureSpan::Part::kWhole;
};

struct CardGap {
  double start = 0;
  double end = 0;
  IdleCause cause{};
};

/// A device.
struct CardRow {
  std::vector<CardSpan> spans{};  ///< by start, those of pairs together
  std::vector<CardGap> gaps{};    ///< idle time
};

/// What is held from `time` on, in bytes or in stashes.
struct CardMemory {
  double time = 0;
  double amount = 0;
};

/// A run.
struct CardBlock {
  std::string title{};
  std::string remark{};                ///< beside the title: the difference to the first run
  std::vector<std::string> figures{};  ///< step time, idle share, peak memory
  double end = 0;                      ///< the makespan
  std::vector<CardRow> rows{};
  std::size_t fullest = 0;           ///< the device whose memory is drawn
  std::vector<CardMemory> memory{};  ///< its curve; empty: not known
};

/// Runs by step time; of equal ones the one that was given first stands first.
struct Card {
  std::string about{};  ///< what is true of all runs: devices, microbatches, costs
  TimeWords times{};    ///< units where all runs have abstract costs
  std::vector<CardBlock> blocks{};
  double longest = 0;      ///< end of the time axis
  bool in_bytes = false;   ///< unit of memory curves
  double most_memory = 0;  ///< of all curves; 0: there are none
};

struct CardRun {
  std::string title{};
  const Timeline* timeline = nullptr;  ///< never null, with spans; must outlive the call
  TimeWords times{};                   ///< units: its costs are abstract
};

/// The order of `runs` on a card.
std::vector<std::size_t> card_order(std::span<const CardRun> runs);

/// Runs beside each other. Throws `Error` where a run has no spans.
Card comparison_card(std::span<const CardRun> runs);

/// One run with its figures beside its title, and no memory.
Card single_card(const Timeline& timeline);

/// "1.12 times as long: idle at the start and the end": how the step of `run` differs from that of `first`, and why.
std::string difference_words(const Timeline& first, const Timeline& run);

/// The figures of a comparison for programs, in the order of the card.
std::string card_json(std::span<const CardRun> runs);

}  // namespace plumb
