#include "sim/comparison/compare.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "sim/comparison/alignment.hpp"
#include "sim/comparison/estimate.hpp"

namespace plumb {
namespace {

double relative(double predicted, double measured) {
  if (measured == 0) return predicted == 0 ? 0 : 1;
  return (predicted - measured) / measured;
}

FigureError figure(double predicted, double measured) { return {predicted, measured, relative(predicted, measured)}; }

double ns(Ticks ticks, const Timeline& timeline) { return static_cast<double>(to_ns(ticks, timeline.base)); }

std::int64_t duration_ns(const Span& span, const Timeline& timeline) {
  return to_ns(span.end - span.start, timeline.base);
}

/// An action, or an overlapped pair: that what ran first stands for both.
struct ComparedUnit {
  std::optional<Op> op;  ///< empty: nothing to count, a message or the second one of a pair
  std::optional<Op> partner;
  std::int64_t ns = 0;
};

using KindKey = std::pair<Op, std::optional<Op>>;

/// Lists the units by span. Spans of a device are in the order of their starts, so that the members of a pair follow
/// each other.
std::vector<ComparedUnit> compared_units(const Timeline& timeline) {
  std::vector<ComparedUnit> units(timeline.spans.size());
  std::map<DeviceId, std::size_t> open;  // pairs of which one member was met
  for (std::size_t i = 0; i < units.size(); ++i) {
    const Span& span = timeline.spans[i];
    if (span.lane == Lane::kTransfer) continue;
    units[i] = {.op = span.action.op, .partner = std::nullopt, .ns = duration_ns(span, timeline)};
    if (span.lane != Lane::kCompute) continue;
    if (const auto first = open.find(span.device); first != open.end()) {
      ComparedUnit& pair = units[first->second];
      const Span& other = timeline.spans[first->second];
      pair.op = std::min(span.action.op, other.action.op);
      pair.partner = std::max(span.action.op, other.action.op);
      pair.ns = to_ns(std::max(span.end, other.end) - std::min(span.start, other.start), timeline.base);
      units[i] = {};
      open.erase(first);
    } else if (span.action.overlaps_next != 0) {
      open.emplace(span.device, i);
    }
  }
  return units;
}

/// Errors of matched actions by kind; where only one side ran a pair, there is nothing to compare.
std::map<KindKey, std::vector<double>> errors_by_kind(const Timeline& predicted, const Timeline& measured,
                                                      const Alignment& alignment) {
  const std::vector<ComparedUnit> before = compared_units(predicted);
  const std::vector<ComparedUnit> after = compared_units(measured);
  std::map<KindKey, std::vector<double>> errors;
  for (const SpanMatch& match : alignment.matches) {
    const ComparedUnit& p = before[static_cast<std::size_t>(match.predicted - predicted.spans.data())];
    const ComparedUnit& m = after[static_cast<std::size_t>(match.measured - measured.spans.data())];
    if (!p.op || p.op != m.op || p.partner != m.partner) continue;
    errors[{*p.op, p.partner}].push_back(relative(static_cast<double>(p.ns), static_cast<double>(m.ns)));
  }
  return errors;
}

/// The median of signed errors and the 90th percentile of absolute ones. Requires one.
void fill_errors(std::vector<double> errors, KindError& kind) {
  std::ranges::sort(errors);
  kind.median_error = (errors[(errors.size() - 1) / 2] + errors[errors.size() / 2]) / 2;
  for (double& error : errors) error = std::abs(error);
  std::ranges::sort(errors);
  kind.p90_error = errors[(errors.size() * 9 + 9) / 10 - 1];
}

void fill_kinds(const Timeline& predicted, const Timeline& measured, const Alignment& alignment,
                Comparison& comparison) {
  std::map<KindKey, KindError> kinds;
  const auto add = [&](const Timeline& timeline, std::int64_t KindError::*number, std::int64_t KindError::*sum) {
    const std::vector<ComparedUnit> units = compared_units(timeline);
    for (std::size_t i = 0; i < units.size(); ++i) {
      const DeviceId device = timeline.spans[i].device;
      if (!units[i].op || !is_known(predicted, device) || !is_known(measured, device)) continue;
      KindError& kind = kinds[{*units[i].op, units[i].partner}];
      ++(kind.*number);
      kind.*sum += units[i].ns;
    }
  };
  add(predicted, &KindError::predicted_count, &KindError::predicted_ns);
  add(measured, &KindError::measured_count, &KindError::measured_ns);
  if (comparison.aligned) {
    for (const auto& [key, errors] : errors_by_kind(predicted, measured, alignment)) {
      if (const auto kind = kinds.find(key); kind != kinds.end()) fill_errors(errors, kind->second);
    }
  }
  for (auto& [key, kind] : kinds) {
    kind.op = key.first;
    kind.partner = key.second;
    comparison.kinds.push_back(kind);
  }
}

/// Returns the devices that both know; figures compare like with like.
std::vector<std::size_t> known_devices(const Timeline& one, const Timeline& other) {
  std::vector<std::size_t> devices;
  for (std::size_t d = 0; d < one.devices.size(); ++d) {
    const DeviceId device{static_cast<std::int32_t>(d)};
    if (is_known(one, device) && is_known(other, device)) devices.push_back(d);
  }
  return devices;
}

/// Bubble fraction and utilization, of the devices that both know.
void fill_shares(const Timeline& predicted, const Timeline& measured, Comparison& comparison) {
  const auto share = [](const Timeline& timeline, const Timeline& other, double whole, Ticks DeviceSummary::*of) {
    const std::vector<std::size_t> devices = known_devices(timeline, other);
    if (devices.size() == timeline.devices.size() || timeline.makespan == 0) return whole;
    double sum = 0;
    for (const std::size_t d : devices) sum += static_cast<double>(timeline.devices[d].*of);
    return devices.empty() ? 0 : sum / static_cast<double>(timeline.makespan) / static_cast<double>(devices.size());
  };
  comparison.bubble_fraction = figure(share(predicted, measured, predicted.bubble_fraction, &DeviceSummary::idle),
                                      share(measured, predicted, measured.bubble_fraction, &DeviceSummary::idle));
  comparison.utilization = figure(share(predicted, measured, predicted.utilization, &DeviceSummary::useful),
                                  share(measured, predicted, measured.utilization, &DeviceSummary::useful));
}

void fill_causes(const Timeline& predicted, const Timeline& measured, Comparison& comparison) {
  for (std::size_t c = 0; c < kIdleCauseCount; ++c) {
    CauseError error;
    error.cause = static_cast<IdleCause>(c);
    const auto add = [&](const Timeline& timeline, const Timeline& other, std::int64_t& sum_ns, double& share) {
      Ticks sum = 0;
      const std::vector<std::size_t> devices = known_devices(timeline, other);
      for (const std::size_t d : devices) sum += timeline.devices[d].idle_causes[c];
      sum_ns = to_ns(sum, timeline.base);
      const double all = static_cast<double>(timeline.makespan) * static_cast<double>(devices.size());
      share = all > 0 ? static_cast<double>(sum) / all : 0;
    };
    add(predicted, measured, error.predicted_ns, error.predicted_share);
    add(measured, predicted, error.measured_ns, error.measured_share);
    if (error.predicted_ns != 0 || error.measured_ns != 0) comparison.causes.push_back(error);
  }
}

bool knows_memory(const Timeline& timeline) {
  return std::ranges::any_of(timeline.devices,
                             [](const DeviceSummary& device) { return device.peak_memory_bytes != 0; });
}

void fill_memory(const Timeline& predicted, const Timeline& measured, Comparison& comparison) {
  if (!knows_memory(predicted) || !knows_memory(measured)) return;
  const std::size_t devices = std::max(predicted.devices.size(), measured.devices.size());
  const DeviceSummary none;
  for (std::size_t d = 0; d < devices; ++d) {
    const DeviceSummary& p = d < predicted.devices.size() ? predicted.devices[d] : none;
    const DeviceSummary& m = d < measured.devices.size() ? measured.devices[d] : none;
    const DeviceId device{static_cast<std::int32_t>(d)};
    comparison.memory.push_back({device, std::nullopt, p.peak_memory_bytes, m.peak_memory_bytes});
    for (std::size_t c = 0; c < kMemoryClassCount; ++c) {
      if (p.peak_memory_by_class[c] == 0 && m.peak_memory_by_class[c] == 0) continue;
      comparison.memory.push_back(
          {device, static_cast<MemoryClass>(c), p.peak_memory_by_class[c], m.peak_memory_by_class[c]});
    }
  }
}

void fill_offenders(const Timeline& predicted, const Timeline& measured, const Alignment& alignment, std::size_t most,
                    Comparison& comparison) {
  if (!comparison.aligned) return;
  std::vector<Offender> all;
  for (const SpanMatch& match : alignment.matches) {
    if (match.predicted->lane != Lane::kCompute) continue;
    all.push_back({match.predicted->device, match.predicted->action, to_ns(match.predicted->start, predicted.base),
                   to_ns(match.measured->start, measured.base), duration_ns(*match.predicted, predicted),
                   duration_ns(*match.measured, measured)});
  }
  const auto difference = [](const Offender& action) { return std::abs(action.predicted_ns - action.measured_ns); };
  std::ranges::stable_sort(all, std::ranges::greater(), difference);
  if (all.size() > most) all.resize(most);
  std::erase_if(all, [&](const Offender& action) { return difference(action) == 0; });
  comparison.offenders = std::move(all);
}

std::string percent(double share) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.2f %%", 100 * share);
  return text.data();
}

void judge_memory(Comparison& comparison) {
  if (comparison.memory.empty()) comparison.findings.emplace_back("memory: expected peak memory in both timelines");
  for (const MemoryError& error : comparison.memory) {
    if (error.predicted_bytes == error.measured_bytes) continue;
    const std::string what =
        error.cls ? std::string(kMemoryClassNames[static_cast<std::size_t>(*error.cls)]) : std::string("peak");
    comparison.findings.push_back("memory: device " + std::to_string(index(error.device)) + ", " + what + ": " +
                                  std::to_string(error.predicted_bytes) + " bytes predicted, " +
                                  std::to_string(error.measured_bytes) + " measured");
  }
}

void judge_noise(double bound, Comparison& comparison) {
  if (comparison.noise_level() <= bound) return;
  comparison.verdict = Verdict::kNoisy;
  comparison.findings.push_back("noisy: noise " + percent(comparison.noise_level()) + ", expected at most " +
                                percent(bound) + ", so that this is no answer");
}

void judge_time(double bound, Comparison& comparison) {
  if (std::abs(comparison.model_error()) <= bound) return;
  const bool noise = comparison.split && comparison.split->noise_ns != 0;
  comparison.findings.push_back("step time: error " + percent(comparison.step_time_ns.error) +
                                (noise ? ", the model's part " + percent(comparison.model_error()) : "") +
                                ", expected at most " + percent(bound));
  if (comparison.runs > 1 && comparison.spread > bound) {
    comparison.verdict = Verdict::kNoisy;
    comparison.findings.push_back("noisy: step times of the " + std::to_string(comparison.runs) + " runs spread by " +
                                  percent(comparison.spread) + ", so that this is no answer");
  } else {
    comparison.verdict = Verdict::kFail;
  }
}

void judge(const CompareOptions& options, Comparison& comparison) {
  if (!options.max_error && !options.max_noise && !options.memory_exact) return;
  comparison.verdict = Verdict::kPass;
  if (options.max_noise) judge_noise(*options.max_noise, comparison);
  if (options.max_error && comparison.verdict == Verdict::kPass) judge_time(*options.max_error, comparison);
  const std::size_t about_time = comparison.findings.size();
  if (options.memory_exact) judge_memory(comparison);
  if (comparison.findings.size() > about_time) comparison.verdict = Verdict::kFail;
}

/// Step times of the runs in order, and the run that stands for them.
struct Runs {
  const Timeline* middle = nullptr;
  double median_ns = 0;
  double spread = 0;
  std::int64_t count = 0;
};

/// Returns one step of a traced run that tells how long its other steps were: those that were not disturbed are the
/// runs.
Runs summarize_traced(const Timeline& shown, const TracedFacts& facts) {
  std::vector<double> calm;
  for (std::size_t k = 0; k < facts.step_ns.size(); ++k) {
    const bool disturbed =
        std::ranges::find(facts.disturbed_steps, static_cast<std::int32_t>(k)) != facts.disturbed_steps.end();
    if (!disturbed) calm.push_back(static_cast<double>(facts.step_ns[k]));
  }
  if (calm.empty()) calm.push_back(ns(shown.step_time, shown));
  std::ranges::sort(calm);
  const double median = (calm[(calm.size() - 1) / 2] + calm[calm.size() / 2]) / 2;
  return {&shown, median, median > 0 ? (calm.back() - calm.front()) / median : 0, std::ssize(calm)};
}

/// `predicted`, where there is one, says which step time is meant.
Runs summarize(std::span<const Timeline> measured, std::optional<std::size_t> shown, const Timeline* predicted) {
  if (measured.size() == 1 && measured.front().traced && !shown)
    return summarize_traced(measured.front(), *measured.front().traced);
  std::vector<const Timeline*> order;
  for (const Timeline& run : measured) order.push_back(&run);
  const auto step = [&](const Timeline* run) {
    return predicted == nullptr ? ns(run->step_time, *run) : step_as_predicted(*predicted, *run);
  };
  std::ranges::stable_sort(order, {}, step);
  const Timeline* low = order[(order.size() - 1) / 2];
  const double median = (step(low) + step(order[order.size() / 2])) / 2;
  const double spread = median > 0 ? (step(order.back()) - step(order.front())) / median : 0;
  if (shown) return {&measured[*shown], step(&measured[*shown]), spread, std::ssize(measured)};
  return {low, median, spread, std::ssize(measured)};
}

}  // namespace

