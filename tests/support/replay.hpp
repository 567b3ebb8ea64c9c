#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/document/schedule.hpp"

namespace plumb::testing {

/// Length of one action of a stage on one microbatch, in units of the picture; updates and collectives take none.
/// Where the document has slices, it is that of a slice of length 1; where it has microbatch_sizes, of size 1.
struct UnitTimes {
  std::int64_t f = 1;
  std::int64_t b = 2;
  std::int64_t i = 1;
  std::int64_t w = 1;
  std::int64_t r = 1;  ///< recompute, also where it is folded into B or I
  std::int64_t x = 1;  ///< per unit of extra work
  std::int64_t s = 1;  ///< F of a share of the head, whose I takes none; shares of the embedding and the loss: none
  std::int64_t t = 1;  ///< W or B of a share of the head
};

/// An action (or overlapped pair: `end` of both is that of the longer sum) at its place in time.
struct Placed {
  Action action;
  std::int64_t start = 0;
  std::int64_t end = 0;
};

struct Replay {
  std::vector<std::vector<Placed>> devices;
  std::int64_t makespan = 0;
  bool finished = false;  ///< false: some device was stuck for ever
};

/// Runs the lists the slow, obvious way, knowing only the textbook rules of a chain (or graph) of stages (and of
/// slices of a sequence) and the document's extra edges: passes over the devices, each taking its next action when its
/// inputs are there, until nothing moves. Transfers take no time.
Replay replay(const Schedule& schedule, const UnitTimes& times);

/// Largest number of stashes of each device, in list order: +1 for F, -1 for B or W; those of slices count one each.
std::vector<std::int64_t> peak_stashes(const Schedule& schedule);

/// The list of every device and a picture of its run, one column per unit: `F3`, `B3 ==`. Where a device holds several
/// stages (or copies), a, b, c .. tell them apart.
std::string picture(const Schedule& schedule, const UnitTimes& times);

}  // namespace plumb::testing
