#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plumb {

/// A job of a list, as its document says it.
struct ListedJob {
  /// A way to run it that was measured.
  struct Measured {
    std::int64_t devices = 1;
    double seconds = 0;  ///< of the whole job
    std::string plan;    ///< whatever it is called

    friend bool operator==(const Measured&, const Measured&) = default;
  };
  /// A part of its network that fits on one device.
  struct Shard {
    double forward_ms = 0;
    double backward_ms = 0;
    double load_ms = 0;

    friend bool operator==(const Shard&, const Shard&) = default;
  };

  std::string name;
  std::vector<Measured> choices;  ///< empty: plans are searched
  std::string network;            ///< empty: that of all jobs
  std::optional<std::int64_t> batch;
  std::optional<std::int64_t> sequence;
  std::int64_t updates = 1;
  std::vector<std::int64_t> devices;  ///< on which plans are searched; empty: powers of 2, and whole nodes
  std::vector<Shard> shards;

  friend bool operator==(const ListedJob&, const ListedJob&) = default;
};

struct JobList {
  std::int64_t nodes = 0;  ///< 0: those of a cluster
  std::int64_t per_node = 0;
  std::vector<ListedJob> jobs;

  friend bool operator==(const JobList&, const JobList&) = default;
};

/// `{"format": "plumbline-jobs", "version": 1, "jobs": [...]}` (tools/plans/JOBS.md). Throws `Error` with the place for
/// what is missing, unknown or out of range, and for two jobs of one name.
JobList job_list_from_json(std::string_view text, std::string_view file_name);
std::string job_list_to_json(const JobList& list);

}  // namespace plumb
