#pragma once

#include <cstdint>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "schedules/program/program.hpp"

namespace plumb {

/// A program whose lanes are as short as the lists of the document: one instr for every action that is written there,
/// and the repeats around them. It needs memory for what is written, however often that runs.
///
/// Values go from lane to lane in streams. A stream is given and taken in the same order of microbatches, so that its
/// values need no names: whoever takes the k-th one waits for whoever gives the k-th one.
struct WrittenProgram {
  static constexpr std::uint32_t kNoStream = 0xFFFFFFFFU;

  /// The instrs [begin, end) run `count` times. `advance.update` is what each turn adds to the numbers of its U.
  struct Loop {
    InstrIndex begin = 0;
    InstrIndex end = 0;
    std::int64_t count = 1;
    Advance advance;
  };

  Program program;                        ///< `instrs`: what is written, device by device; no waits, no sentinel
  std::vector<std::uint32_t> takes;       ///< by instr: the stream of the one value that it waits for
  std::vector<std::uint32_t> gives;       ///< by instr: the stream that its end adds a value to
  std::vector<std::uint32_t> loop_begin;  ///< by device, and one more: into `loops`
  std::vector<Loop> loops;                ///< nested or disjoint; outer ones come first
  std::vector<DeviceId> takers;           ///< by stream
  std::vector<DeviceId> givers;           ///< by stream; edges within a device take no time
};

}  // namespace plumb