std::size_t middle_run(std::span<const Timeline> runs) {
  return static_cast<std::size_t>(summarize(runs, std::nullopt, nullptr).middle - runs.data());
}

double Comparison::model_error() const {
  if (!split || split->measured_ns == 0) return step_time_ns.error;
  return static_cast<double>(split->model_ns) / static_cast<double>(split->measured_ns);
}

double Comparison::noise_level() const { return std::max(std::abs(noise()), runs > 1 ? spread : 0); }

Comparison compare(const Timeline& predicted, std::span<const Timeline> runs, const CompareOptions& options) {
  assert(!runs.empty());
  const Runs summary = summarize(runs, options.shown, &predicted);
  const Timeline& measured = *summary.middle;
  Comparison comparison;
  comparison.predicted_schedule = predicted.schedule;
  comparison.measured_schedule = measured.schedule;
  comparison.runs = summary.count;
  comparison.spread = summary.spread;
  comparison.makespan_ns = figure(ns(predicted.makespan, predicted), ns(measured.makespan, measured));
  comparison.step_time_ns = figure(ns(predicted.step_time, predicted), summary.median_ns);
  fill_shares(predicted, measured, comparison);
  if (predicted.tokens_per_s && measured.tokens_per_s) {
    comparison.tokens_per_s = figure(*predicted.tokens_per_s, *measured.tokens_per_s);
  }
  const Alignment alignment = align(predicted, measured);
  comparison.only_predicted = std::ssize(alignment.only_predicted);
  comparison.only_measured = std::ssize(alignment.only_measured);
  comparison.aligned = alignment.complete();
  fill_kinds(predicted, measured, alignment, comparison);
  fill_causes(predicted, measured, comparison);
  fill_memory(predicted, measured, comparison);
  fill_offenders(predicted, measured, alignment, options.most_offenders, comparison);
  comparison.split =
      split_error(predicted, runs, static_cast<std::size_t>(&measured - runs.data()), options.most_part_actions);
  judge(options, comparison);
  return comparison;
}

Comparison compare(const Timeline& predicted, const Timeline& measured, const CompareOptions& options) {
  return compare(predicted, std::span(&measured, 1), options);
}

}  // namespace plumb
