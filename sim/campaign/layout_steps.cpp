#include "sim/campaign/layout_steps.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"

namespace plumb {
namespace {

constexpr double kMostStepMs = 1e9;
/// Rates that differ by this share are equal: samples and times of tables are rounded.
constexpr double kEqualRates = 1e-9;

std::int64_t layout_ns(const JsonValue& milliseconds, double least) {
  return std::llround(milliseconds.number(least, kMostStepMs) * 1e6);
}

}  // namespace

/// Scales the step of all pipelines: one pipeline with `share` of the samples does what `share` x `pipelines` of them
/// do.
std::optional<std::int64_t> LayoutSource::share_ns(JobLayout layout, double share) {
  for (std::int32_t pipelines = layout.pipelines; pipelines > 0; --pipelines) {
    const std::optional<StepOfLayout> all = step({pipelines, layout.stages});
    if (all) return std::llround(static_cast<double>(all->ns) * share * pipelines);
  }
  return {};
}

std::optional<StepOfLayout> LayoutSource::frozen_step(JobLayout layout, const FrozenLayers& layers) {
  constexpr double kForward = 1.0 / 3;  // of a layer's work
  std::optional<StepOfLayout> whole = step(layout);
  if (!whole) return {};
  const double work = 1 - static_cast<double>(layers.frozen) / layers.all * (layers.cached ? 1 : 1 - kForward);
  whole->ns = std::max<std::int64_t>(1, std::llround(static_cast<double>(whole->ns) * work));
  return whole;
}

std::optional<StepOfLayout> LayoutTable::step(JobLayout layout) {
  const auto row = rows_.find(layout);
  if (row == rows_.end()) return {};
  return row->second.step;
}

std::vector<std::int32_t> LayoutTable::lengths() const {
  std::set<std::int32_t> lengths;
  for (const auto& [layout, row] : rows_) lengths.insert(layout.stages);
  return {lengths.begin(), lengths.end()};
}

std::int32_t LayoutTable::most_pipelines(std::int32_t stages) const {
  std::int32_t most = 0;
  for (const auto& [layout, row] : rows_) {
    if (layout.stages == stages) most = std::max(most, layout.pipelines);
  }
  return most;
}

std::optional<LayoutRestart> LayoutTable::restart(JobLayout layout) {
  const auto row = rows_.find(layout);
  if (row == rows_.end()) return {};
  return row->second.restart;
}

std::map<JobLayout, LayoutTable::Row> layouts_from_json(const std::string& text, const std::string& file_name) {
  const JsonDocument document(text, file_name);
  const JsonValue root = document.root();
  check_format(root, "plumbline-layouts", 1);
  root.allow_only({"format", "version", "source", "samples", "layouts"});
  double samples = 0;
  if (const auto given = root.find("samples")) samples = given->number(1e-9, 1e12);
  std::map<JobLayout, LayoutTable::Row> rows;
  for (const JsonValue& one : root.at("layouts").elements()) {
    one.allow_only({"pipelines", "stages", "ms", "samples", "restart_ms"});
    const JobLayout layout{static_cast<std::int32_t>(one.at("pipelines").integer(1, 100'000)),
                           static_cast<std::int32_t>(one.at("stages").integer(1, 10'000))};
    LayoutTable::Row row{.step = {.ns = layout_ns(one.at("ms"), 1e-3), .samples = samples}, .restart = {}};
    if (const auto own = one.find("samples")) row.step.samples = own->number(1e-9, 1e12);
    if (row.step.samples == 0) one.fail("expected \"samples\" of a step, here or for all layouts");
    if (const auto restart = one.find("restart_ms")) {
      restart->allow_only({"added", "removed", "load"});
      row.restart = LayoutRestart{.added_ns = layout_ns(restart->at("added"), 0),
                                  .removed_ns = layout_ns(restart->at("removed"), 0),
                                  .load_ns = restart->find("load") ? layout_ns(restart->at("load"), 0) : 0};
    }
    if (!rows.emplace(layout, row).second) one.fail("this layout is there already");
  }
  if (rows.empty()) root.at("layouts").fail("expected at least one layout");
  return rows;
}

std::string layouts_to_json(const std::map<JobLayout, LayoutTable::Row>& rows) {
  nlohmann::ordered_json layouts = nlohmann::ordered_json::array();
  for (const auto& [layout, row] : rows) {
    nlohmann::ordered_json one{{"pipelines", layout.pipelines},
                               {"stages", layout.stages},
                               {"ms", static_cast<double>(row.step.ns) / 1e6},
                               {"samples", row.step.samples}};
    if (row.restart) {
      one["restart_ms"] = {{"added", static_cast<double>(row.restart->added_ns) / 1e6},
                           {"removed", static_cast<double>(row.restart->removed_ns) / 1e6},
                           {"load", static_cast<double>(row.restart->load_ns) / 1e6}};
    }
    layouts.push_back(std::move(one));
  }
  const nlohmann::ordered_json document{{"format", "plumbline-layouts"}, {"version", 1}, {"layouts", layouts}};
  return document.dump(1) + "\n";
}

std::optional<StepOfLayout> LayoutBook::step(JobLayout layout) {
  const auto [found, is_new] = steps_.try_emplace(layout);
  if (is_new) found->second = source_.step(layout);
  return found->second;
}

std::optional<StepOfLayout> LayoutBook::frozen_step(JobLayout layout, const FrozenLayers& layers) {
  const auto [found, is_new] = frozen_.try_emplace({layout, layers});
  if (is_new) found->second = source_.frozen_step(layout, layers);
  return found->second;
}

LayoutBook& LayoutBook::redundant() {
  LayoutSource* const source = source_.redundant();
  if (source == nullptr) return *this;
  if (!redundant_) redundant_ = std::make_unique<LayoutBook>(*source);
  return *redundant_;
}

/// Tries all layouts of at most so many nodes; rates that differ by no more than rounding are equal.
std::optional<JobLayout> LayoutBook::best(std::int32_t nodes) {
  const auto [found, is_new] = best_.try_emplace(nodes);
  if (!is_new) return found->second;
  std::optional<JobLayout> best;
  double best_rate = 0;
  for (const std::int32_t stages : source_.lengths()) {
    const std::int32_t most = std::min(source_.most_pipelines(stages), nodes / stages);
    for (std::int32_t pipelines = 1; pipelines <= most; ++pipelines) {
      const JobLayout layout{pipelines, stages};
      const std::optional<StepOfLayout> taken = step(layout);
      if (!taken) continue;
      const double rate = taken->samples_per_s();
      const bool equal = best && std::abs(rate - best_rate) <= kEqualRates * best_rate;
      if (!best || (equal ? layout < *best : rate > best_rate)) {
        best = layout;
        best_rate = rate;
      }
    }
  }
  found->second = best;
  return best;
}

/// Takes the best layout, or where there is none that of the fewest nodes on which any length of pipeline runs.
std::optional<JobLayout> LayoutBook::made_for(std::int32_t nodes) {
  if (const std::optional<JobLayout> layout = best(nodes)) return layout;
  std::optional<std::int32_t> fewest;
  for (const std::int32_t stages : source_.lengths()) {
    JobLayout least{1, stages};
    while (least.pipelines <= source_.most_pipelines(stages) && !step(least)) ++least.pipelines;
    if (least.pipelines > source_.most_pipelines(stages)) continue;
    if (!fewest || least.nodes() < *fewest) fewest = least.nodes();
  }
  return fewest ? best(*fewest) : std::nullopt;
}

double LayoutBook::best_rate(std::int32_t nodes) {
  const std::optional<JobLayout> layout = best(nodes);
  if (!layout) return 0;
  return step(*layout)->samples_per_s();
}

}  // namespace plumb
