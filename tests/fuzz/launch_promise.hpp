#pragma once

#include <string>

#include "models/launches/read_launch.hpp"
#include "tests/fuzz/promise.hpp"

namespace plumb::testing {

/// Any text under a name with `ending` is a job whose stages are its network and whose microbatches are its batch, or
/// is refused.
inline int launch_or_refuse(std::string_view text, const std::string& ending) {
  return read_or_refuse(
      [&] { return read_launch(text.substr(0, std::size_t{1} << 16U), "fuzz" + ending); },
      [](LaunchJob job) {
        if (job.network && !job.partition.bounds.empty()) {
          promise(job.partition.num_layers() == job.network->layers.size(), "all layers are in a stage");
          promise(job.partition.num_stages() == static_cast<std::size_t>(job.pipeline * job.chunks),
                  "every rank has its stages");
        }
        read_or_refuse(
            [&] {
              place_launch(job, 2 * job.model_ranks());
              return job.microbatches;
            },
            [&](std::int64_t microbatches) {
              promise(microbatches * job.parallelism.microbatch_size * job.parallelism.data == job.batch, "the batch");
            });
      });
}

}  // namespace plumb::testing
