#include "tools/plans/jobs_answer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tools/reports/fill_colours.hpp"
#include "tools/reports/report_palette.hpp"
#include "tools/reports/svg_text.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

constexpr double kMinuteNs = 60e9;

std::string counted(std::int64_t number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string times_longer(std::int64_t ns, std::int64_t best_ns) {
  return duration_text(ns) + ", " + fixed_text(static_cast<double>(ns) / static_cast<double>(best_ns), 2) + " times";
}

std::string bound_text(const JobAnswer& schedule) {
  if (schedule.proved()) return "equal: no schedule of these plans is shorter";
  return duration_text(schedule.bound_ns) + ": no schedule of these plans is shorter by more than " +
         percent_text(schedule.gap());
}

/// By start, then by device.
std::vector<std::size_t> jobs_by_start(const JobSchedule& schedule) {
  std::vector<std::size_t> jobs(schedule.places.size());
  std::iota(jobs.begin(), jobs.end(), std::size_t{0});
  std::ranges::stable_sort(jobs, {}, [&](std::size_t job) {
    return std::pair(schedule.places[job].start_ns, schedule.places[job].devices.front());
  });
  return jobs;
}

}  // namespace

const JobPlan& JobsAnswer::chosen(std::size_t job) const {
  return *std::ranges::find(plans[job], schedule.best.places[job].choice, &JobPlan::choice);
}

std::string device_ranges(const std::vector<std::int32_t>& devices) {
  std::string text;
  for (std::size_t first = 0; first < devices.size();) {
    std::size_t last = first;
    while (last + 1 < devices.size() && devices[last + 1] == devices[last] + 1) ++last;
    text += (text.empty() ? "" : " ") + std::to_string(devices[first]);
    if (last > first) text += "-" + std::to_string(devices[last]);
    first = last + 1;
  }
  return text;
}

std::string duration_text(std::int64_t ns) {
  if (ns == 0) return "0 s";
  const auto time = static_cast<double>(ns);
  if (time >= 120 * kMinuteNs) return number_text(time / (60 * kMinuteNs)) + " h";
  return time >= 2 * kMinuteNs ? number_text(time / kMinuteNs) + " min" : time_text(ns);
}

std::string jobs_text(const JobsAnswer& answer) {
  const JobSchedule& best = answer.schedule.best;
  std::string text = counted(static_cast<std::int64_t>(answer.problem.jobs.size()), "job") + " on " +
                     (answer.cluster.empty() ? "" : answer.cluster + ": ") + counted(answer.problem.nodes, "node") +
                     " of " + counted(answer.problem.per_node, "device") + "\n\n";
  TextTable table({{"job"}, {"devices", '>'}, {"which"}, {"start", '>'}, {"end", '>'}, {"plan"}});
  std::string commands;
  for (const std::size_t job : jobs_by_start(best)) {
    const JobPlace& place = best.places[job];
    const JobPlan& plan = answer.chosen(job);
    table.add_row({answer.problem.jobs[job].name, std::to_string(place.choice.devices), device_ranges(place.devices),
                   duration_text(place.start_ns), duration_text(place.end_ns), plan.plan});
    if (!plan.command.empty()) commands += "  " + plan.command + "  # " + answer.problem.jobs[job].name + "\n";
  }
  table.leave_out_empty_columns();
  text += table.to_string() + "\n";
  TextTable figures({{""}, {""}});
  figures.add_row({"all done after", duration_text(best.makespan_ns)});
  figures.add_row({"lower bound", bound_text(answer.schedule)});
  for (const SimpleJobRule& rule : answer.schedule.simple) {
    figures.add_row({rule.name, times_longer(rule.schedule.makespan_ns, best.makespan_ns)});
  }
  if (answer.shards) {
    figures.add_row({"shard by shard", times_longer(answer.shards->makespan_ns, best.makespan_ns) + " (its bound " +
                                           duration_text(answer.shards->bound_ns) + ")"});
  }
  const std::string lines = figures.to_string();
  text += lines.substr(lines.find('\n') + 1);
  return commands.empty() ? text : text + "\nsimulate:\n" + commands;
}

