#include "sim/shared_devices/shard_rule.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <utility>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostShardRuns = 200'000'000;
constexpr std::int64_t kMostShardNs = std::int64_t{4} << 60U;

/// Returns the time of one batch without loads.
std::int64_t batch_ns(const ShardedJob& job) {
  std::int64_t sum = 0;
  for (const NetworkShard& shard : job.shards) sum += shard.forward_ns + shard.backward_ns;
  return sum;
}

void check_shards(const std::vector<ShardedJob>& jobs, std::int64_t devices) {
  if (jobs.empty() || devices < 1) throw Error("shards: expected at least one job and one device");
  std::int64_t runs = kMostShardRuns;
  std::int64_t left = kMostShardNs;
  for (const ShardedJob& job : jobs) {
    const std::string where = "job '" + job.name + "': ";
    if (job.shards.empty() || job.batches < 1) throw Error(where + "expected at least one shard and one batch");
    const auto passes = 2 * static_cast<std::int64_t>(job.shards.size());
    if (job.batches > runs / passes) throw Error(where + "too many shards and batches to be played one by one");
    runs -= passes * job.batches;
    std::int64_t sum = 0;
    for (const NetworkShard& shard : job.shards) {
      for (const std::int64_t ns : {shard.forward_ns, shard.backward_ns, shard.load_ns, shard.load_ns}) {
        if (ns < 0 || ns > left - sum) throw Error(where + "expected times from 0 that can be added");
        sum += ns;
      }
    }
    if (sum > left / job.batches) throw Error(where + "expected times from 0 that can be added");
    left -= sum * job.batches;
  }
}

/// Progress of a job.
struct ShardedProgress {
  std::int64_t left_ns = 0;  ///< time of all shards that have not begun
  std::int64_t batches = 0;  ///< batches that have not begun
  std::size_t next = 0;      ///< next pass of the batch under way; 0: first one of a new batch
  bool taken = false;        ///< whether a device runs the job or has decided to
};

class ShardPlay {
 public:
  ShardPlay(const std::vector<ShardedJob>& jobs, std::int64_t devices, bool ahead)
      : jobs_(jobs), ahead_(ahead), progress_(jobs.size()), devices_(static_cast<std::size_t>(devices)) {
    run_.end_ns.resize(jobs.size());
    for (std::size_t job = 0; job < jobs.size(); ++job) {
      progress_[job] = {.left_ns = batch_ns(jobs[job]) * jobs[job].batches, .batches = jobs[job].batches};
    }
  }

  ShardRun play() {
    for (std::size_t device = 0; device < devices_.size(); ++device) idle_.push_back(device);
    give_work(0);
    while (!ends_.empty()) {
      const std::int64_t now = ends_.top().first;
      while (!ends_.empty() && ends_.top().first == now) {
        finish(ends_.top().second, now);
        ends_.pop();
      }
      give_work(now);
    }
    run_.makespan_ns = std::ranges::max(run_.end_ns);
    return std::move(run_);
  }

 private:
  struct ShardDevice {
    std::optional<std::size_t> runs;     ///< job
    std::optional<std::size_t> decided;  ///< the job after it
    std::int64_t begun_ns = 0;           ///< start of the shard of `runs`
    std::int64_t loaded_ns = 0;          ///< end of the load of the shard of `decided`
  };

  /// Returns the shard of the next pass of a job, and whether it is its forward.
  const NetworkShard& shard_of(std::size_t job, bool& forward) const {
    const std::vector<NetworkShard>& shards = jobs_[job].shards;
    const std::size_t next = progress_[job].next;
    forward = next < shards.size();
    return forward ? shards[next] : shards[2 * shards.size() - 1 - next];
  }

  bool has_more(std::size_t job) const { return progress_[job].batches > 0 || progress_[job].next > 0; }

  std::optional<std::size_t> longest(std::optional<std::size_t> also) const {
    std::optional<std::size_t> longest;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      if (!has_more(job) || (progress_[job].taken && job != also)) continue;
      if (!longest || progress_[job].left_ns > progress_[*longest].left_ns) longest = job;
    }
    return longest;
  }

  /// Lets the device run the next pass of `job`, whose shard is there at `loaded`.
  void begin(std::size_t device, std::size_t job, std::int64_t now, std::int64_t loaded) {
    ShardDevice& on = devices_[device];
    ShardedProgress& progress = progress_[job];
    bool forward = true;
    const NetworkShard& shard = shard_of(job, forward);
    const std::int64_t ns = forward ? shard.forward_ns : shard.backward_ns;
    const std::int64_t start = std::max(now, loaded);
    run_.loading_ns += start - now;
    if (progress.next == 0) --progress.batches;
    progress.next = (progress.next + 1) % (2 * jobs_[job].shards.size());
    progress.left_ns -= ns;
    progress.taken = true;
    on.runs = job;
    on.begun_ns = start;
    ends_.emplace(start + ns, device);
    begun_.push_back(device);
  }

  /// Decides which job follows the one that has just begun, which may go on itself.
  void decide(std::size_t device) {
    ShardDevice& on = devices_[device];
    on.decided = longest(on.runs);
    if (!on.decided) return;
    progress_[*on.decided].taken = true;
    bool forward = true;
    on.loaded_ns = on.begun_ns + shard_of(*on.decided, forward).load_ns;
  }

  void finish(std::size_t device, std::int64_t now) {
    ShardDevice& on = devices_[device];
    const std::size_t job = *on.runs;
    on.runs.reset();
    run_.end_ns[job] = now;
    if (on.decided != job) progress_[job].taken = false;
    idle_.push_back(device);
  }

  void give_work(std::int64_t now) {
    std::ranges::sort(idle_);
    std::vector<std::size_t> waiting;
    for (const std::size_t device : std::exchange(idle_, {})) {
      ShardDevice& on = devices_[device];
      if (const auto job = std::exchange(on.decided, {})) {
        begin(device, *job, now, on.loaded_ns);
      } else {
        waiting.push_back(device);
      }
    }
    for (const std::size_t device : waiting) {
      const std::optional<std::size_t> job = longest({});
      if (!job) {
        idle_.push_back(device);
        continue;
      }
      bool forward = true;
      begin(device, *job, now, now + shard_of(*job, forward).load_ns);
    }
    for (const std::size_t device : std::exchange(begun_, {})) {
      if (ahead_) decide(device);
    }
  }

  using End = std::pair<std::int64_t, std::size_t>;  ///< time, device

  const std::vector<ShardedJob>& jobs_;
  bool ahead_;
  std::vector<ShardedProgress> progress_;
  std::vector<ShardDevice> devices_;
  std::vector<std::size_t> idle_;
  std::vector<std::size_t> begun_;  ///< devices that have begun a shard in this moment
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
  ShardRun run_;
};

}  // namespace

ShardRun run_shards(const std::vector<ShardedJob>& jobs, std::int64_t devices, bool ahead) {
  check_shards(jobs, devices);
  ShardRun run = ShardPlay(jobs, devices, ahead).play();
  std::int64_t all = 0;
  for (const ShardedJob& job : jobs) {
    const std::int64_t work = batch_ns(job) * job.batches;
    all += work;
    run.bound_ns = std::max(run.bound_ns, work + job.shards.front().load_ns);
  }
  // A job's shards run one after another, the first one after its load; and devices share the work of all jobs.
  run.bound_ns = std::max(run.bound_ns, all / devices + (all % devices == 0 ? 0 : 1));
  return run;
}

}  // namespace plumb
