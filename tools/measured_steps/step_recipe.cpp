#include "tools/measured_steps/step_recipe.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include "models/launches/pipeline_layout.hpp"

namespace plumb {
namespace {

/// Returns whether `text` is `pattern`, in which '*' stands for anything.
bool fits(std::string_view pattern, std::string_view text) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t from = star; from <= text.size(); ++from) {
    if (fits(rest, text.substr(from))) return true;
  }
  return false;
}

bool holds(const JsonValue& when, const MeasuredStep& row) {
  return std::ranges::all_of(when.members(), [&](const JsonValue::Member& column) {
    const auto cell = row.cells.find(column.key);
    const std::string_view text = cell == row.cells.end() ? std::string_view() : std::string_view(cell->second);
    if (column.value.is_string()) return fits(column.value.text(), text);
    bool any = false;
    for (const JsonValue& pattern : column.value.elements()) any = fits(pattern.text(), text) || any;
    return any;
  });
}

/// Returns one of `names`, by its place.
template <std::size_t N>
std::size_t place_of(const JsonValue& value, const std::array<std::string_view, N>& names) {
  const auto at = std::ranges::find(names, value.text());
  if (at == names.end()) {
    std::string known;
    for (const std::string_view name : names) known += (known.empty() ? "" : ", ") + std::string(name);
    value.fail_expected("one of " + known);
  }
  return static_cast<std::size_t>(at - names.begin());
}

struct JobKey {
  std::string_view key;
  void (*set)(Parallelism&, const JsonValue&);
};

template <bool Parallelism::*kField>
void set_flag(Parallelism& job, const JsonValue& value) {
  job.*kField = value.boolean();
}
template <std::int64_t Parallelism::*kField>
void set_degree(Parallelism& job, const JsonValue& value) {
  job.*kField = value.integer(0, 1 << 20);
}
template <double Parallelism::*kField>
void set_factor(Parallelism& job, const JsonValue& value) {
  job.*kField = value.number(0, 1000);
}
void set_recompute(Parallelism& job, const JsonValue& value) {
  const auto recompute = layer_recompute_of(value.text());
  if (!recompute) value.fail_expected("none, selective, full, or modules of layers joined by '+'");
  job.recompute = recompute->all;
  job.modules = recompute->modules;
}

void set_captured(Parallelism& job, const JsonValue& value) {
  job.captured = static_cast<CapturedGraphs>(place_of(value, kCapturedGraphNames));
}

void set_gradient_passes(Parallelism& job, const JsonValue& value) {
  job.gradient_passes = static_cast<GradientPasses>(place_of(value, kGradientPassNames));
}

constexpr std::array<std::string_view, 4> kRecipeWeightGradients{"added", "passed", "placeholders", "summed"};

void set_weight_gradients(Parallelism& job, const JsonValue& value) {
  job.weight_gradients = static_cast<WeightGradients>(place_of(value, kRecipeWeightGradients));
}

