#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/campaign/campaign.hpp"
#include "sim/campaign/layout_steps.hpp"
#include "sim/runtimes/run_rules.hpp"
#include "tools/campaign/campaign_answer.hpp"
#include "tools/options/cost_arguments.hpp"
#include "tools/options/option_table.hpp"
#include "tools/options/schedule_arguments.hpp"

namespace plumb {

class AnswerDocument;
struct Request;

/// A job whose steps the simulator predicts in every layout.
struct LaidOutJob {
  std::string schedule;
  ScheduleArguments size;  ///< chunks and options; devices and microbatches are those of a layout
  CostArguments costs;     ///< the data degree is that of a layout
  RunRules rules;
  std::int64_t microbatches = 0;           ///< of a step, all pipelines together
  std::vector<std::int32_t> lengths = {};  ///< of pipelines that are tried; empty: all
  std::int32_t most_nodes = 1;
};

/// Steps of layouts from the simulator. A node holds one stage with all its tensor and context ranks.
class SimulatedLayouts final : public LayoutSource {
 public:
  /// Loads the documents. Throws `Error` for what is missing or contradictory.
  explicit SimulatedLayouts(LaidOutJob job);

  /// None for a layout that the schedule does not have, or that does not fit in memory.
  std::optional<StepOfLayout> step(JobLayout layout) override;
  std::vector<std::int32_t> lengths() const override { return lengths_; }
  std::int32_t most_pipelines(std::int32_t stages) const override;
  std::int64_t microbatches() const override { return job_.microbatches; }
  std::optional<std::int64_t> share_ns(JobLayout layout, double share) override;
  /// The active layers are simulated, cut by their times; frozen ones that are not cached add their forwards and
  /// weights to the first stage.
  std::optional<StepOfLayout> frozen_step(JobLayout layout, const FrozenLayers& layers) override;
  std::int32_t layers() const override;
  /// Those of the schedule `bamboo`; none where that is the job's.
  LayoutSource* redundant() override;

  std::string refusal() const override { return refusal_; }

 private:
  /// Throws where the cluster has not all nodes that there are at once.
  void check_nodes() const;
  std::int64_t microbatches_of(JobLayout layout) const;
  /// What frozen layers that run forward add to the first stage of a layout.
  struct FrozenWork {
    Ticks forward = 0;
    std::int64_t weight_bytes = 0;
  };
  /// Prices of the network without its first `frozen` decoder layers.
  std::shared_ptr<JobPriceBook> active_book(std::int32_t frozen);
  FrozenWork frozen_work(JobLayout layout, const Network& active) const;
  std::optional<StepOfLayout> simulated(JobLayout layout, std::int64_t microbatches);
  /// The same of the job of `source`, whose network is all that is trained, beside `frozen`.
  std::optional<StepOfLayout> simulated(JobLayout layout, std::int64_t microbatches, CostSource source,
                                        const FrozenWork& frozen);

  LaidOutJob job_;
  CostSource source_;
  std::vector<std::int32_t> lengths_;
  std::string refusal_;
  std::unique_ptr<SimulatedLayouts> redundant_;
  std::map<std::int32_t, std::shared_ptr<JobPriceBook>> active_books_;  ///< by how many layers are frozen
};

/// A job over hours or days while nodes come and go. Every member has the default of the option that fills it.
struct CampaignQuestion {
  static constexpr const char* kUsage = "campaign [NAME|FILE] [options]";

  std::vector<std::string> names;  ///< one schedule, or none with `layouts`
  std::string trace;
  // One of these, or one of `rule_options`, may name several values: "2,6,24", "2..32" (doubled from one to the next).
  std::string mtbf;
  std::string nodes;
  std::string hours;
  std::string ready;
  std::string price;
  std::string market;  ///< "0.25,0.5": taken, given
  std::optional<double> interval_seconds;
  std::optional<std::int64_t> seed;
  std::optional<std::int64_t> runs;
  std::string rules;
  std::vector<std::string> rule_options;  ///< "key=value" or "rule.key=value"
  std::string layouts;
  std::string lengths;
  ScheduleArguments size;
  CostArguments costs;
  RunRules messages;

  /// Declares the options; this object must outlive the table.
  void add_to(OptionTable& options);

  /// Plays every rule on the nodes of every seed. Throws `Error` for what is missing, unknown or contradictory, and
  /// where the job runs in no layout.
  CampaignAnswer answer() const;
  /// Whether an option names several values. Throws `Error` where two do, and for what is no number.
  bool is_sweep() const;
  /// The answers for all values of that option.
  CampaignSweep sweep() const;

  /// What a request may want of the answer.
  static std::vector<std::string_view> parts() { return {"campaign", "text", "html"}; }
  /// Adds the parts that `request` wants.
  void add_parts(const Request& request, AnswerDocument& document);

 private:
  /// What is asked of one campaign: numbers and options of rules, read.
  struct Values;

  /// Of an option that names several values the first one.
  Values values() const;
  CampaignAnswer answer(const Values& values) const;
  /// The option that names several values, with them; no answers. None: all name one at most.
  std::optional<CampaignSweep> swept() const;
  NodeTrace nodes_of(const Values& values, std::uint64_t seed_of_run, std::int64_t until_ns) const;
  /// One for every seed.
  std::vector<CampaignProblem> problems(const Values& values) const;
  std::unique_ptr<LayoutSource> source_of(std::int32_t most_nodes) const;
  std::string job_text() const;
  std::string nodes_text(const Values& values) const;
};

/// A record of nodes by name (`trace_presets`) or file. Throws `Error`.
NodeTrace load_node_trace(const std::string& name_or_file);
/// Published steps of layouts by name (`layout_presets`) or file. Throws `Error`.
std::map<JobLayout, LayoutTable::Row> load_layouts(const std::string& name_or_file);

}  // namespace plumb
