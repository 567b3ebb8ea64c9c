#include "tools/options/memory_relief.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

#include "models/ground/error.hpp"
#include "models/jobs/layer_recompute.hpp"
#include "sim/prediction/predict.hpp"
#include "tools/options/plan_runtimes.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

constexpr double kLeastSaved = 0.01;
constexpr std::size_t kMostReliefs = 4;

struct JobOptions {
  ScheduleArguments size;
  CostSource source;

  AnalyticJob& job() { return *source.job(); }
};

struct JobChange {
  std::string text;
  std::function<void(JobOptions&)> apply;
  bool more_devices = false;

  /// "--zero" of "--zero 2": of changes with the same option only one can be taken.
  std::string option() const { return text.substr(0, text.find(' ')); }
};

void recompute_layers(AnalyticJob& job, const LayerRecompute& recompute) {
  job.parallelism.recompute = recompute.all;
  job.parallelism.recompute_layers = 0;
  job.parallelism.modules = recompute.modules;
  job.choices.recomputed = recompute.by_stage;
}

std::vector<JobChange> changes_of(const TightJob& job, const Schedule& schedule) {
  const Parallelism& now = job.source.job()->parallelism;
  std::vector<JobChange> changes;
  for (const char* name : {"selective", "full"}) {
    const LayerRecompute recompute = *layer_recompute_of(name);
    if (recompute.all <= now.recompute) continue;
    changes.push_back({std::string("--recompute ") + name,
                       [recompute](JobOptions& options) { recompute_layers(options.job(), recompute); }});
  }
  for (auto zero = static_cast<std::int64_t>(now.zero) + 1; now.replicas() > 1 && zero <= 3; ++zero) {
    if (schedule.num_devices > 1 && !has_zero_beside_pipeline(job.rules.runtime, zero)) continue;
    changes.push_back({"--zero " + std::to_string(zero),
                       [zero](JobOptions& options) { options.job().parallelism.zero = static_cast<ZeroStage>(zero); }});
  }
  if (now.tensor > 1 && !now.sequence_parallel) {
    changes.push_back(
        {"--sequence-parallel", [](JobOptions& options) { options.job().parallelism.sequence_parallel = true; }});
  }
  const std::int64_t samples = now.microbatch_size > 0 ? now.microbatch_size : job.source.job()->network().samples;
  if (samples % 2 == 0 && job.size.microbatches && !is_schedule_file(job.schedule)) {
    const std::int64_t microbatches = 2 * *job.size.microbatches;
    changes.push_back({"--microbatch-size " + std::to_string(samples / 2) + " -m " + std::to_string(microbatches),
                       [samples, microbatches](JobOptions& options) {
                         options.job().parallelism.microbatch_size = samples / 2;
                         options.size.microbatches = microbatches;
                       }});
  }
  if (now.has_unlike_tensor()) return changes;
  const std::int64_t tensor = 2 * now.tensor;
  changes.push_back({"--tp " + std::to_string(tensor),
                     [tensor](JobOptions& options) { options.job().parallelism.tensor = tensor; }, true});
  return changes;
}

double step_time_ns(const Timeline& timeline) {
  return static_cast<double>(timeline.step_time) / static_cast<double>(timeline.base.ticks_per_ns);
}

/// Simulates the job with changes.
class Reliefs {
 public:
  Reliefs(const TightJob& job, const Schedule& schedule, const Timeline& timeline)
      : job_(job), schedule_(schedule), before_(most_needed(timeline)), step_time_ns_(step_time_ns(timeline)) {}

  /// Nothing where the job cannot be changed so (too few devices, a degree that does not divide), or hardly saves.
  std::optional<MemoryRelief> of(const std::vector<const JobChange*>& changes) const {
    JobOptions options{.size = job_.size, .source = job_.source};
    MemoryRelief relief;
    for (const JobChange* change : changes) {
      change->apply(options);
      relief.change += (relief.change.empty() ? "" : " ") + change->text;
      relief.more_devices |= change->more_devices;
    }
    relief.parallelism = options.job().parallelism;
    try {
      const Timeline after = simulated(options);
      relief.saved_bytes = before_ - most_needed(after);
      relief.longer = step_time_ns(after) / step_time_ns_ - 1;
      relief.fits = plumb::fits(after, job_.limit);
    } catch (const Error&) {
      return std::nullopt;
    }
    if (static_cast<double>(relief.saved_bytes) < kLeastSaved * static_cast<double>(before_)) return std::nullopt;
    return relief;
  }

