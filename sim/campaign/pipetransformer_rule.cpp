#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "models/ground/error.hpp"
#include "sim/campaign/freezing.hpp"
#include "sim/campaign/restart_rule.hpp"

namespace plumb {
namespace {

struct FreezingSettings {
  LayerFreezing freezing;
  double epoch_samples = 0;
  bool cached = true;  ///< what frozen layers hand on is kept; else they run forward in every step
};

/// The first layers freeze epoch by epoch. What is left to train then fits into pipelines of half the length, of which
/// there are twice as many on the same nodes. Else as checkpoint and restart, with a pause to pack the layers anew; the
/// layout it starts with is the best one for the nodes that it is made for. Layouts that the source of steps does not
/// know take as long as one with pipelines as long as at first.
class PipeTransformerRule final : public RestartRule {
 public:
  PipeTransformerRule(const RestartSettings& restart, const FreezingSettings& settings, LayoutBook& book)
      : RestartRule(restart, book), settings_(settings), first_(book.made_for(restart.nodes)) {}

  void step_done(CampaignRun& run) override {
    samples_ += step(run).samples;
    const auto epoch = static_cast<std::int32_t>(samples_ / settings_.epoch_samples);
    if (epoch == epoch_) return RestartRule::step_done(run);
    epoch_ = epoch;
    run.note_frozen(settings_.freezing.frozen_after(epoch_));
    if (wanted(run) == run.layout()) return RestartRule::step_done(run);
    run.commit();  // nothing is lost when layers are packed anew
    start_restart(run);
  }

 protected:
  std::optional<JobLayout> wanted(const CampaignRun& run) override {
    if (!first_) return {};
    JobLayout layout = *first_;
    layout.stages = settings_.freezing.pipeline_length(layout.stages, epoch_);
    layout.pipelines = first_->nodes() / layout.stages;
    layout.pipelines = std::min(layout.pipelines, run.ready() / layout.stages);
    return layout.pipelines > 0 ? std::optional(layout) : std::nullopt;
  }

  StepOfLayout step(const CampaignRun& run) override {
    const LayerFreezing& freezing = settings_.freezing;
    // The last layer is trained to the end.
    const FrozenLayers layers{.frozen = std::min(freezing.frozen_after(epoch_), freezing.layers - 1),
                              .all = freezing.layers,
                              .cached = settings_.cached};
    std::optional<StepOfLayout> step = book().frozen_step(run.layout(), layers);
    const JobLayout as_long{std::max(1, run.layout().nodes() / first_->stages), first_->stages};
    if (!step) step = book().frozen_step(as_long, layers);
    return step ? *step : *book().frozen_step(*first_, layers);
  }

 private:
  FreezingSettings settings_;
  std::optional<JobLayout> first_;
  std::int32_t epoch_ = 0;
  double samples_ = 0;
};

constexpr std::array kPipeTransformerOptions{
    NamedOption{"layers", rule_count("N", 1), "its own; 12 of a table", "layers of the network, a transformer"},
    NamedOption{"width", rule_number("N", 1), 768, "width of its layers, which are cut by their parameters"},
    NamedOption{"embedding", rule_number("X"), 0, "millions of parameters before the layers"},
    NamedOption{"head", rule_number("X"), 0, "millions of parameters behind the layers"},
    NamedOption{
        "freeze", rule_number("X"), {1.0 / 3, "0.3333"}, "share of the layers that are left, after every epoch"},
    NamedOption{"epoch", rule_number("N", 1), 1'281'167, "samples of an epoch", "the default is those of ImageNet"},
    NamedOption{"cache", switch_form(), 1, "whether what frozen layers hand on is kept",
                "if not, they run forward in every step, in the first stage"},
    kSavesOption,
    kSaveOption,
    NamedOption{"restart", kRulePause, 120, "seconds from a loss, or from packing layers anew, to the next step"},
    kLayoutNodesOption};

CampaignRulePtr make_pipetransformer(const CampaignProblem& problem, const OptionReader& options, LayoutBook& book) {
  const std::int32_t known = book.source().layers();
  FreezingSettings settings{.freezing = {.layers = option_count(options, "layers", known > 0 ? known : 12),
                                         .alpha = options.number("freeze"),
                                         .width = options.number("width"),
                                         .embedding_millions = options.number("embedding"),
                                         .head_millions = options.number("head")},
                            .epoch_samples = options.number("epoch"),
                            .cached = options.is_on("cache")};
  if (known > 0 && settings.freezing.layers != known) {
    throw Error("option layers: the network has " + std::to_string(known) + ", expected as many");
  }
  if (settings.freezing.alpha > 1) throw Error("option freeze: expected a share from 0 to 1");
  RestartSettings restart = restart_settings(options);
  restart.nodes = option_count(options, "nodes", usual_nodes(problem));
  return std::make_unique<PipeTransformerRule>(restart, settings, book);
}

}  // namespace

CampaignRuleSpec pipetransformer_rule() {
  return {.name = "pipetransformer",
          .summary =
              "checkpoint, while the first layers freeze: half as long pipelines, twice as many, and steps of "
              "the layers that are left",
          .source = "He et al., PipeTransformer, ICML 2021",
          .options = kPipeTransformerOptions,
          .make = make_pipetransformer,
          .changes_job = "layers freeze, so that later samples train less of the network"};
}

}  // namespace plumb
