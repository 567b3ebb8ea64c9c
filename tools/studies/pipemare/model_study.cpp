#include "tools/studies/pipemare/model_study.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <tbb/parallel_for.h>
#include <nlohmann/json.hpp>

#include "models/import/load_network.hpp"
#include "models/network/flow.hpp"
#include "models/stages/network_costs.hpp"
#include "tools/studies/pipemare/memory_formulas.hpp"
#include "tools/studies/pipemare/simulated_models.hpp"
#include "tools/terminal/quantity_text.hpp"
#include "tools/terminal/text_table.hpp"

namespace plumb {
namespace {

using Json = nlohmann::ordered_json;

/// The published factors are those of ResNet-50 with one stage per weight-carrying layer.
constexpr std::int64_t kPublishedStages = 107;
constexpr std::int64_t kSgdCopies = 3;  ///< weight, gradient, momentum
constexpr double kMiB = 1024.0 * 1024.0;

ModelCase slots(const std::string& schedule, std::int64_t stages, std::int64_t microbatches) {
  return {schedule, static_cast<std::int32_t>(stages), microbatches, {{"timing", "slots"}}};
}

/// With recompute over segments of the best length.
ModelCase in_segments(std::int64_t stages) {
  ModelCase of = slots("pipemare", stages, 8);
  of.options["segment"] = std::to_string(best_segment(stages));
  return of;
}

ModelCase flushed(std::int64_t stages, std::int64_t microbatches) {
  return {"gpipe", static_cast<std::int32_t>(stages), microbatches};
}

double simulated_gain(std::int64_t stages, std::int64_t microbatches) {
  return simulated_utilization(slots("pipemare", stages, microbatches)) /
         simulated_utilization(flushed(stages, microbatches));
}

/// `make(x)` for all x, in parallel.
std::vector<double> values(const std::vector<double>& x, const std::function<double(std::int64_t)>& make) {
  std::vector<double> y(x.size());
  tbb::parallel_for(std::size_t{0}, x.size(), [&](std::size_t i) { y[i] = make(std::llround(x[i])); });
  return y;
}

std::vector<double> whole_numbers(std::int64_t first, std::int64_t last, std::int64_t step) {
  std::vector<double> numbers;
  for (std::int64_t number = first; number <= last; number += step) numbers.push_back(static_cast<double>(number));
  return numbers;
}

PlotSeries line(std::string name, std::size_t colour, const std::vector<double>& x,
                const std::function<double(std::int64_t)>& make) {
  PlotSeries series{.name = std::move(name), .x = x, .y = values(x, make)};
  series.colour = colour;
  return series;
}

/// What a formula's line is checked with: simulated values as dots on it.
PlotSeries dots(PlotSeries series) {
  series.points = true;
  series.line = false;
  return series;
}

/// Parameters of every layer of a network that has some, residual blocks opened up: a stage each.
std::vector<std::int64_t> stage_parameters(const std::string& name) {
  const Network network = opened(load_network(name));
  const Partition partition = equal_partition(network, static_cast<std::int32_t>(network.layers.size()));
  const Precision precision;
  const MicrobatchShape shape{network.samples, network.sequence};
  std::vector<std::int64_t> parameters;
  for (const StageMemory& layer : untimed_costs(network, partition, shape, precision).memory) {
    if (layer.weight_bytes > 0) parameters.push_back(layer.weight_bytes / precision.weight_bytes);
  }
  return parameters;
}

class Models {
 public:
  explicit Models(const std::string& network)
      : network_(network),
        parameters_(stage_parameters(network)),
        stages_(static_cast<std::int64_t>(parameters_.size())),
        total_(std::accumulate(parameters_.begin(), parameters_.end(), std::int64_t{0})) {}

  ModelStudy make() {
    utilization();
    utilization_by_stages();
    memory();
    activations();
    return std::move(study_);
  }

 private:
  void figure(ModelFigure of) {
    if (stages_ != kPublishedStages) of.published.reset();
    study_.figures.push_back(std::move(of));
  }

  void plot(std::string name, Plot of) {
    if (stages_ != kPublishedStages) of.marks.clear();
    study_.names.push_back(std::move(name));
    study_.plots.push_back(std::move(of));
  }

