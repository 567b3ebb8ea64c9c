#pragma once

#include <cstdint>

#include "schedules/program/program.hpp"

namespace plumb::testing {

/// What a random program is made of.
struct RandomProgram {
  std::int32_t devices = 4;
  std::int32_t per_device = 12;  ///< instrs of a lane
  std::int32_t edges = 40;       ///< tried; those that would close a cycle of values are left out
  Ticks longest = 9;             ///< duration of an instr; 0 is among them
  bool transfers = true;         ///< edges are messages; otherwise latencies and direct edges
  bool pairs = true;             ///< some neighbours in a lane are overlapped pairs
  std::int32_t collectives = 2;
  std::int64_t most_bytes = 8;  ///< of a message, at 1 byte per tick
  Ticks latency = 3;
  Ticks longest_host = 0;      ///< time of a runtime's host before an instr; 0: none
  Ticks longest_call = 0;      ///< of a call that sends or receives; 0: none
  std::int32_t max_ahead = 3;  ///< receives are posted up to so many instrs ahead, sends issued so much later
};

/// A program without meaning that cannot deadlock by its values alone: all instrs stand in one random global order, and
/// values go forward in it. Modes in which receives are posted or lanes wait may still deadlock.
Program random_program(const RandomProgram& shape, std::uint64_t seed);

}  // namespace plumb::testing
