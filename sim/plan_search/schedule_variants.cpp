#include "sim/plan_search/schedule_variants.hpp"

#include <algorithm>
#include <string_view>

#include "models/ground/error.hpp"
#include "models/sources/abstract_costs.hpp"

namespace plumb {
namespace {

/// What a small instance shows of a schedule.
struct Shown {
  bool for_costs = false;  ///< the generator asks what actions cost
  bool sliced = false;
  bool overlaps = false;
  bool divides_vocabulary = false;
  bool fuses = false;
  bool splits = false;
  bool moves = false;
  bool hides_backwards = false;
};

bool has_pairs(const Schedule& schedule) {
  const auto overlapped = [](const Action& action) { return action.overlaps_next != 0; };
  return std::ranges::any_of(schedule.devices,
                             [&](const DeviceList& list) { return std::ranges::any_of(list.actions, overlapped); });
}

bool has_op(const Schedule& schedule, Op op) {
  return std::ranges::any_of(schedule.devices, [op](const DeviceList& list) {
    return std::ranges::any_of(list.actions, [op](const Action& action) { return action.op == op; });
  });
}

Shown shown_by(const ScheduleSpec& spec) {
  Shown shown;
  ScheduleParams params{.num_devices = 4, .num_microbatches = 12};  // every schedule of the catalogue accepts this size
  params.costs = [&](std::int32_t num_stages) {
    shown.for_costs = true;
    return abstract_costs("F=1,I=1,W=1", "", {.num_stages = num_stages});
  };
  try {
    const Schedule schedule = generate(spec.name, params);
    shown.sliced = schedule.slices.has_value();
    shown.overlaps = has_pairs(schedule);
    shown.divides_vocabulary = schedule.vocabulary.has_value();
    shown.fuses = shown.for_costs || has_op(schedule, Op::kB);  // with the costs this may change
    shown.splits = shown.for_costs || has_op(schedule, Op::kW);
    shown.moves = has_op(schedule, Op::kEvict) || has_op(schedule, Op::kLoad);
    shown.hides_backwards = shown.overlaps && shown.for_costs;  // fixed orders have no pairs of two backwards
    if (schedule.policy) shown.fuses = shown.splits = shown.moves = true;
  } catch (const Error&) {  // nothing is known, so the weaker bounds hold
    shown.sliced = shown.overlaps = shown.fuses = shown.splits = shown.moves = shown.hides_backwards = true;
  }
  return shown;
}

bool is_searched_by_default(const ScheduleSpec& spec, bool asynchronous) {
  return spec.searched && (spec.synchronous || asynchronous) && spec.alias_of.empty() &&
         spec.placement != "replicated" && spec.placement != "data-parallel" && spec.placement != "copies";
}

void add_variants(const ScheduleSpec& spec, const PlanRanges& ranges, std::vector<ScheduleVariant>& variants) {
  const Shown shown = shown_by(spec);
  if (shown.divides_vocabulary) {
    throw Error("schedule '" + std::string(spec.name) +
                "': divides the vocabulary over all devices, expected a schedule whose stages hold layers");
  }
  const auto add = [&](std::int32_t asked, std::int32_t per_place, bool even_only = false) {
    variants.push_back({&spec, asked, per_place, shown.for_costs, !spec.synchronous, shown.sliced, shown.overlaps,
                        even_only, shown.fuses, shown.splits, shown.moves, shown.hides_backwards});
  };
  if (spec.placement == "v") {
    add(0, 2);
  } else if (spec.placement == "looped" || spec.placement == "zigzag") {
    for (const std::int32_t each : ranges.chunks) add(each, each);
    for (const std::int32_t each : ranges.even_chunks) {
      if (spec.name == "interleaved") add(each, each, true);
    }
  } else {
    add(0, 1);
  }
}

/// Several stages of one place that go round are no more than one stage there, where some variant has that.
void note_one_place(std::vector<ScheduleVariant>& variants) {
  const bool one = std::ranges::any_of(variants, [](const ScheduleVariant& each) { return each.per_place == 1; });
  for (ScheduleVariant& variant : variants) variant.more_than_one = one && variant.spec->placement == "looped";
}

}  // namespace

std::int32_t ScheduleVariant::group() const {
  constexpr std::int32_t kPlacements = 6;
  const std::string_view placement = spec->placement;
  const std::int32_t placed = placement == "linear"          ? 0
                              : placement == "looped"        ? 1
                              : placement == "v"             ? 2
                              : placement == "zigzag"        ? 3
                              : placement == "bidirectional" ? 4
                                                             : 5;
  const std::int32_t passes =
      (overlaps ? 1 : 0) + (fuses ? 2 : 0) + (splits ? 4 : 0) + (moves ? 8 : 0) + (hides_backwards ? 16 : 0);
  return passes * kPlacements + placed;
}

bool ScheduleVariant::is_tried(std::int32_t places, std::size_t layers) const {
  const auto count = static_cast<std::size_t>(stages(places));
  if (count > layers || (places == 1 && more_than_one)) return false;
  constexpr std::size_t kEnds = 2;  // embedding and head
  const auto divides = [&](std::size_t all) { return all >= count && all % count == 0; };
  return !even_only || divides(layers) || divides(layers - 1) || (layers > kEnds && divides(layers - kEnds));
}

std::vector<ScheduleVariant> schedule_variants(const PlanRanges& ranges) {
  std::vector<ScheduleVariant> variants;
  if (ranges.schedules.empty()) {
    for (const ScheduleSpec& spec : schedule_catalogue()) {
      if (is_searched_by_default(spec, ranges.asynchronous)) add_variants(spec, ranges, variants);
    }
    for (ScheduleVariant& variant : variants) variant.sliced = false;  // such schedules are only scored when named
    note_one_place(variants);
    return variants;
  }
  for (const std::string& name : ranges.schedules) {
    const ScheduleSpec& found = schedule_named(name);
    if (!found.synchronous && !is_searched_by_default(found, true)) {
      throw Error("schedule '" + name + "': never flushes and has several copies of stages, expected one copy");
    }
    add_variants(found, ranges, variants);
  }
  note_one_place(variants);
  return variants;
}

std::size_t one_place_variant(const std::vector<ScheduleVariant>& variants) {
  for (std::size_t v = 0; v < variants.size(); ++v) {
    if (variants[v].spec->name == "1f1b") return v;
  }
  for (std::size_t v = 0; v < variants.size(); ++v) {
    if (variants[v].per_place == 1) return v;
  }
  return variants.size();
}

std::vector<std::vector<std::vector<DeviceId>>> placement_of(const ScheduleVariant& variant,
                                                             const std::vector<std::int32_t>& order) {
  const std::size_t p = order.size();
  std::vector<std::vector<DeviceId>> stages;
  for (std::size_t s = 0; s < p * static_cast<std::size_t>(variant.per_place); ++s) {
    std::size_t position = s % p;
    if (variant.spec->placement == "v" && s >= p) position = 2 * p - 1 - s;
    stages.push_back({DeviceId{order[position]}});
  }
  const std::string_view name = variant.spec->placement;
  if (name != "linear" && name != "looped" && name != "v") return {};
  return {std::move(stages)};
}

}  // namespace plumb
