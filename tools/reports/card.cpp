#include "tools/reports/card.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "sim/prediction/memory_fit.hpp"
#include "tools/terminal/quantity_text.hpp"

namespace plumb {
namespace {

constexpr double kAsLong = 0.005;        ///< steps that differ by less are called equally long
constexpr double kAsMuch = 0.02;         ///< the same of memory
constexpr double kLeastReason = 0.2;     ///< of the difference, that a reason is told
constexpr std::size_t kMostReasons = 2;  ///< that are told

double card_ns(const Timeline& timeline, Ticks ticks) {
  return static_cast<double>(ticks) / static_cast<double>(timeline.base.ticks_per_ns);
}

/// What the fullest device of a run holds.
struct CardPeak {
  std::size_t device = 0;
  double amount = 0;  ///< 0: not known
  bool in_bytes = false;
  double beside = 0;  ///< bytes that are held beside tensors
};

/// How many times 1/p of the model a stash of one stage belongs to.
double stash_share_of(const Timeline& timeline) {
  if (!timeline.stashes.devices.empty()) return timeline.stashes.share;
  std::size_t stages = 1;
  for (const Span& span : timeline.spans) stages = std::max(stages, index(span.action.stage) + 1);
  return static_cast<double>(timeline.devices.size()) / static_cast<double>(stages);
}

CardPeak peak_of(const Timeline& timeline) {
  CardPeak peak;
  for (std::size_t d = 0; d < timeline.devices.size(); ++d) {
    const DeviceSummary& device = timeline.devices[d];
    const auto tensors = static_cast<double>(device.peak_memory_bytes);
    const double bytes = device.need ? static_cast<double>(device.need->needed_bytes) : tensors;
    if (bytes > 0 && (!peak.in_bytes || bytes > peak.amount)) {
      peak = {.device = d, .amount = bytes, .in_bytes = true, .beside = bytes - tensors};
    }
    if (peak.in_bytes) continue;
    const double stashes = device.peak_activations * stash_share_of(timeline);
    if (stashes > peak.amount) peak = {.device = d, .amount = stashes};
  }
  return peak;
}

std::string peak_text(const CardPeak& peak) {
  if (peak.in_bytes) return bytes_text(static_cast<std::int64_t>(peak.amount));
  return number_text(peak.amount) + (peak.amount == 1 ? " stash" : " stashes");
}

std::vector<CardMemory> bytes_curve(const Timeline& timeline, const CardPeak& peak) {
  std::vector<CardMemory> curve;
  MemoryByClass now{};
  for (const MemoryPoint& point : timeline.memory.of(peak.device)) {
    now[static_cast<std::size_t>(point.cls())] = point.bytes();
    const double time = card_ns(timeline, point.time());
    const auto sum = static_cast<double>(std::accumulate(now.begin(), now.end(), std::int64_t{0}));
    if (curve.empty() || curve.back().time < time) curve.push_back({time, 0});
    curve.back().amount = sum + peak.beside;
  }
  return curve;
}

std::vector<CardMemory> memory_curve(const Timeline& timeline, const CardPeak& peak) {
  if (peak.in_bytes) return timeline.memory.empty() ? std::vector<CardMemory>{} : bytes_curve(timeline, peak);
  std::vector<CardMemory> curve;
  if (timeline.stashes.devices.empty()) return curve;
  for (const StashPoint& point : timeline.stashes.devices[peak.device]) {
    curve.push_back({card_ns(timeline, point.time), point.amount * timeline.stashes.share});
  }
  return curve;
}

/// By device, with the shade of every span.
std::vector<CardRow> card_rows(const Timeline& timeline) {
  std::vector<CardRow> rows(timeline.devices.size());
  std::map<DeviceId, std::set<std::pair<ReplicaId, StageId>>> held;
  for (const Span& span : timeline.spans) {
    if (span.lane == Lane::kCompute) held[span.device].insert({span.action.replica, span.action.stage});
  }
  for (const PictureRow& row : picture_rows(timeline)) {
    if (row.lane != Lane::kCompute) continue;
    const auto& stages = held[row.device];
    for (const PictureSpan& drawn : row.spans) {
      const Action& action = timeline.spans[drawn.span].action;
      const auto shade = std::distance(stages.begin(), stages.find({action.replica, action.stage}));
      rows[index(row.device)].spans.push_back({.start = card_ns(timeline, drawn.start),
                                               .end = card_ns(timeline, drawn.end),
                                               .op = action.op,
                                               .shade = action.op > Op::kW ? 0 : static_cast<std::size_t>(shade),
                                               .microbatch = static_cast<std::int64_t>(action.microbatch),
                                               .part = drawn.part});
    }
  }
  for (const IdleGap& gap : idle_gaps(timeline)) {
    rows[index(gap.device)].gaps.push_back({card_ns(timeline, gap.start), card_ns(timeline, gap.end), gap.cause});
  }
  for (CardRow& row : rows) std::ranges::stable_sort(row.spans, {}, &CardSpan::start);
  return rows;
}

CardBlock card_block(const Timeline& timeline, std::string title) {
  return {.title = std::move(title), .end = card_ns(timeline, timeline.makespan), .rows = card_rows(timeline)};
}

std::string size_words(const Timeline& timeline) {
  return std::to_string(timeline.devices.size()) + " devices, " + std::to_string(timeline.num_microbatches) +
         " microbatches";
}

bool is_of_size(const Timeline& one, const Timeline& other) {
  return one.devices.size() == other.devices.size() && one.num_microbatches == other.num_microbatches;
}

constexpr std::array<std::string_view, 8> kReasons{"idle at the start",
                                                   "idle at the end",
                                                   "waits for other devices",
                                                   "waits for messages",
                                                   "waits for collectives and updates",
                                                   "waits for memory",
                                                   "time of the host",
                                                   "more work"};

using MeanTimes = std::array<double, kReasons.size()>;

/// What a device does in an update, on average over devices; the order is that of `kReasons`.
MeanTimes mean_times(const Timeline& timeline) {
  MeanTimes times{};
  double known = 0;
  for (const DeviceSummary& device : timeline.devices) {
    if (!device.known) continue;
    ++known;
    const auto idle = [&](IdleCause cause) {
      return card_ns(timeline, device.idle_causes[static_cast<std::size_t>(cause)]);
    };
    times[0] += idle(IdleCause::kWarmup);
    times[1] += idle(IdleCause::kDrain);
    times[2] += idle(IdleCause::kCompute);
    times[3] +=
        idle(IdleCause::kTransferLatency) + idle(IdleCause::kTransferBandwidth) + idle(IdleCause::kTransferQueue);
    times[4] += idle(IdleCause::kCollective);
    times[5] += idle(IdleCause::kMemory);
    times[6] += idle(IdleCause::kOverhead);
    times[7] += card_ns(timeline, device.busy);
  }
  const double updates = static_cast<double>(std::max<std::int64_t>(timeline.updates, 1));
  for (double& time : times) time /= std::max(known, 1.0) * updates;
  return times;
}

/// Where the step of `run` is longer, by mean device; empty where nothing is.
std::string reasons(const Timeline& first, const Timeline& run) {
  const MeanTimes before = mean_times(first);
  MeanTimes more = mean_times(run);
  double all = 0;
  for (std::size_t i = 0; i < more.size(); ++i) {
    more[i] = std::max(more[i] - before[i], 0.0);
    all += more[i];
  }
  std::vector<std::pair<double, std::string_view>> longer;
  for (std::size_t i = 2; i < more.size(); ++i) longer.emplace_back(more[i], kReasons[i]);
  if (more[0] > kAsLong * all && more[1] > kAsLong * all) {
    longer.emplace_back(more[0] + more[1], "idle at the start and the end");
  } else {
    longer.emplace_back(more[0] + more[1], kReasons[more[0] > more[1] ? 0 : 1]);
  }
  std::ranges::stable_sort(longer, std::ranges::greater{}, [](const auto& one) { return one.first; });
  std::string words;
  for (std::size_t i = 0; i < std::min(longer.size(), kMostReasons); ++i) {
    if (all <= 0 || longer[i].first < kLeastReason * all) break;
    words += (i == 0 ? ": " : ", ") + std::string(longer[i].second);
  }
  return words;
}

std::vector<std::string> figures_of(const Timeline& timeline, const CardPeak& peak, TimeWords words) {
  const std::string unit = words == TimeWords::kUnits ? " units" : "";
  std::vector<std::string> figures{time_text(to_ns(timeline.step_time, timeline.base), words) + unit,
                                   percent_text(timeline.bubble_fraction) + " idle"};
  if (peak.amount > 0) figures.push_back("peak " + peak_text(peak));
  MemoryVerdict worst = MemoryVerdict::kUnknown;
  for (const DeviceSummary& device : timeline.devices) {
    if (device.need) worst = std::max(worst, device.need->verdict());
  }
  if (worst > MemoryVerdict::kFits) figures.emplace_back(verdict_word(worst));
  return figures;
}

/// Whether all runs have the same `value`.
template <class Value>
bool is_common(std::span<const CardRun> runs, const Value& value) {
  return std::ranges::all_of(runs, [&](const CardRun& run) { return value(run) == value(runs.front()); });
}

/// The costs of a run; those of unlike numbers of stages are called the same.
std::string costs_of(const CardRun& run) {
  std::string costs = run.timeline->machine.substr(0, run.timeline->machine.find(';'));
  constexpr std::string_view kPerDevice = " per device";
  if (costs.ends_with(kPerDevice)) costs.resize(costs.size() - kPerDevice.size());
  return costs;
}

std::string about_words(std::span<const CardRun> runs) {
  std::string words;
  if (is_common(runs, [](const CardRun& run) { return size_words(*run.timeline); })) {
    words = size_words(*runs.front().timeline);
  }
  const std::string costs = costs_of(runs.front());
  if (!costs.empty() && is_common(runs, costs_of)) words += (words.empty() ? "" : "; ") + costs;
  return words;
}

}  // namespace

std::vector<std::size_t> card_order(std::span<const CardRun> runs) {
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t at) { return card_ns(*runs[at].timeline, runs[at].timeline->step_time); });
  return order;
}