  void utilization() {
    struct Claimed {
      std::int64_t microbatches;
      double published;
      const char* source;
    };
    Plot of{
        .title = "Pipeline utilization over GPipe, " + std::to_string(stages_) + " stages",
        .note = "(N + P - 1) / N; marks: published factors at the N that gives them (N is not published beside them)",
        .x = {"microbatches per update N", true},
        .y = {"utilization over GPipe", true},
        .series = {},
        .marks = {}};
    const std::vector<double> n{4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64};
    of.series.push_back(line("formula", 0, n, [&](std::int64_t m) { return utilization_gain(stages_, m); }));
    of.series.push_back(
        dots(line("simulated", 1, {4, 8, 16, 32, 64}, [&](std::int64_t m) { return simulated_gain(stages_, m); })));
    for (const auto& [microbatches, published, source] :
         {Claimed{8, 14.3, "MLSys abstract"}, Claimed{16, 7.6, "later full text, by a summary"},
          Claimed{32, 4.3, "arXiv v2 abstract"}}) {
      const double gain = utilization_gain(stages_, microbatches);
      figure({"utilization-n" + std::to_string(microbatches),
              "utilization over GPipe, P = " + std::to_string(stages_) + ", N = " + std::to_string(microbatches), gain,
              simulated_gain(stages_, microbatches), published, source});
      of.marks.push_back(
          {static_cast<double>(microbatches), gain, number_text(published) + "x (" + std::string(source) + ")"});
    }
    const double amortised = amortised_gain(stages_, 16, 0.1);
    figure({"utilization-t3",
            "the same with a tenth of the epochs synchronous, N = 16",
            amortised,
            {},
            4.6,
            "later full text, by a summary"});
    of.marks.push_back({16, amortised, "4.6x (T3, a tenth of the epochs; by a summary)"});
    plot("utilization", std::move(of));
  }

  void utilization_by_stages() {
    Plot of{.title = "Pipeline utilization over GPipe by number of stages",
            .note = "(N + P - 1) / N; dots: simulated",
            .x = {"stages P"},
            .y = {"utilization over GPipe"},
            .series = {},
            .marks = {}};
    std::size_t colour = 0;
    for (const std::int64_t n : {8, 16, 32, 64}) {
      const std::string name = "N = " + std::to_string(n);
      of.series.push_back(
          line(name, colour, whole_numbers(2, 214, 4), [&](std::int64_t p) { return utilization_gain(p, n); }));
      of.series.push_back(dots(
          line(name + ", simulated", colour, {8, 47, 107, 214}, [&](std::int64_t p) { return simulated_gain(p, n); })));
      ++colour;
    }
    plot("utilization-stages", std::move(of));
  }

  double simulated_memory(const ModelCase& of) const {
    return static_cast<double>(simulated_weight_memory(of, parameters_, kSgdCopies)) /
           static_cast<double>(4 * kSgdCopies * total_);
  }

  void memory() {
    const double mean = weighted_delay(parameters_, 8);
    const auto pipedream = [&](std::int64_t n) { return pipedream_memory(weighted_delay(parameters_, n), kSgdCopies); };
    const auto versions = [&](std::int64_t n) {
      return pipedream_memory(weighted_versions(parameters_, n), kSgdCopies);
    };
    const auto simulated = [&](std::int64_t n) { return simulated_memory(slots("pipedream", stages_, n)); };
    ModelCase t2 = slots("pipemare", stages_, 8);
    t2.options["correction"] = "t2";
    const double with_t2 = simulated_memory(t2);
    figure({"parameters",
            "parameters of " + network_ + " in " + std::to_string(stages_) + " stages",
            static_cast<double>(total_),
            {},
            {},
            ""});
    figure({"memory-base",
            "weights, gradients and momentum of one model, MiB",
            static_cast<double>(4 * kSgdCopies * total_) / kMiB,
            simulated_memory(flushed(stages_, 8)) * static_cast<double>(4 * kSgdCopies * total_) / kMiB,
            {},
            ""});
    figure({"weighted-delay", "delay of PipeDream's stash, weighted by parameters, N = 8", mean, {}, {}, ""});
    figure(
        {"memory-pipedream", "PipeDream over GPipe, N = 8, mean delays", pipedream(8), {}, 2.7, "arXiv v2 abstract"});
    figure({"memory-pipedream-whole", "the same with whole versions, the newest apart", versions(8), {}, {}, ""});
    figure({"memory-pipedream-newest",
            "the same with whole versions and the newest, which a later forward reads",
            versions(8) + 1.0 / kSgdCopies,
            simulated(8),
            {},
            ""});
    figure({"memory-t1", "PipeMare with T1 over GPipe", 1, simulated_memory(slots("pipemare", stages_, 8)), {}, ""});
    figure({"memory-t2", "PipeMare with T1 and T2 over GPipe", (kSgdCopies + 1.0) / kSgdCopies, with_t2, {}, ""});
    figure({"memory-pipedream-t2",
            "PipeDream over PipeMare with T2, N = 8, mean delays",
            pipedream(8) * kSgdCopies / (kSgdCopies + 1.0),
            {},
            2.0,
            "arXiv v1 abstract"});
    Plot of{.title = "Weights, gradients and optimizer state over GPipe",
            .note = network_ + ", " + std::to_string(stages_) + " stages, SGD with momentum; marks: published factors",
            .x = {"microbatches per update N", true},
            .y = {"memory over GPipe"},
            .series = {},
            .marks = {}};
    const std::vector<double> n{4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64};
    of.series.push_back(line("PipeDream, mean delays", 1, n, pipedream));
    of.series.push_back(line("PipeDream, whole versions and the newest", 3, n,
                             [&](std::int64_t m) { return versions(m) + 1.0 / kSgdCopies; }));
    of.series.push_back(dots(line("PipeDream, simulated", 3, {4, 8, 16, 32, 64}, simulated)));
    of.series.push_back(line("PipeMare T1 + T2", 4, n, [&](std::int64_t) { return (kSgdCopies + 1.0) / kSgdCopies; }));
    of.series.push_back(line("GPipe, PipeMare T1", 0, n, [](std::int64_t) { return 1; }));
    of.marks.push_back({8, pipedream(8), "2.7x over T1 (v2 abstract), 2.0x over T1 + T2 (v1 abstract)"});
    plot("memory", std::move(of));
  }