 private:
  Timeline simulated(const JobOptions& options) const {
    Schedule schedule = schedule_;
    if (!is_schedule_file(job_.schedule)) {
      schedule = load_schedule(job_.schedule, options.size,
                               {.costs = costs_for_search(options.source, schedule_.num_devices),
                                .memory_limit = job_.limit.value.value_or(0)});
    }
    return predict(std::move(schedule), options.source, job_.rules, job_.limit);
  }

  const TightJob& job_;
  const Schedule& schedule_;
  std::int64_t before_;
  double step_time_ns_;
};

struct TriedChange {
  const JobChange* change;
  MemoryRelief relief;
};

/// The changes as `tried` has them, one after the other, until the job fits; nothing where the first one is enough, or
/// all of them together are too little.
std::optional<MemoryRelief> together(const Reliefs& reliefs, const std::vector<TriedChange>& tried) {
  std::vector<const JobChange*> taken;
  for (const TriedChange& each : tried) {
    const auto same = [&](const JobChange* other) { return other->option() == each.change->option(); };
    if (std::ranges::any_of(taken, same)) continue;
    taken.push_back(each.change);
    if (taken.size() == 1 && each.relief.fits) return std::nullopt;
    const std::optional<MemoryRelief> relief = taken.size() > 1 ? reliefs.of(taken) : std::nullopt;
    if (relief && relief->fits) return relief;
  }
  return std::nullopt;
}

}  // namespace

std::vector<MemoryRelief> memory_reliefs(const TightJob& job, const Schedule& schedule, const Timeline& timeline) {
  const std::vector<JobChange> changes = changes_of(job, schedule);
  const Reliefs reliefs(job, schedule, timeline);
  std::vector<TriedChange> tried;
  for (const JobChange& change : changes) {
    if (const auto relief = reliefs.of({&change})) tried.push_back({&change, *relief});
  }
  std::vector<MemoryRelief> found;
  const auto add = [&found](std::optional<MemoryRelief> relief) {
    if (relief && std::ranges::find(found, relief->change, &MemoryRelief::change) == found.end())
      found.push_back(*std::move(relief));
  };
  for (const TriedChange& each : tried) add(each.relief);
  std::ranges::stable_sort(tried, {}, [](const TriedChange& each) {  // what costs the least time
    return std::pair(each.relief.more_devices, each.relief.longer);
  });
  add(together(reliefs, tried));
  std::ranges::stable_sort(tried, {}, [](const TriedChange& each) {  // what saves most
    return std::pair(each.relief.more_devices, -each.relief.saved_bytes);
  });
  add(together(reliefs, tried));
  std::ranges::stable_sort(found, {}, [](const MemoryRelief& each) {
    return std::tuple(!each.fits, each.more_devices, each.fits ? each.longer : -static_cast<double>(each.saved_bytes));
  });
  return found;
}

std::string relief_text(const std::vector<MemoryRelief>& reliefs) {
  if (reliefs.empty()) return "";
  TextTable table({{"what would help"}, {"saves", '>'}, {"step", '>'}, {"then it"}});
  for (std::size_t i = 0; i < std::min(reliefs.size(), kMostReliefs); ++i) {
    const MemoryRelief& relief = reliefs[i];
    table.add_row({relief.change, bytes_text(relief.saved_bytes),
                   (relief.longer < 0 ? "" : "+") + percent_text(relief.longer),
                   std::string(relief.fits ? "fits" : "still does not fit") +
                       (relief.more_devices ? ", on twice the devices" : "")});
  }
  return table.to_string();
}

}  // namespace plumb