namespace {

constexpr double kJobsWidth = 960;
constexpr double kJobsLeft = 88;
constexpr double kJobsRight = 32;
constexpr double kJobsTop = 84;
constexpr double kMostRow = 26;
constexpr double kMostHeight = 640;  ///< height of all of them
constexpr double kNodeGap = 8;       ///< between nodes
constexpr double kJobLetter = 0.56;  ///< width of a character, of its size

/// Time on the axis: in the unit that `duration_text` gives the makespan.
struct JobsAxis {
  double unit_ns = 1e9;
  std::string_view unit = "s";
};

JobsAxis axis_of(std::int64_t makespan_ns) {
  const auto time = static_cast<double>(makespan_ns);
  if (time >= 7200e9) return {3600e9, "hours"};
  if (time >= 120e9) return {60e9, "minutes"};
  const TimeUnit unit = time_unit(makespan_ns);
  return {unit.ns, unit.name};
}

class JobsPicture {
 public:
  explicit JobsPicture(const JobsAnswer& answer)
      : answer_(answer),
        best_(answer.schedule.best),
        row_(std::min(kMostRow, kMostHeight / static_cast<double>(answer.problem.devices()))),
        scale_((kJobsWidth - kJobsLeft - kJobsRight) / static_cast<double>(best_.makespan_ns)) {}

  std::string write() {
    const double bottom = top_of(answer_.problem.devices() - 1) + row_;
    rows();
    time_axis(bottom);
    for (std::size_t job = 0; job < best_.places.size(); ++job) bars(job);
    body_ += svg_text(kJobsLeft, 36, 21, R"(class="ink" font-weight="700")", title());
    body_ += svg_text(kJobsLeft, 60, 13, R"(class="dim")", note());
    const double height = bottom + 54;
    std::string out = R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 )" + px(kJobsWidth) + " " + px(height) +
                      R"(" role="img" aria-label=")" + xml_escaped(title()) + "\">\n<title>" + xml_escaped(title()) +
                      "</title>\n";
    out += kSvgStyle;
    out += svg_rect(0, 0, kJobsWidth, height, R"(class="bg" rx="10")");
    return out + body_ + "</svg>\n";
  }

 private:
  std::string title() const {
    return std::to_string(best_.places.size()) + " jobs, all done after " + duration_text(best_.makespan_ns);
  }

  std::string note() const {
    std::string text = answer_.schedule.proved() ? "No schedule of these plans is shorter"
                                                 : "Lower bound " + duration_text(answer_.schedule.bound_ns);
    for (const SimpleJobRule& rule : answer_.schedule.simple) {
      text += "; " + rule.name + ": " + duration_text(rule.schedule.makespan_ns);
    }
    return text + ".";
  }

  double top_of(std::int64_t device) const {
    return kJobsTop + static_cast<double>(device) * row_ +
           static_cast<double>(device / answer_.problem.per_node) * kNodeGap;
  }

  double left_of(std::int64_t ns) const { return kJobsLeft + static_cast<double>(ns) * scale_; }

  void rows() {
    const std::int64_t per_node = answer_.problem.per_node;
    for (std::int64_t node = 0; node < answer_.problem.nodes; ++node) {
      const double top = top_of(node * per_node);
      const double height = row_ * static_cast<double>(per_node);
      body_ += svg_rect(kJobsLeft, top, kJobsWidth - kJobsLeft - kJobsRight, height, R"(class="lane")");
      body_ += svg_text(kJobsLeft - 10, top + height / 2 + 4, 13, R"(class="ink" text-anchor="end")",
                        "node " + std::to_string(node));
    }
  }

  void time_axis(double bottom) {
    const JobsAxis axis = axis_of(best_.makespan_ns);
    const double step = nice_step(static_cast<double>(best_.makespan_ns) / axis.unit_ns / 8) * axis.unit_ns;
    for (double at = 0; at <= static_cast<double>(best_.makespan_ns) * (1 + 1e-9); at += step) {
      body_ += svg_rect(kJobsLeft + at * scale_, kJobsTop, 1, bottom - kJobsTop, R"(class="lane")");
      body_ += svg_text(kJobsLeft + at * scale_, bottom + 18, 12, R"(class="dim" text-anchor="middle")",
                        number_text(at / axis.unit_ns));
    }
    body_ += svg_text(kJobsLeft + (kJobsWidth - kJobsLeft - kJobsRight) / 2, bottom + 38, 13,
                      R"(class="ink" text-anchor="middle")", axis.unit);
  }

