#include "tools/reports/page_data.hpp"

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "tools/reports/picture.hpp"
#include "tools/reports/report_palette.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

/// Names, titles and colours of the members of an enumeration.
template <std::size_t n>
Json vocabulary(const std::array<std::string_view, n>& names, const std::array<std::string_view, n>& titles,
                const std::array<std::string_view, n>& colours) {
  Json list = Json::array();
  for (std::size_t i = 0; i < n; ++i)
    list.push_back({{"name", names[i]}, {"title", titles[i]}, {"colour", colours[i]}});
  return list;
}

/// Titles of the members of an enumeration, by name.
template <std::size_t n>
Json titles(const std::array<std::string_view, n>& names, const std::array<std::string_view, n>& texts) {
  Json by_name = Json::object();
  for (std::size_t i = 0; i < n; ++i) by_name[std::string(names[i])] = texts[i];
  return by_name;
}

/// Returns the comparison of a section with two runs; null for one.
Json comparison(const HtmlSection& section) {
  return section.second == nullptr ? Json() : Json::parse(section_comparison(section));
}

Json optional_number(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// One run: its figures and the columns of its spans.
class RunData {
 public:
  explicit RunData(const Timeline& timeline) : timeline_(timeline) {}

  Json make() {
    Json run = figures();
    for (const DeviceSummary& device : timeline_.devices) run["devices"].push_back(summary(device));
    run["criticalPath"] = critical_path();
    run["rows"] = rows();
    run["actions"] = actions_;
    if (!timeline_.spans.empty()) run["gaps"] = gaps();
    run["memory"] = memory();
    if (!timeline_.stashes.devices.empty()) run["stashes"] = stashes();
    run["delays"] = delays();
    return run;
  }

 private:
  std::int64_t ns(Ticks ticks) const { return to_ns(ticks, timeline_.base); }

  Json figures() const {
    return {{"kind", timeline_.kind == Timeline::Kind::kSimulated ? "simulated" : "measured"},
            {"schedule", timeline_.schedule},
            {"machine", timeline_.machine},
            {"microbatches", timeline_.num_microbatches},
            {"updates", timeline_.updates},
            {"makespan", ns(timeline_.makespan)},
            {"stepTime", ns(timeline_.step_time)},
            {"steady", timeline_.steady},
            {"longestDeviceSpan", ns(timeline_.longest_device_span)},
            {"bubbleFraction", timeline_.bubble_fraction},
            {"bubbleRate", timeline_.bubble_rate},
            {"utilization", timeline_.utilization},
            {"samplesPerSecond", optional_number(timeline_.samples_per_s)},
            {"tokensPerSecond", optional_number(timeline_.tokens_per_s)},
            {"modelFlopsUtilization", optional_number(timeline_.model_flops_utilization)},
            {"devices", Json::array()}};
  }

  Json summary(const DeviceSummary& device) const {
    Json causes = Json::array();
    for (const Ticks cause : device.idle_causes) causes.push_back(ns(cause));
    Json tensors = Json::array();
    for (const PeakTensor& tensor : device.peak_tensors) {
      tensors.push_back({{"class", static_cast<int>(tensor.cls)},
                         {"stage", index(tensor.stage)},
                         {"name", tensor.name},
                         {"bytes", tensor.bytes},
                         {"microbatches", tensor.microbatches}});
    }
    Json summary{{"busy", ns(device.busy)},
                 {"useful", ns(device.useful)},
                 {"idle", ns(device.idle)},
                 {"causes", std::move(causes)},
                 {"peak", device.peak_memory_bytes},
                 {"peakByClass", device.peak_memory_by_class},
                 {"peakActivations", device.peak_activations},
                 {"tensors", std::move(tensors)}};
    if (device.slowed != 0) summary["slowed"] = ns(device.slowed);
    if (device.need) {
      summary["need"] = {{"verdict", verdict_word(device.need->verdict())},
                         {"bytes", device.need->needed_bytes},
                         {"limit", device.need->limit_bytes}};
    }
    if (!device.known) summary["unknown"] = true;
    return summary;
  }

  Json critical_path() const {
    Json list = Json::array();
    for (const CriticalShare& share : timeline_.critical_path) {
      list.push_back({{"kind", share.kind}, {"ns", ns(share.ticks)}});
    }
    return list;
  }

  /// Returns delays by holder of a stage; counts are [value, times].
  Json delays() const {
    Json list = Json::array();
    for (const StageDelays& of : timeline_.delays) {
      list.push_back({{"replica", static_cast<int>(of.replica)},
                      {"stage", index(of.stage)},
                      {"device", index(of.device)},
                      {"distance", counts(of.distance)},
                      {"forward", counts(of.forward)},
                      {"backward", counts(of.backward)},
                      {"recompute", counts(of.recompute)},
                      {"versions", of.versions},
                      {"copies", of.copies},
                      {"bytes", of.bytes}});
    }
    return list;
  }

  static Json counts(const DelayCounts& counts) {
    Json list = Json::array();
    for (const auto& [value, times] : counts) list.push_back({value, times});
    return list;
  }

  /// Row of the table of actions that equal `action` but for the microbatch.
  std::size_t action_row(const Action& action) {
    const auto key = std::tuple(action.op, action.stage, action.replica, action.slice, action.where, action.merged);
    const auto [entry, added] = action_rows_.try_emplace(key, actions_.size());
    if (added) {
      actions_.push_back({static_cast<int>(action.op), index(action.stage), static_cast<int>(action.replica),
                          action.slice, action.where, static_cast<int>(action.merged)});
    }
    return entry->second;
  }

  Json rows() {
    const std::vector<PictureRow> rows = picture_rows(timeline_);
    const std::vector<std::int64_t> sources = arrow_sources(rows);
    Json list = Json::array();
    std::size_t number = 0;
    for (const PictureRow& row : rows) {
      std::array<std::vector<std::int64_t>, 6> columns;
      bool halves = false;
      std::int64_t last = 0;
      for (const PictureSpan& drawn : row.spans) {
        const Action& action = timeline_.spans[drawn.span].action;
        columns[0].push_back(static_cast<std::int64_t>(action_row(action)));
        columns[1].push_back(static_cast<std::int64_t>(action.microbatch));
        columns[2].push_back(ns(drawn.start) - last);
        columns[3].push_back(ns(drawn.end) - ns(drawn.start));
        columns[4].push_back(sources[number++]);
        columns[5].push_back(static_cast<std::int64_t>(drawn.part));
        halves = halves || drawn.part != PictureSpan::Part::kWhole;
        last = ns(drawn.start);
      }
      list.push_back({{"device", index(row.device)},
                      {"lane", static_cast<int>(row.lane)},
                      {"overflow", row.overflow},
                      {"action", columns[0]},
                      {"microbatch", columns[1]},
                      {"start", columns[2]},
                      {"length", columns[3]},
                      {"source", columns[4]}});
      if (halves) list.back()["part"] = columns[5];
    }
    return list;
  }

  /// Returns, by number in the rows, how far back (or ahead) the span is whose value is read; 0: none.
  std::vector<std::int64_t> arrow_sources(std::span<const PictureRow> rows) const {
    std::vector<std::int64_t> number(timeline_.spans.size(), 0);
    std::int64_t next = 0;
    for (const PictureRow& row : rows) {
      for (const PictureSpan& drawn : row.spans) number[drawn.span] = next++;
    }
    std::vector<std::int64_t> sources(timeline_.spans.size(), 0);
    for (const PictureArrow& arrow : picture_arrows(timeline_)) {
      sources[static_cast<std::size_t>(number[arrow.to])] = number[arrow.to] - number[arrow.from];
    }
    return sources;
  }

  Json gaps() const {
    Json list = Json::array();
    for (std::size_t d = 0; d < timeline_.devices.size(); ++d) {
      list.push_back({{"start", Json::array()}, {"length", Json::array()}, {"cause", Json::array()}});
    }
    std::vector<std::int64_t> last(timeline_.devices.size(), 0);
    for (const IdleGap& gap : idle_gaps(timeline_)) {
      const std::size_t d = index(gap.device);
      list[d]["start"].push_back(ns(gap.start) - last[d]);
      list[d]["length"].push_back(ns(gap.end) - ns(gap.start));
      list[d]["cause"].push_back(static_cast<int>(gap.cause));
      last[d] = ns(gap.start);
    }
    return list;
  }

  /// Returns memory by device; several changes at one time are all given.
  Json memory() const {
    Json list = Json::array();
    if (timeline_.memory.empty()) return list;
    for (std::size_t d = 0; d < timeline_.devices.size(); ++d) {
      list.push_back({{"time", Json::array()}, {"class", Json::array()}, {"bytes", Json::array()}});
    }
    for (std::size_t d = 0; d < timeline_.devices.size(); ++d) {
      std::int64_t last = 0;
      for (const MemoryPoint& point : timeline_.memory.of(d)) {
        list[d]["time"].push_back(ns(point.time()) - last);
        list[d]["class"].push_back(static_cast<int>(point.cls()));
        list[d]["bytes"].push_back(point.bytes());
        last = ns(point.time());
      }
    }
    return list;
  }

  /// Returns stashes by device; one point per time.
  Json stashes() const {
    const StashCurves& curves = timeline_.stashes;
    Json list = Json::array();
    for (const std::vector<StashPoint>& points : curves.devices) {
      Json times = Json::array();
      Json amounts = Json::array();
      std::int64_t last = 0;
      for (const StashPoint& point : points) {
        times.push_back(ns(point.time) - last);
        amounts.push_back(point.amount * curves.share);
        last = ns(point.time);
      }
      list.push_back({{"time", std::move(times)}, {"amount", std::move(amounts)}});
    }
    return {{"share", curves.share}, {"limit", optional_number(curves.limit)}, {"devices", std::move(list)}};
  }

  const Timeline& timeline_;
  std::map<std::tuple<Op, StageId, ReplicaId, std::int16_t, std::int16_t, int>, std::size_t> action_rows_;
  Json actions_ = Json::array();
};

}  // namespace

