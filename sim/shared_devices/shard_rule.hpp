#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plumb {

/// A part of a network that fits on one device, and comes there from the memory of the host when its turn is.
struct NetworkShard {
  std::int64_t forward_ns = 0;
  std::int64_t backward_ns = 0;
  std::int64_t load_ns = 0;  ///< time to the device, and of what was changed back
};

struct ShardedJob {
  std::string name;
  std::vector<NetworkShard> shards;
  std::int64_t batches = 1;  ///< each runs forward through all shards and back
};

struct ShardRun {
  std::vector<std::int64_t> end_ns;  ///< ends by job
  std::int64_t makespan_ns = 0;
  std::int64_t loading_ns = 0;  ///< time that all devices together waited for loads
  std::int64_t bound_ns = 0;    ///< lower bound on the makespan of every order of these shards
};

/// Plays Hydra (Nagrecha and Kumar, arXiv 2110.08633): whichever device is free takes the next shard of the job with
/// the most time left, of those that no device has. A job runs on one device at a time, and on another one a shard
/// later. With `ahead` the next job of a device is decided when a shard begins, of the jobs that nobody runs or has
/// decided for and the one that is just beginning, and its shard comes meanwhile: the released program's double
/// buffering. Of jobs with equal times the first one. Throws `Error` without jobs, without shards, for times below 0,
/// and for more shards in all than anybody waits for.
ShardRun run_shards(const std::vector<ShardedJob>& jobs, std::int64_t devices, bool ahead);

}  // namespace plumb
