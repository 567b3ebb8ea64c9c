#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "schedules/phases/phase_pattern.hpp"

namespace plumb {

/// A part of a stream of chunks: a chunk `count` times, or each of all of them, up or down.
struct StreamPart {
  enum class Kind : std::uint8_t { kChunk, kUp, kDown };
  Kind kind = Kind::kChunk;
  std::int32_t chunk = 0;
  std::string count;
};

/// An expression and where it stands ("file:line"); without text there is none.
struct PlacedText {
  std::string where{};
  std::string text{};

  explicit operator bool() const { return !text.empty(); }
};

/// One line that devices go through in order.
struct PhaseStatement {
  enum class Kind : std::uint8_t {
    kLet,     ///< `name` = `value`
    kNeed,    ///< `value` must not be 0
    kStream,  ///< `name` = `parts`
    kPhase,   ///< `value` times `passes`
    kAt,      ///< `passes` at slot `value`
    kFor,     ///< the lines up to `end` with `name` from 0 to `value` - 1
    kSorted,  ///< the passes of the lines up to `end`, by slot
    kEnd,     ///< of one of these
  };
  Kind kind{};
  std::string where;
  std::string name{};
  std::string value{};
  std::vector<PhasePass> passes{};
  std::vector<StreamPart> parts{};
  std::size_t end = 0;
};

/// An option and its value where none is given.
struct PhaseOption {
  std::string name;
  PlacedText otherwise;
};

/// Rules as they were written. What is said once for the whole schedule, then the lines of devices.
struct PhaseRules {
  std::int32_t chunks = 0;  ///< 0: as asked for, or one
  bool in_v = false;        ///< stages go down the devices and come back
  bool forward_only = false;
  std::vector<PhaseOption> options{};
  PlacedText copies{};      ///< of the model
  PlacedText stage{};       ///< of chunk c of copy r on device d; -1: it holds none
  PlacedText share{};       ///< microbatches of copy r
  PlacedText share_item{};  ///< the i-th of them
  PlacedText padded{};      ///< microbatches (of a copy) that lists are written for
  PlacedText updates{};     ///< that lists cover where none are asked for
  PlacedText slices{};      ///< of every microbatch
  Slices::Axis axis{};
  PlacedText weights{};  ///< policies
  PlacedText methods{};
  PlacedText recompute_first{};
  PlacedText recompute_last{};
  std::vector<PhaseStatement> statements{};
};

/// Throws `Error` with file and line.
PhaseRules phase_rules_from_text(std::string_view text, std::string_view file_name);

}  // namespace plumb