std::string difference_words(const Timeline& first, const Timeline& run) {
  const double ratio = card_ns(run, run.step_time) / std::max(card_ns(first, first.step_time), 1e-9);
  const bool equal = std::abs(ratio - 1) < kAsLong;
  std::string words = equal ? "as long" : fixed_text(ratio, 2) + " times as long";
  if (!is_of_size(first, run)) words += " with " + size_words(run);
  const CardPeak before = peak_of(first);
  const CardPeak now = peak_of(run);
  if (before.in_bytes == now.in_bytes && before.amount > 0 && now.amount > 0) {
    const double memory = now.amount / before.amount;
    if (std::abs(memory - 1) >= kAsMuch) words += ", " + fixed_text(memory, 2) + " times the memory";
  }
  return equal ? words : words + reasons(first, run);
}

Card comparison_card(std::span<const CardRun> runs) {
  Card card{.about = about_words(runs)};
  const bool same_size = is_common(runs, [](const CardRun& run) { return size_words(*run.timeline); });
  const bool same_costs = is_common(runs, costs_of);
  const auto in_bytes = [](const CardRun& run) { return peak_of(*run.timeline).in_bytes; };
  const bool same_unit = is_common(runs, in_bytes);
  card.in_bytes = in_bytes(runs.front());
  const bool abstract = std::ranges::all_of(runs, [](const CardRun& run) { return run.times == TimeWords::kUnits; });
  card.times = abstract ? TimeWords::kUnits : TimeWords::kSeconds;
  const Timeline* first = nullptr;
  for (const std::size_t at : card_order(runs)) {
    const Timeline& timeline = *runs[at].timeline;
    if (timeline.spans.empty()) {
      throw Error(runs[at].title + ": was recorded without its actions, expected a timeline written without --summary");
    }
    CardBlock& block = card.blocks.emplace_back(card_block(timeline, runs[at].title));
    const CardPeak peak = peak_of(timeline);
    block.figures = figures_of(timeline, peak, card.times);
    block.fullest = peak.device;
    if (same_unit) block.memory = memory_curve(timeline, peak);
    if (!same_size && first == nullptr) block.remark = size_words(timeline);
    if (first != nullptr) block.remark = difference_words(*first, timeline);
    if (!same_costs) block.remark += (block.remark.empty() ? "" : "; ") + costs_of(runs[at]);
    if (first == nullptr) first = &timeline;
    card.longest = std::max(card.longest, block.end);
    for (const CardMemory& point : block.memory) card.most_memory = std::max(card.most_memory, point.amount);
  }
  return card;
}

