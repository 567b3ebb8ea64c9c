#include "sim/shared_devices/exact_jobs.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/shared_devices/free_devices.hpp"
#include "sim/shared_devices/job_bound.hpp"

namespace plumb {
namespace {

/// Most times of devices that all kept states together have.
constexpr std::size_t kMostKeptTimes = std::size_t{8} << 20U;

using JobSet = std::uint64_t;

/// A job that begins next.
struct NextStart {
  std::size_t job = 0;
  JobChoice choice{};
  std::size_t node = 0;
  std::int64_t start = 0;

  std::int64_t end() const { return start + choice.time_ns; }
};

/// The search of `exact_jobs`, with its statements.
class JobTree {
 public:
  JobTree(const JobProblem& problem, const JobSchedule& known, std::int64_t most_states,
          const std::function<bool()>& stop)
      : problem_(problem), most_states_(most_states), stop_(stop), answer_{.best = known} {}

  ExactJobs run() {
    const std::size_t count = problem_.jobs.size();
    const JobSet all = count == kMostExactJobs ? ~JobSet{0} : (JobSet{1} << count) - 1;
    places_.resize(count);
    open(all, FreeDevices(problem_.nodes, problem_.per_node), 0);
    answer_.complete = !stopped_;
    return std::move(answer_);
  }

 private:
  /// Tries everything that begins at `from` or later, when `left` are still to begin.
  void open(JobSet left, const FreeDevices& free, std::int64_t from) {
    if (left == 0) {
      answer_.best = {.places = places_, .makespan_ns = free.last()};
      return;
    }
    if (++answer_.states > most_states_ || (stop_ && stop_())) stopped_ = true;
    if (stopped_ || !may_be_shorter(left, free, from) || is_worse(left, free)) return;
    for (const NextStart& next : starts(left, free, from)) {
      if (next.end() >= answer_.best.makespan_ns) continue;  // a shorter one was found meanwhile
      FreeDevices then = free;
      places_[next.job] = then.place(next.choice, next.node, from);
      then.raise_to(next.start);
      open(left & ~(JobSet{1} << next.job), then, next.start);
      if (stopped_) return;
    }
  }

  bool is_left(JobSet left, std::size_t job) const { return ((left >> job) & 1U) != 0; }

  /// Statement 2, and whether each job that is left has a choice that can still be over in time.
  bool may_be_shorter(JobSet left, const FreeDevices& free, std::int64_t from) const {
    const std::int64_t until = answer_.best.makespan_ns - 1;
    if (free.last() > until) return false;
    std::vector<const DeviceJob*> jobs;
    for (std::size_t job = 0; job < problem_.jobs.size(); ++job) {
      if (!is_left(left, job)) continue;
      jobs.push_back(&problem_.jobs[job]);
      const auto in_time = [&](const JobChoice& choice) {
        return choice.time_ns <= until - from && free.earliest(choice, from) + choice.time_ns <= until;
      };
      if (std::ranges::none_of(jobs.back()->choices, in_time)) return false;
    }
    return has_room(free.signature(), jobs, from, until);
  }

  /// Statement 3: whether such a state was seen. Keeps this one otherwise.
  bool is_worse(JobSet left, const FreeDevices& free) {
    std::vector<std::int64_t> times = free.signature();
    auto& seen = seen_by_left_[left];
    const auto covers = [&](const std::vector<std::int64_t>& other) {
      return std::ranges::equal(other, times, std::less_equal<>{});
    };
    if (std::ranges::any_of(seen, covers)) return true;
    if (kept_times_ + times.size() > kMostKeptTimes) return false;
    kept_times_ += times.size();
    seen.push_back(std::move(times));
    return false;
  }

  /// Lists what may begin next, without what statements 4 and 5 drop: the earliest start first, of equal ones the
  /// longest.
  std::vector<NextStart> starts(JobSet left, const FreeDevices& free, std::int64_t from) const {
    std::vector<NextStart> found;
    for (std::size_t job = 0; job < problem_.jobs.size(); ++job) {
      if (!is_left(left, job) || follows_equal(left, job)) continue;
      for (const JobChoice& choice : problem_.jobs[job].choices) add_starts(job, choice, free, from, found);
    }
    if (found.empty()) return found;
    const auto first_end = std::ranges::min_element(found, {}, &NextStart::end)->end();
    std::erase_if(found, [&](const NextStart& next) { return next.start >= first_end; });
    std::ranges::stable_sort(found, {}, [](const NextStart& next) {
      return std::tuple(next.start, -next.choice.time_ns, next.choice.devices);
    });
    return found;
  }

  void add_starts(std::size_t job, const JobChoice& choice, const FreeDevices& free, std::int64_t from,
                  std::vector<NextStart>& found) const {
    const std::size_t nodes = choice.devices > problem_.per_node ? 1 : free.nodes();
    for (std::size_t node = 0; node < nodes; ++node) {
      bool seen = false;
      for (std::size_t other = 0; other < node && !seen; ++other) seen = free.alike(node, other);
      if (seen) continue;
      const NextStart next{job, choice, node, free.earliest(choice, node, from)};
      if (next.end() < answer_.best.makespan_ns) found.push_back(next);
    }
  }

  /// Statement 5: whether an equal job with a smaller number is left.
  bool follows_equal(JobSet left, std::size_t job) const {
    for (std::size_t other = 0; other < job; ++other) {
      if (is_left(left, other) && problem_.jobs[other].choices == problem_.jobs[job].choices) return true;
    }
    return false;
  }

  const JobProblem& problem_;
  std::int64_t most_states_;
  const std::function<bool()>& stop_;
  ExactJobs answer_;
  bool stopped_ = false;
  std::vector<JobPlace> places_;
  std::unordered_map<JobSet, std::vector<std::vector<std::int64_t>>> seen_by_left_;
  std::size_t kept_times_ = 0;
};

}  // namespace

ExactJobs exact_jobs(const JobProblem& problem, const JobSchedule& known, std::int64_t most_states,
                     const std::function<bool()>& stop) {
  return JobTree(problem, known, most_states, stop).run();
}

}  // namespace plumb
