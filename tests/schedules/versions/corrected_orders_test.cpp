// What methods of asynchronous training make of its schedules: weights that are read, buffers, delays; a line for each
// schedule and method in tests/golden/corrections.txt. Where one is changed on purpose, the lines say which.
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/methods.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "schedules/program/program_text.hpp"
#include "schedules/versions/delays.hpp"
#include "schedules/versions/predicted_reads.hpp"
#include "schedules/versions/steady_delays.hpp"
#include "tests/support/golden.hpp"
#include "tests/support/text_sum.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

std::string counts_text(const DelayCounts& counts) {
  std::string text;
  for (const auto& [delay, count] : counts) text += std::to_string(delay) + "x" + std::to_string(count) + " ";
  return text + std::to_string(mean_delay(counts)) + "\n";
}

std::string delays_text(const Schedule& schedule, const Program& program) {
  std::string text;
  for (const StageDelays& of : stage_delays(schedule, program)) {
    for (const DelayCounts* counts : {&of.distance, &of.forward, &of.backward, &of.recompute, &of.teacher}) {
      text += counts_text(*counts);
    }
    text += std::to_string(of.versions) + " " + std::to_string(of.copies) + " " + std::to_string(of.bytes) + "\n";
    if (const auto steady = steady_delays(schedule, of.stage)) {
      for (const double delay : {steady->forward, steady->backward, steady->recompute, steady->distance}) {
        text += std::to_string(delay) + " ";
      }
    }
  }
  return text + (reaches_steady_state(schedule, program) ? "steady" : "filling");
}

std::string corrected(const Schedule& schedule, const std::string& methods) {
  try {
    const Schedule changed = methods.empty() ? schedule : with_methods(schedule, methods);
    StageCosts costs;
    costs.times.assign(static_cast<std::size_t>(changed.num_stages),
                       StageTimes{.f = 2, .b = 4, .i = 2, .w = 2, .u = 1});
    costs.memory.assign(costs.times.size(), StageMemory{.weight_bytes = 100, .gradient_bytes = 50});
    const Program program = lower(changed, costs);
    std::string text = program_to_text(program) + delays_text(changed, program) + schedule_to_json(changed);
    for (const Holder& holder : program.holders) {
      text += std::to_string(holder.correction_buffers) + " " +
              std::to_string(static_cast<int>(holder.gradient_blocks)) + " ";
    }
    for (const PredictedRead& read : predicted_reads(changed, program)) {
      text += std::to_string(read.steps) + ":" + std::to_string(read.number) + " ";
    }
    return text;
  } catch (const Error& error) {
    return error.what();
  }
}

/// The schedules of a name at small sizes, with the options that choose their weights.
std::vector<Schedule> small_ones(const ScheduleSpec& spec) {
  std::vector<Schedule> all;
  std::vector<std::map<std::string, std::string>> choices{{}};
  for (const NamedOption& option : spec.options) {
    const std::string name(option.name);
    if (name == "timing") {
      for (const char* value : {"1f1b", "slots", "fused"}) choices.push_back({{name, value}});
    }
    if (name == "segment") choices.push_back({{name, "2"}});
    if (name == "synchronous") choices.push_back({{name, "2"}});
  }
  for (const auto& options : choices) {
    for (const std::int32_t p : {2, 4}) {
      for (const std::int64_t m : {1, 2}) {
        const ScheduleParams params{.num_devices = p, .num_microbatches = m, .updates = 6, .options = options};
        try {
          all.push_back(generate(spec.name, params));
        } catch (const Error&) {
          continue;
        }
      }
    }
  }
  return all;
}

}  // namespace

TEST_CASE("corrected schedules read the weights, keep the buffers and have the delays that they had before") {
  std::vector<std::string> methods{"",
                                   "t2,t1:K=7",
                                   "t3:updates=2",
                                   "t1:K=5,t3:updates=1",
                                   "t2:D=0.5,t3:updates=2",
                                   "spectrain:released=1",
                                   "pipeoptim:released=1",
                                   "spectrain:published=1",
                                   "t2,spectrain",
                                   "lwp:scale=2,gap-aware",
                                   "dc-asgd:adaptive=1",
                                   "xpipe,t1:K=3",
                                   "msnag,lwp",
                                   "elastic,wsp"};
  for (const MethodSpec& spec : method_catalogue()) methods.emplace_back(spec.name);
  std::string text;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (spec.synchronous && spec.name != "1f1b") continue;
    const std::vector<Schedule> schedules = small_ones(spec);
    for (const std::string& method : methods) {
      TextSum sum;
      for (const Schedule& schedule : schedules) sum.add(corrected(schedule, method));
      text += std::string(spec.name) + " with " + (method.empty() ? "nothing" : method) + ": " + sum.text() + "\n";
    }
    TextSum policies;
    for (Schedule schedule : schedules) {
      for (const WeightPolicy policy : {WeightPolicy::kLatest, WeightPolicy::kStash, WeightPolicy::kVerticalSync,
                                        WeightPolicy::kDelay, WeightPolicy::kDoubleBuffer, WeightPolicy::kFlush}) {
        schedule.weights.policy = policy;
        for (const std::int32_t delay : {1, 2, 5}) {
          schedule.weights.delay = delay;
          policies.add(corrected(schedule, ""));
        }
      }
    }
    text += std::string(spec.name) + " with other policies: " + policies.text() + "\n";
  }
  CHECK(text == golden("corrections.txt", text));
}

}  // namespace plumb::testing

TEST_SUITE_END();