Card single_card(const Timeline& timeline) {
  Card card;
  CardBlock& block = card.blocks.emplace_back(card_block(timeline, timeline.schedule));
  block.remark = "makespan " + time_text(to_ns(timeline.makespan, timeline.base)) + ", bubble " +
                 percent_text(timeline.bubble_fraction);
  card.longest = block.end;
  return card;
}

std::string card_json(std::span<const CardRun> runs) {
  nlohmann::ordered_json document{{"runs", nlohmann::ordered_json::array()}};
  const Timeline* first = nullptr;
  for (const std::size_t at : card_order(runs)) {
    const Timeline& timeline = *runs[at].timeline;
    if (first == nullptr) first = &timeline;
    const CardPeak peak = peak_of(timeline);
    nlohmann::ordered_json run{{"title", runs[at].title},
                               {"schedule", timeline.schedule},
                               {"kind", timeline.kind == Timeline::Kind::kSimulated ? "simulated" : "measured"},
                               {"devices", timeline.devices.size()},
                               {"microbatches", timeline.num_microbatches},
                               {"step_time_ns", to_ns(timeline.step_time, timeline.base)},
                               {"makespan_ns", to_ns(timeline.makespan, timeline.base)},
                               {"bubble_fraction", timeline.bubble_fraction},
                               {"fullest_device", peak.device}};
    if (peak.amount > 0) run[peak.in_bytes ? "peak_bytes" : "peak_stashes"] = peak.amount;
    run["times_as_long"] = card_ns(timeline, timeline.step_time) / std::max(card_ns(*first, first->step_time), 1e-9);
    if (first != &timeline) run["difference"] = difference_words(*first, timeline);
    document["runs"].push_back(std::move(run));
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace plumb