  void activations() {
    Plot of{.title = "Activations kept by the whole pipeline, in slots",
            .note = "stashes of one stage and microbatch; recompute in segments of the best length",
            .x = {"stages P"},
            .y = {"stashes", true},
            .series = {},
            .marks = {}};
    const std::vector<double> p = whole_numbers(7, 214, 3);
    const auto best = [](std::int64_t stages) { return recomputed_activations(stages, best_segment(stages)); };
    const auto real = [](auto value) { return static_cast<double>(value); };
    of.series.push_back(line("stashed: P^2", 1, p, [&](std::int64_t k) { return real(stashed_activations(k)); }));
    of.series.push_back(dots(line("stashed, simulated (both of a pair)", 1, {8, 47, 93, 107, 150, 214},
                                  [](std::int64_t k) { return simulated_activations(slots("pipemare", k, 8)); })));
    of.series.push_back(line("GPipe, N = 8", 5, p, [](std::int64_t k) { return 8.0 * static_cast<double>(k); }));
    of.series.push_back(line("recompute, counted by slots", 0, p, [&](std::int64_t k) { return real(best(k)); }));
    of.series.push_back(dots(line("recompute, simulated", 0, {16, 47, 93, 107, 150, 214},
                                  [](std::int64_t k) { return simulated_activations(in_segments(k)); })));
    of.series.push_back(line("2 P^(3/2)", 4, p, [&](std::int64_t k) { return 2 * std::pow(real(k), 1.5); }));
    of.series.back().dashed = true;
    for (const std::int64_t stages : {93, 107}) {
      const double ratio = real(best(stages)) / real(stashed_activations(stages));
      figure({"activations-p" + std::to_string(stages),
              "activations with recompute over without, P = " + std::to_string(stages) + ", segments of " +
                  std::to_string(best_segment(stages)),
              ratio,
              simulated_activations(in_segments(stages)) / simulated_activations(slots("pipemare", stages, 8)),
              {},
              ""});
      of.marks.push_back(
          {real(stages), real(best(stages)), "P = " + std::to_string(stages) + ": " + fixed_text(ratio, 3)});
    }
    figure({"activations-p107-stashed",
            "activations without recompute, P = 107",
            real(stashed_activations(107)),
            simulated_activations(slots("pipemare", 107, 8)),
            {},
            ""});
    plot("activations", std::move(of));
  }

  std::string network_;
  std::vector<std::int64_t> parameters_;
  std::int64_t stages_;
  std::int64_t total_;
  ModelStudy study_;
};

std::string value_text(const std::optional<double>& value) { return value ? number_text(*value, 6) : ""; }

std::vector<std::string> cells(const ModelFigure& of) {
  return {of.what, number_text(of.formula, of.formula > 1e6 ? 10 : 6), value_text(of.simulated),
          of.published ? number_text(*of.published) + " (" + of.source + ")" : ""};
}

const std::vector<std::string> kHeads{"figure", "formula", "simulated", "published"};

}  // namespace

ModelStudy study_models(const std::string& network) { return Models(network).make(); }

std::string model_text(const ModelStudy& study) {
  TextTable table({{kHeads[0]}, {kHeads[1], '>'}, {kHeads[2], '>'}, {kHeads[3]}});
  for (const ModelFigure& of : study.figures) table.add_row(cells(of));
  return table.to_string();
}

std::string model_markdown(const ModelStudy& study) {
  std::string text = "| figure | formula | simulated | published |\n|---|---:|---:|---|\n";
  for (const ModelFigure& of : study.figures) {
    for (const std::string& cell : cells(of)) text += "| " + cell + " ";
    text += "|\n";
  }
  return text;
}

std::string model_json(const ModelStudy& study) {
  Json list = Json::array();
  for (const ModelFigure& of : study.figures) {
    Json entry = {{"name", of.name}, {"what", of.what}, {"formula", of.formula}};
    if (of.simulated) entry["simulated"] = *of.simulated;
    if (of.published) {
      entry["published"] = *of.published;
      entry["source"] = of.source;
    }
    list.push_back(std::move(entry));
  }
  return list.dump(1);
}

PlotTable model_table(const ModelStudy& study) {
  PlotTable table{.head = kHeads, .rows = {}};
  for (const ModelFigure& of : study.figures) table.rows.push_back(cells(of));
  return table;
}

}  // namespace plumb