constexpr std::array kJobKeys{
    JobKey{"sequence_parallel", set_flag<&Parallelism::sequence_parallel>},
    JobKey{"flash_attention", set_flag<&Parallelism::flash_attention>},
    JobKey{"dropout", [](Parallelism& job, const JsonValue& value) { job.dropout = value.boolean(); }},
    JobKey{"overlap_gradients", set_flag<&Parallelism::overlap_gradients>},
    JobKey{"overlap_tensor", set_flag<&Parallelism::overlap_tensor>},
    JobKey{"overlap_weights", set_flag<&Parallelism::overlap_weights>},
    JobKey{"overlap_parameters", set_flag<&Parallelism::overlap_parameters>},
    JobKey{"overlap_experts", set_flag<&Parallelism::overlap_experts>},
    JobKey{"overlap_products", set_flag<&Parallelism::overlap_products>},
    JobKey{"captured", set_captured},
    JobKey{"gradient_passes", set_gradient_passes},
    JobKey{"context_by_heads", set_flag<&Parallelism::context_by_heads>},
    JobKey{"blocking_launches", set_flag<&Parallelism::blocking_launches>},
    JobKey{"weight_gradients", set_weight_gradients},
    JobKey{"fused_loss", set_flag<&Parallelism::fused_loss>},
    JobKey{"formatted_head", set_flag<&Parallelism::formatted_head>},
    JobKey{"padded_vocabulary", set_flag<&Parallelism::padded_vocabulary>},
    JobKey{"low_precision_dispatch", set_flag<&Parallelism::low_precision_dispatch>},
    JobKey{"expert_tensor", set_degree<&Parallelism::expert_tensor>},
    JobKey{"adapter_rank", set_degree<&Parallelism::adapter_rank>},
    JobKey{"expert_capacity", set_factor<&Parallelism::expert_capacity>},
    JobKey{"expert_imbalance", set_factor<&Parallelism::expert_imbalance>},
    JobKey{"recompute", set_recompute},
    JobKey{"zero",
           [](Parallelism& job, const JsonValue& value) { job.zero = static_cast<ZeroStage>(value.integer(0, 3)); }},
    JobKey{"gradient_bytes",
           [](Parallelism& job, const JsonValue& value) { job.precision.gradient_bytes = value.integer(1, 8); }},
    JobKey{"dispatcher",
           [](Parallelism& job, const JsonValue& value) {
             job.dispatcher = static_cast<Dispatcher>(place_of(value, kDispatcherNames));
           }},
    JobKey{"format",
           [](Parallelism& job, const JsonValue& value) {
             job.format = static_cast<MatrixFormat>(place_of(value, kMatrixFormatNames));
           }},
};

void set_job(const JsonValue& settings, Parallelism& job) {
  std::vector<std::string_view> keys;
  for (const JobKey& known : kJobKeys) keys.push_back(known.key);
  settings.allow_only(keys);
  for (const JobKey& known : kJobKeys) {
    if (const auto value = settings.find(known.key)) known.set(job, *value);
  }
}

void set_facts(const JsonValue& rule, RecipeFacts& facts) {
  rule.allow_only({"when", "network", "cluster", "per_node", "refuse", "overlap_messages", "packed_samples",
                   "flash_version", "kept_layers", "layout", "job", "why"});
  if (const auto network = rule.find("network")) facts.network = network->text();
  if (const auto cluster = rule.find("cluster")) facts.cluster = cluster->text();
  if (const auto per_node = rule.find("per_node")) facts.per_node = per_node->integer(1, 1 << 20);
  if (const auto packed = rule.find("packed_samples")) facts.packed_samples = packed->integer(0, 1 << 30);
  if (const auto version = rule.find("flash_version")) facts.flash_version = version->integer(1, 4);
  if (const auto kept = rule.find("kept_layers")) facts.kept_layers = kept->number(0, 1);
  if (const auto layout = rule.find("layout")) {
    facts.layout = written_out_layout(std::string(layout->text()));
    if (facts.layout.empty()) layout->fail_expected("stages as Megatron-LM writes them, such as Et*4|(t*4|)*14tmL");
  }
  if (const auto overlap = rule.find("overlap_messages")) facts.overlap_messages = overlap->boolean();
  if (const auto refusal = rule.find("refuse")) facts.refusal = refusal->text();
}

}  // namespace

StepRecipe::StepRecipe(std::string_view text, const std::string& file_name)
    : document_(std::make_shared<const JsonDocument>(std::string(text), file_name)) {
  const JsonValue root = document_->root();
  check_format(root, "plumbline-recipe", 1);
  root.allow_only({"format", "version", "source", "rules"});
  RecipeFacts facts;
  Parallelism job;
  for (const JsonValue& rule : root.at("rules").elements()) {
    holds(rule.at("when"), {});
    set_facts(rule, facts);
    if (const auto settings = rule.find("job")) set_job(*settings, job);
  }
}

RecipeFacts StepRecipe::facts(const MeasuredStep& row) const {
  RecipeFacts facts;
  if (document_ == nullptr) return facts;
  for (const JsonValue& rule : document_->root().at("rules").elements()) {
    if (holds(rule.at("when"), row)) set_facts(rule, facts);
  }
  return facts;
}

void StepRecipe::apply(const MeasuredStep& row, Parallelism& job) const {
  if (document_ == nullptr) return;
  for (const JsonValue& rule : document_->root().at("rules").elements()) {
    const auto settings = rule.find("job");
    if (settings && holds(rule.at("when"), row)) set_job(*settings, job);
  }
}

}  // namespace plumb
