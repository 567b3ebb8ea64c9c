#include "sim/traces/traced_run.hpp"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "sim/traces/calm_steps.hpp"
#include "sim/traces/chunk_placement.hpp"
#include "sim/traces/clocks.hpp"
#include "sim/traces/readers/megatron_timers.hpp"
#include "sim/traces/readers/timeline_ranks.hpp"
#include "sim/traces/run_samples.hpp"
#include "sim/traces/step_timeline.hpp"
#include "sim/traces/traced_pipeline.hpp"

namespace plumb {
namespace {

void check_steps(const std::vector<RankRun>& runs) {
  for (const RankRun& run : runs) {
    if (run.steps == runs.front().steps) continue;
    throw Error(run.file + ": has " + std::to_string(run.steps) + " steps, but " + runs.front().file + " " +
                std::to_string(runs.front().steps) + "; expected the same steps of all ranks");
  }
}

/// Returns the offsets that align one step, or all of them.
ClockOffsets offsets_of(const std::vector<RankRun>& runs, const TracedProducers& producers,
                        std::optional<std::int32_t> step) {
  const ClockOffsets offsets = clock_offsets(message_slacks(runs, producers, step));
  if (offsets.residual_ns > kClockNoiseNs) {
    throw Error(
        runs.front().file + ": the clocks of the ranks cannot be aligned: a message would arrive " +
        std::to_string(offsets.residual_ns) +
        " ns before it was sent, whatever is added to them; expected the ranks of one run, with the same steps");
  }
  return offsets;
}

void move_clocks(std::vector<RankRun>& runs, const std::vector<std::int64_t>& add_ns,
                 std::optional<std::int32_t> step) {
  for (std::size_t rank = 0; rank < runs.size(); ++rank) {
    for (auto* list : {&runs[rank].work, &runs[rank].messages, &runs[rank].others}) {
      for (TracedAction& action : *list) {
        if (step && action.step != *step) continue;
        action.begin_ns += add_ns[rank];
        action.start_ns += add_ns[rank];
        action.end_ns += add_ns[rank];
        if (action.arrived_ns) *action.arrived_ns += add_ns[rank];
        if (action.waited_ns) *action.waited_ns += add_ns[rank];
      }
    }
  }
}

/// Aligns the clocks; returns the offsets of every step.
std::vector<ClockOffsets> align_clocks(std::vector<RankRun>& runs, const TracedProducers& producers) {
  const std::int32_t steps = runs.front().steps;
  if (!runs.front().own_zeros) {
    const ClockOffsets offsets = offsets_of(runs, producers, std::nullopt);
    move_clocks(runs, offsets.add_ns, std::nullopt);
    return std::vector<ClockOffsets>(static_cast<std::size_t>(steps), offsets);
  }
  std::vector<ClockOffsets> all;
  for (std::int32_t step = 0; step < steps; ++step) {
    all.push_back(offsets_of(runs, producers, step));
    move_clocks(runs, all.back().add_ns, step);
  }
  return all;
}

std::int32_t median_step(const std::vector<std::int64_t>& lengths) {
  std::vector<std::pair<std::int64_t, std::int32_t>> order;
  for (std::size_t k = 0; k < lengths.size(); ++k) order.emplace_back(lengths[k], static_cast<std::int32_t>(k));
  std::ranges::sort(order);
  return order[(order.size() - 1) / 2].second;
}

/// Ranks without a trace take part with nothing, so that devices are numbered by rank.
std::vector<RankRun> with_missing(std::vector<RankRun> given, const TracedPipeline& pipeline,
                                  const ClockOffsets& offsets, TracedRun& traced) {
  traced.ranks = pipeline.ranks;
  traced.clock_residual_ns = offsets.residual_ns;
  std::vector<RankRun> runs;
  for (std::size_t device = 0; device < pipeline.ranks.size(); ++device) {
    const auto at = pipeline.runs[device];
    traced.clock_offsets_ns.push_back(at ? offsets.add_ns[*at] : 0);
    if (at) {
      runs.push_back(std::move(given[*at]));
    } else {
      traced.missing_ranks.push_back(pipeline.ranks[device]);
      runs.emplace_back().rank = pipeline.ranks[device];
    }
  }
  return runs;
}

/// What the timelines of the steps say of the run that they are of.
void note_facts(TracedRun& traced, const std::vector<ClockOffsets>& offsets, const TracedPipeline& pipeline) {
  const std::vector<std::int32_t> calm = calm_steps(traced.step_ns);
  TracedFacts facts{.step_ns = traced.step_ns,
                    .ranks = traced.ranks,
                    .missing_ranks = traced.missing_ranks,
                    .backend = traced.backend,
                    .left_out = traced.left_out,
                    .profile = traced.profile};
  for (std::int32_t k = 0; k < std::ssize(traced.steps); ++k) {
    if (!std::ranges::binary_search(calm, k)) facts.disturbed_steps.push_back(k);
  }
  for (std::size_t k = 0; k < traced.steps.size(); ++k) {
    facts.step = static_cast<std::int32_t>(k);
    facts.clock_residual_ns = offsets[k].residual_ns;
    facts.clock_offsets_ns.clear();
    for (const auto at : pipeline.runs) facts.clock_offsets_ns.push_back(at ? offsets[k].add_ns[*at] : 0);
    traced.steps[k].traced = facts;
  }
}

void choose_step(TracedRun& traced, std::optional<std::int32_t> step, const std::string& file) {
  const auto steps = static_cast<std::int32_t>(traced.step_ns.size());
  traced.step = step.value_or(median_step(traced.step_ns));
  if (traced.step < 0 || traced.step >= steps) {
    throw Error(file + ": has steps 0 to " + std::to_string(steps - 1) + ", not " + std::to_string(traced.step));
  }
}

/// A log has all ranks, so it stands alone.
TracedRun run_of_log(const std::vector<TraceFile>& files, std::optional<std::int32_t> step) {
  const TraceFile& file = files.front();
  if (files.size() != 1) throw Error(file.name + ": is one of several files, expected the log of Megatron-LM alone");
  TracedRun traced;
  traced.steps = read_timer_log(file.bytes, file.name);
  for (const Timeline& timeline : traced.steps) traced.step_ns.push_back(timeline.makespan);
  choose_step(traced, step, file.name);
  traced.left_out = left_out_steps(traced.step_ns);
  for (std::size_t rank = 0; rank < traced.timeline().devices.size(); ++rank) {
    traced.ranks.push_back(static_cast<std::int32_t>(rank));
  }
  traced.no_profile = file.name + ": the log of timers has no single actions, expected traces or dumps of all ranks";
  return traced;
}

/// Returns the document of one step of a traced run.
TracedRun run_of_document(TimelineFile file, std::optional<std::int32_t> step) {
  const TracedFacts facts = *file.timeline.traced;
  if (step && *step != facts.step) {
    throw Error(file.name + ": is the timeline of step " + std::to_string(facts.step) + " alone, not of step " +
                std::to_string(*step) + "; expected the traces");
  }
  TracedRun traced;
  traced.step_ns = facts.step_ns;
  traced.step = facts.step;
  traced.ranks = facts.ranks;
  traced.missing_ranks = facts.missing_ranks;
  traced.clock_offsets_ns = facts.clock_offsets_ns;
  traced.clock_residual_ns = facts.clock_residual_ns;
  traced.backend = facts.backend;
  traced.left_out = facts.left_out;
  traced.profile = facts.profile;
  if (!traced.profile) {
    traced.no_profile = file.name +
                        ": has no profile of the run that it shows, because a rank was missing or an older version "
                        "wrote it; expected the traces of all ranks";
  }
  traced.steps.push_back(std::move(file.timeline));
  return traced;
}

RunProfile profile_of(const std::vector<TimelineFile>& files) {
  const std::vector<RankRun> runs = ranks_of_timelines(files);
  std::vector<std::int64_t> updates_ns;
  for (std::int32_t step = 0; step < runs.front().steps; ++step) {
    const auto [begin, end] = step_bounds(runs, step);
    updates_ns.push_back(end - begin);
  }
  RunProfile profile = run_samples(runs, TracedProducers(runs), calm_steps(updates_ns));
  profile.machine = "measured, " + std::to_string(runs.size()) + " devices, " + files.front().timeline.machine;
  profile.runtime = runs.front().runtime;
  return profile;
}

/// Timelines that the trainer measured: every file is a run of all devices, and one of them is shown as it is.
TracedRun run_of_timelines(std::vector<TraceFile> files, std::optional<std::int32_t> step) {
  std::vector<TimelineFile> runs;
  for (TraceFile& file : files) {
    if (!is_timeline(file.bytes))
      throw Error(file.name + ": is no timeline, expected the same kind of file as the others");
    runs.push_back({file.name, timeline_from_json(std::move(file.bytes), file.name)});
  }
  if (runs.size() == 1 && runs.front().timeline.traced) return run_of_document(std::move(runs.front()), step);
  TracedRun traced;
  for (const TimelineFile& run : runs) {
    traced.steps.push_back(run.timeline);
    traced.step_ns.push_back(run.timeline.step_time);
  }
  choose_step(traced, step, runs.front().name);
  traced.left_out = left_out_steps(traced.step_ns);
  for (std::size_t device = 0; device < traced.timeline().devices.size(); ++device)
    traced.ranks.push_back(static_cast<std::int32_t>(device));
  traced.no_profile = profile_fault(runs);
  if (traced.no_profile.empty()) traced.profile = profile_of(runs);
  return traced;
}

}  // namespace

const RunProfile& TracedRun::known_profile() const {
  if (!profile) throw Error(no_profile + ", so it gives no profile");
  return *profile;
}

TracedRun read_traced_run(std::vector<TraceFile> files, std::optional<std::int32_t> step) {
  unpack(files);
  if (std::ranges::any_of(files, [](const TraceFile& file) { return is_timer_log(file.bytes); })) {
    return run_of_log(files, step);
  }
  if (std::ranges::any_of(files, [](const TraceFile& file) { return is_timeline(file.bytes); }))
    return run_of_timelines(std::move(files), step);
  std::vector<RankRun> given = read_rank_runs(std::move(files));
  check_steps(given);
  place_chunks(given);
  const TracedPipeline pipeline = traced_pipeline(given);
  const std::string file = given.front().file;
  const std::string backend = given.front().backend;
  const std::vector<ClockOffsets> offsets = align_clocks(given, TracedProducers(given));
  TracedRun traced;
  for (std::size_t k = 0; k < offsets.size(); ++k) {
    const auto [begin, end] = step_bounds(given, static_cast<std::int32_t>(k));
    traced.step_ns.push_back(end - begin);
  }
  choose_step(traced, step, file);
  const std::vector<RankRun> runs =
      with_missing(std::move(given), pipeline, offsets[static_cast<std::size_t>(traced.step)], traced);
  const TracedProducers producers(runs);
  for (std::int32_t k = 0; k < std::ssize(traced.step_ns); ++k) {
    Timeline& timeline = traced.steps.emplace_back(step_timeline(runs, producers, k));
    timeline.schedule = "traced run";
    timeline.machine = "traced, " + std::to_string(runs.size()) + " ranks" + (backend.empty() ? "" : ", " + backend);
  }
  traced.backend = backend;
  for (const RankRun& run : runs)
    traced.left_out.insert(traced.left_out.end(), run.left_out.begin(), run.left_out.end());
  std::ranges::move(left_out_steps(traced.step_ns), std::back_inserter(traced.left_out));
  if (!traced.missing_ranks.empty()) {
    traced.no_profile = "rank " + std::to_string(traced.missing_ranks.front()) +
                        " of the run has no trace, expected the traces of all ranks";
  } else {
    traced.profile = run_samples(runs, producers, calm_steps(traced.step_ns));
    traced.profile->machine = traced.timeline().machine;
    traced.profile->runtime = runs.front().runtime;
  }
  note_facts(traced, offsets, pipeline);
  return traced;
}

}  // namespace plumb
