#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/walk.hpp"
#include "sim/traces/traced_run.hpp"
#include "tests/sim/traces/predicted_step.hpp"
#include "tests/sim/traces/trace_text.hpp"
#include "tests/support/error_message.hpp"

// Runs of Megatron-LM's and DeepSpeed's own schedules: their traces (data/README.md), and what their 1f1b runs predict
// of the others (results/fidelity/systems/README.md).

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

/// The compute actions of every device, in order.
std::vector<std::string> orders_of(const Timeline& timeline) {
  std::vector<Span> spans = timeline.spans;
  std::ranges::stable_sort(spans, {}, &Span::start);
  std::vector<std::string> orders(timeline.devices.size());
  for (const Span& span : spans) {
    if (span.lane == Lane::kCompute) append_text(orders[static_cast<std::size_t>(span.device)] += ' ', span.action);
  }
  return orders;
}

std::vector<std::string> orders_of(const Schedule& schedule) {
  std::vector<std::string> orders;
  for (const DeviceList& list : schedule.devices) {
    std::string& order = orders.emplace_back();
    walk(list, [&](const Action& action) {
      if (action.op == Op::kF || action.op == Op::kB) append_text(order += ' ', action);
    });
  }
  return orders;
}

std::string results_file(const std::string& name) {
  return read_text_file(testing::in_source("results/fidelity/systems/" + name));
}

/// Medians of the steps without profiler, by run.
std::map<std::string, double> measured_steps() {
  std::istringstream lines(results_file("runs.csv"));
  std::map<std::string, double> medians;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    std::istringstream row(line);
    std::string name;
    std::string cell;
    std::getline(row, name, ',');
    std::getline(row, cell, ',');  // version of PyTorch
    std::vector<double> steps;
    while (std::getline(row, cell, ',')) steps.push_back(std::stod(cell));
    std::ranges::sort(steps);
    medians[name] = (steps[(steps.size() - 1) / 2] + steps[steps.size() / 2]) / 2;
  }
  return medians;
}

}  // namespace

TEST_CASE("call stacks tell the stages and microbatches of Megatron-LM's interleaved schedule") {
  const Schedule expected = generate("interleaved", {.num_devices = 4, .num_microbatches = 8});
  for (const char* folder : {"megatron-interleaved", "megatron-batched"}) {
    CAPTURE(folder);
    const TracedRun run = read_traced_run(testing::real_run(folder));
    REQUIRE(run.step_ns.size() == 2);
    CHECK(run.known_profile().runtime == "megatron");
    CHECK(run.known_profile().stages.size() == 8);
    CHECK_FALSE(run.known_profile().messages.empty());
    for (const Timeline& step : run.steps) CHECK(orders_of(step) == orders_of(expected));
  }
  // By the runner's own clock, in which the profiler takes its share of the second step.
  const TracedRun run = read_traced_run(testing::real_run("megatron-interleaved"));
  CHECK(static_cast<double>(run.step_ns[0]) == doctest::Approx(348.630488e6).epsilon(0.01));
}

TEST_CASE("call stacks tell DeepSpeed's passes and messages") {
  const TracedRun run = read_traced_run(testing::real_run("deepspeed-1f1b"));
  CHECK(run.known_profile().runtime == "deepspeed");
  const Schedule expected = generate("1f1b", {.num_devices = 4, .num_microbatches = 8});
  for (const Timeline& step : run.steps) CHECK(orders_of(step) == orders_of(expected));
  CHECK_FALSE(run.known_profile().messages.empty());
}

TEST_CASE("a few ranks of an interleaved run tell its stages, too, and a rank alone does not where it warms up only") {
  const auto files = testing::real_run("megatron-interleaved");
  const TracedRun last = read_traced_run({files[2], files[3]});
  CHECK(last.ranks == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(last.missing_ranks == std::vector<std::int32_t>{0, 1});

  // One step of two microbatches, two stages each, on the first of two ranks: all forwards come first.
  const auto pass = [](bool forward, int begin) {
    return testing::TraceEvent{forward ? "forward_step" : "backward_step", "user_annotation", begin, begin + 10};
  };
  std::vector<testing::TraceEvent> events;
  for (int k = 0; k < 8; ++k) events.push_back(pass(k < 4, 20 * k));
  CHECK(
      testing::error_message([&] { read_traced_run({testing::trace_of(0, 2, events)}); }) ==
      "rank0: runs all forwards of a step before its first backward, as do the other ranks, so nothing tells how many "
      "stages a rank holds; expected the last rank's trace, too");
  // Five forwards of twelve are the warm-up of no number of stages on the first of two ranks.
  events.clear();
  for (int k = 0; k < 24; ++k) events.push_back(pass(k < 6 || (k % 2 == 1 && k < 18), 20 * k));
  CHECK(
      testing::error_message([&] { read_traced_run({testing::trace_of(0, 2, events)}); })
          .starts_with("rank0: runs 6 forwards before its first backward; expected 2 of 1F1B, or 3 and 2 more for each "
                       "further stage, of interleaved 1F1B"));
}

TEST_CASE("Megatron-LM's group of the pipeline says which ranks are its own") {
  const auto files = [](const std::string& group) {
    std::vector<TraceFile> traces;
    for (int rank : {1, 3}) {
      TraceFile file = testing::trace_of(rank, 4,
                                         {{"forward_step", "user_annotation", rank == 1 ? 0 : 20, rank == 1 ? 10 : 30},
                                          {"backward_step", "user_annotation", rank == 1 ? 60 : 40, 70}});
      const std::string backend = R"("backend": "gloo")";
      file.bytes.replace(file.bytes.find(backend), backend.size(),
                         R"("pg_config": [{"pg_desc": ")" + group + R"(", "ranks": [1, 3]}])");
      traces.push_back(file);
    }
    return traces;
  };
  const TracedRun run = read_traced_run(files("PIPELINE_MODEL_PARALLEL_GROUP"));
  CHECK(run.ranks == std::vector<std::int32_t>{0, 1});
  CHECK(run.known_profile().runtime == "megatron");
  CHECK(read_traced_run(files("TENSOR_MODEL_PARALLEL_GROUP")).ranks == std::vector<std::int32_t>{0, 1, 2, 3});
}

TEST_CASE("the 1f1b runs of Megatron-LM and DeepSpeed predict their other runs within the bar of their messages") {
  const std::map<std::string, double> measured = measured_steps();
  std::map<std::string, std::vector<double>> errors;  // by system, ranks and size
  for (const nlohmann::json& run : nlohmann::json::parse(results_file("plan.json"))) {
    const std::string name = run.at("name");
    const std::string group = name.substr(0, name.find("-", name.find("-p") + 4));
    if (name == group + "-1f1b" || run.contains("scale")) continue;
    const std::string base = "profiles/" + group + "-1f1b.json";
    const Schedule schedule = generate(run.value("chunks", 1) > 1 ? "interleaved" : "1f1b",
                                       {.num_devices = run.at("ranks"), .num_microbatches = run.at("microbatches")});
    const double predicted = testing::predicted_step_ns(
        run_profile_from_json(results_file(base), base), schedule,
        run.at("system").get<std::string>() + (run.value("overlap", true) ? "" : "-batched"));
    errors[group].push_back(std::abs(predicted / measured.at(name) - 1));
  }
  CHECK(errors.size() == 5);
  for (const auto& [group, of_group] : errors) {
    CAPTURE(group);
    double sum = 0;
    for (const double error : of_group) sum += error;
    CHECK(sum / static_cast<double>(of_group.size()) <= (group.ends_with("4m") ? 0.05 : 0.03));
  }
}

TEST_SUITE_END();