  /// One bar for every group of neighbouring devices of a node; its name in the largest one.
  void bars(std::size_t job) {
    const JobPlace& place = best_.places[job];
    const std::string_view colour = kPlotColours[job % kPlotColours.size()];
    const double left = left_of(place.start_ns);
    const double width = left_of(place.end_ns) - left;
    const std::string more = "fill=\"" + std::string(colour) + R"(" class="job" rx="2")";
    double widest = 0;
    double label_top = 0;
    for (std::size_t first = 0; first < place.devices.size();) {
      std::size_t last = first;
      while (last + 1 < place.devices.size() && place.devices[last + 1] == place.devices[last] + 1 &&
             place.devices[last + 1] % answer_.problem.per_node != 0) {
        ++last;
      }
      const double top = top_of(place.devices[first]);
      const double height = top_of(place.devices[last]) + row_ - top;
      body_ += svg_rect(left + 0.5, top + 0.5, std::max(0.5, width - 1), std::max(0.5, height - 1), more);
      if (height > widest) {
        widest = height;
        label_top = top;
      }
      first = last + 1;
    }
    label(answer_.problem.jobs[job].name, colour, left, width, {label_top, widest});
  }

  struct Span {
    double top = 0;
    double height = 0;
  };

  void label(const std::string& name, std::string_view colour, double left, double width, Span bar) {
    const double size = std::min(13.0, bar.height - 2);
    const auto room = static_cast<std::size_t>(std::max(0.0, (width - 6) / (kJobLetter * size)));
    if (size < 6 || room < 2) return;
    const std::string ink = wants_light_text(colour) ? "#ffffff" : std::string(kDarkInk);
    body_ += svg_text(left + 5, bar.top + bar.height / 2 + size * 0.35, size, "fill=\"" + ink + "\"",
                      name.size() <= room ? name : name.substr(0, room - 1) + "…");
  }

  const JobsAnswer& answer_;
  const JobSchedule& best_;
  double row_;
  double scale_;
  std::string body_;
};

}  // namespace

std::string jobs_svg(const JobsAnswer& answer) { return JobsPicture(answer).write(); }

std::string jobs_json(const JobsAnswer& answer) {
  const JobSchedule& best = answer.schedule.best;
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (std::size_t job = 0; job < answer.problem.jobs.size(); ++job) {
    const JobPlace& place = best.places[job];
    nlohmann::ordered_json choices = nlohmann::ordered_json::array();
    for (const JobPlan& plan : answer.plans[job]) {
      choices.push_back({{"devices", plan.choice.devices}, {"time_ns", plan.choice.time_ns}, {"plan", plan.plan}});
    }
    nlohmann::ordered_json one{{"name", answer.problem.jobs[job].name},
                               {"devices", place.devices},
                               {"start_ns", place.start_ns},
                               {"end_ns", place.end_ns},
                               {"plan", answer.chosen(job).plan},
                               {"choices", std::move(choices)}};
    if (const std::string& command = answer.chosen(job).command; !command.empty()) one["simulate"] = command;
    if (answer.shards) one["shards_end_ns"] = answer.shards->end_ns[job];
    jobs.push_back(std::move(one));
  }
  nlohmann::ordered_json simple = nlohmann::ordered_json::array();
  for (const SimpleJobRule& rule : answer.schedule.simple) {
    simple.push_back({{"rule", rule.name}, {"makespan_ns", rule.schedule.makespan_ns}});
  }
  nlohmann::ordered_json document{{"format", "plumbline-job-schedule"},
                                  {"version", 1},
                                  {"cluster", answer.cluster},
                                  {"nodes", answer.problem.nodes},
                                  {"devices_per_node", answer.problem.per_node},
                                  {"makespan_ns", best.makespan_ns},
                                  {"bound_ns", answer.schedule.bound_ns},
                                  {"proved", answer.schedule.proved()},
                                  {"jobs", std::move(jobs)},
                                  {"simple", std::move(simple)}};
  if (answer.shards) {
    document["shards"] = {{"makespan_ns", answer.shards->makespan_ns},
                          {"bound_ns", answer.shards->bound_ns},
                          {"loading_ns", answer.shards->loading_ns}};
  }
  return document.dump(1) + "\n";
}

}  // namespace plumb
