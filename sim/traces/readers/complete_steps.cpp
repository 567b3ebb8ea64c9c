#include "sim/traces/readers/complete_steps.hpp"

#include <map>
#include <optional>
#include <string>

#include "models/ground/error.hpp"
#include "schedules/document/action_text.hpp"

namespace plumb {
namespace {

/// What a stage did with a microbatch in one step.
struct Passes {
  const RankRun* run = nullptr;
  std::optional<std::int64_t> forward_ns;
  std::optional<std::int64_t> backward_ns;  ///< the first of B, I and W
  bool input_grad = false;
  bool whole_backward = false;
  bool weight_grad = false;
};

struct PassPlace {
  std::int32_t stage = 0;
  std::int32_t microbatch = 0;
};

/// The passes of one step by microbatch, then by stage.
using StepPasses = std::map<std::int32_t, std::map<std::int32_t, Passes>>;

void note(const TracedAction& work, const RankRun& run, StepPasses& step) {
  Passes& passes =
      step[static_cast<std::int32_t>(work.action.microbatch)][static_cast<std::int32_t>(work.action.stage)];
  passes.run = &run;
  if (work.action.op == Op::kF) {
    passes.forward_ns = work.start_ns;
    return;
  }
  passes.input_grad |= work.action.op == Op::kI;
  passes.whole_backward |= work.action.op == Op::kB;
  passes.weight_grad |= work.action.op == Op::kW;
  passes.backward_ns = std::min(passes.backward_ns.value_or(work.start_ns), work.start_ns);
}

std::string text_of(Op op, const PassPlace& place) {
  std::string text = "'";
  append_text(text, {.stage = StageId{place.stage}, .microbatch = MicrobatchId{place.microbatch}, .op = op});
  return text + "'";
}

[[noreturn]] void fail(const RankRun& run, std::int32_t step, const std::string& what) {
  throw Error(run.file + ": " + what + " in step " + std::to_string(step) +
              "; expected at least one whole step: trace from one step's begin to another's end");
}

void check_stage(const Passes& passes, const PassPlace& place, std::int32_t step, bool trains) {
  const std::string forward = text_of(Op::kF, place);
  if (!passes.forward_ns) fail(*passes.run, step, "has a backward, but not the forward " + forward);
  if (trains && !passes.whole_backward && !passes.weight_grad) {
    const bool split = passes.input_grad;
    fail(*passes.run, step,
         "has " + (split ? text_of(Op::kI, place) : forward) + ", but not " + text_of(split ? Op::kW : Op::kB, place));
  }
  const bool sends_gradient = passes.input_grad || passes.whole_backward;
  if (trains && place.stage > 0 && !sends_gradient)
    fail(*passes.run, step, "has " + text_of(Op::kW, place) + ", but not " + text_of(Op::kI, place));
  if (passes.backward_ns && *passes.backward_ns < *passes.forward_ns)
    fail(*passes.run, step, "runs a backward before its forward " + forward);
}

/// Returns the rank that holds each traced stage.
std::map<std::int32_t, const RankRun*> holders(const std::vector<RankRun>& runs) {
  std::map<std::int32_t, const RankRun*> by_stage;
  for (const RankRun& run : runs) {
    for (const TracedAction& work : run.work) by_stage.emplace(static_cast<std::int32_t>(work.action.stage), &run);
  }
  return by_stage;
}

void check_step(const StepPasses& passes, std::int32_t step, const std::map<std::int32_t, const RankRun*>& stages,
                bool trains) {
  for (const auto& [microbatch, by_stage] : passes) {
    for (const auto& [stage, run] : stages) {
      const PassPlace place{stage, microbatch};
      const auto found = by_stage.find(stage);
      if (found == by_stage.end()) fail(*run, step, "lacks " + text_of(Op::kF, place) + ", which other stages run,");
      check_stage(found->second, place, step, trains);
    }
  }
}

bool is_named(const RankRun& run) { return run.numbering == Numbering::kNamed && !run.own_zeros; }

}  // namespace

void check_complete_steps(const std::vector<RankRun>& runs) {
  std::map<std::int32_t, StepPasses> steps;
  bool trains = false;
  for (const RankRun& run : runs) {
    if (!is_named(run) || run.steps != runs.front().steps) return;  // told later, where steps are compared
    for (const TracedAction& work : run.work) {
      note(work, run, steps[work.step]);
      trains |= work.action.op != Op::kF;
    }
  }
  const auto stages = holders(runs);
  for (const auto& [step, passes] : steps) check_step(passes, step, stages, trains);
}

}  // namespace plumb
