#include "tools/sweep/sweep_result_io.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <nlohmann/json.hpp>

namespace plumb {
namespace {

using ResultJson = nlohmann::json;

constexpr std::array kDoubles{
    &SweepFigures::makespan_ns,      &SweepFigures::step_time_ns,       &SweepFigures::longest_device_span_ns,
    &SweepFigures::bubble_fraction,  &SweepFigures::bubble_rate,        &SweepFigures::utilization,
    &SweepFigures::peak_activations, &SweepFigures::peak_device_stashes};
constexpr std::array kKnownDoubles{&SweepFigures::samples_per_s, &SweepFigures::tokens_per_s,
                                   &SweepFigures::model_flops_utilization};
constexpr std::array kIntervals{&SweepFigures::makespan_interval_ns, &SweepFigures::bubble_interval};
constexpr std::array<std::string_view, 4> kSemantics{"", "synchronous", "asynchronous", "forward"};

ResultJson figures_to_json(const SweepFigures& figures) {
  ResultJson doubles = ResultJson::array();
  for (const auto member : kDoubles) doubles.push_back(figures.*member);
  ResultJson known = ResultJson::array();
  for (const auto member : kKnownDoubles)
    known.push_back(figures.*member ? ResultJson(*(figures.*member)) : ResultJson());
  ResultJson intervals = ResultJson::array();
  for (const auto member : kIntervals) {
    const auto& interval = figures.*member;
    intervals.push_back(interval ? ResultJson{interval->low, interval->high} : ResultJson());
  }
  return {doubles, known, intervals, figures.updates, figures.peak_memory_bytes, figures.needed_bytes};
}

SweepFigures figures_from_json(const ResultJson& json) {
  SweepFigures figures;
  for (std::size_t i = 0; i < kDoubles.size(); ++i) figures.*kDoubles[i] = json[0][i].get<double>();
  for (std::size_t i = 0; i < kKnownDoubles.size(); ++i) {
    if (!json[1][i].is_null()) figures.*kKnownDoubles[i] = json[1][i].get<double>();
  }
  for (std::size_t i = 0; i < kIntervals.size(); ++i) {
    const ResultJson& interval = json[2][i];
    if (!interval.is_null()) figures.*kIntervals[i] = Interval{interval[0].get<double>(), interval[1].get<double>()};
  }
  figures.updates = json[3].get<std::int64_t>();
  figures.peak_memory_bytes = json[4].get<std::int64_t>();
  figures.needed_bytes = json[5].get<std::int64_t>();
  return figures;
}

}  // namespace

std::string sweep_results_to_bytes(const std::vector<SweepResult>& results) {
  ResultJson all = ResultJson::array();
  for (const SweepResult& result : results) {
    const auto semantics = std::ranges::find(kSemantics, result.semantics) - kSemantics.begin();
    all.push_back({{"chunks", result.point.params.chunks},
                   {"semantics", semantics},
                   {"figures", result.figures ? figures_to_json(*result.figures) : ResultJson()},
                   {"fits", result.fits},
                   {"verdict", result.verdict},
                   {"error", result.error},
                   {"cannot_run", result.cannot_run},
                   {"stands_on", result.stands_on},
                   {"decided_without_contention", result.decided_without_contention}});
  }
  std::string bytes;
  ResultJson::to_cbor(all, nlohmann::detail::output_adapter<char>(bytes));
  return bytes;
}

std::vector<SweepResult> sweep_results_from_bytes(std::string_view bytes) {
  std::vector<SweepResult> results;
  for (const ResultJson& json : ResultJson::from_cbor(bytes)) {
    SweepResult& result = results.emplace_back();
    result.point.params.chunks = json["chunks"].get<std::int32_t>();
    result.semantics = kSemantics[json["semantics"].get<std::size_t>()];
    if (!json["figures"].is_null()) result.figures = figures_from_json(json["figures"]);
    result.fits = json["fits"].get<bool>();
    result.verdict = json["verdict"].get<MemoryVerdict>();
    result.error = json["error"].get<std::string>();
    result.cannot_run = json["cannot_run"].get<bool>();
    result.stands_on = json["stands_on"].get<std::string>();
    result.decided_without_contention = json["decided_without_contention"].get<bool>();
  }
  return results;
}

}  // namespace plumb