std::string page_data(const HtmlReport& report) {
  Json page = {{"title", report.title},
               {"note", report.note},
               {"ops", vocabulary(kOpNames, kOpTitles, kOpColours)},
               {"causes", vocabulary(kIdleCauseNames, kIdleTitles, kIdleColours)},
               {"classes", vocabulary(kMemoryClassNames, kMemoryTitles, kMemoryColours)},
               {"errorParts", titles(kErrorPartNames, kErrorPartTitles)},
               {"diagram", report.diagram},
               {"advice", report.advice.empty() ? Json() : Json::parse(report.advice)},
               {"sections", Json::array()}};
  if (!report.card.empty()) page["card"] = report.card;
  for (const HtmlSection& section : report.sections) {
    Json runs = Json::array();
    for (const Timeline* timeline : {section.first, section.second}) {
      if (timeline != nullptr) runs.push_back(RunData(*timeline).make());
    }
    page["sections"].push_back({{"title", section.title},
                                {"note", section.note},
                                {"choice", section.choice},
                                {"chosen", section.chosen},
                                {"comparison", comparison(section)},
                                {"runs", std::move(runs)}});
  }
  return safe_in_html(page.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::string safe_in_html(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      safe += "\\u003c";
    else
      safe += c;
  }
  return safe;
}

}  // namespace plumb
