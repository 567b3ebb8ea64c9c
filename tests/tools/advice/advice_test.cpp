#include "tools/advice/advice.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "models/ground/error.hpp"
#include "models/import/load_network.hpp"
#include "tests/sim/traces/trace_text.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/advice/advice_text.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb;

namespace {

constexpr double kNsPerMs = 1e6;

const Advice& advice_of_zb_h1() {
  static const Advice advice = advise(read_traced_run(testing::real_run("zb-h1")), {});
  return advice;
}

const AdvisedSchedule& row(const Advice& advice, std::string_view name) {
  const auto found =
      std::ranges::find_if(advice.schedules, [&](const auto& one) { return one.candidate.name == name; });
  REQUIRE(found != advice.schedules.end());
  return *found;
}

/// Medians of ten steps without profiler, of the runs that were made beside the traced one (tests/sim/traces/data).
struct MeasuredRun {
  std::string_view name;
  double step_ms = 0;
};

constexpr std::array kMeasured{MeasuredRun{"zb-h1", 298.137}, MeasuredRun{"v-half", 319.531},
                               MeasuredRun{"hanayo", 348.897}, MeasuredRun{"gpipe", 355.616},
                               MeasuredRun{"1f1b", 356.743}};

}  // namespace

TEST_CASE("the run's own order is found, and its prediction is the measure of the others") {
  const Advice& advice = advice_of_zb_h1();
  CHECK(advice.runtime == "pytorch");
  CHECK(advice.num_devices == 4);
  CHECK(advice.num_microbatches == 8);
  const AdvisedSchedule& own = row(advice, "zb-h1");
  CHECK(advice.own() == &own);
  const auto is_run = [](const AdvisedSchedule& one) { return one.candidate.is_run; };
  CHECK(std::ranges::count_if(advice.schedules, is_run) == 1);
  CHECK(own.step_ns == doctest::Approx(advice.measured_ns));
  CHECK(own.saves == doctest::Approx(0));
  CHECK(advice.uncertainty >= std::abs(advice.predicted_ns / advice.measured_ns - 1));
  CHECK(advice.uncertainty < 0.1);
}

TEST_CASE("other schedules of the same runtime took as long as advised from one run") {
  const Advice& advice = advice_of_zb_h1();
  const double slower_under_profiler = advice.measured_ns / (kMeasured.front().step_ms * kNsPerMs);
  for (const MeasuredRun& run : kMeasured) {
    CAPTURE(run.name);
    const double advised = row(advice, run.name).step_ns / slower_under_profiler;
    CHECK(std::abs(advised / (run.step_ms * kNsPerMs) - 1) < 0.05);
  }
  // Those whose steps differ by more than the machine's noise of 3 % are in their order.
  CHECK(row(advice, "zb-h1").step_ns < row(advice, "v-half").step_ns);
  CHECK(row(advice, "v-half").step_ns < row(advice, "hanayo").step_ns);
}

TEST_CASE("schedules that the runtime cannot run are left out with a reason, an order is advised once") {
  const Advice& advice = advice_of_zb_h1();
  for (const std::string_view name : {"chimera", "terapipe"}) {
    CAPTURE(name);
    CHECK(std::ranges::none_of(advice.schedules, [&](const auto& one) { return one.candidate.name == name; }));
    const auto left_out = std::ranges::find(advice.left_out, name, &UnfitSchedule::name);
    REQUIRE(left_out != advice.left_out.end());
    CHECK(!left_out->reason.empty());
  }
  CHECK(std::ranges::none_of(advice.schedules, [](const auto& one) { return one.candidate.name == "pipedream"; }));
  const auto others = std::span(advice.schedules).subspan(1);
  CHECK(std::ranges::is_sorted(others, {}, &AdvisedSchedule::step_ns));
}

TEST_CASE("a memory limit moves what does not fit behind everything that does") {
  const TracedRun run = read_traced_run(testing::real_run("zb-h1"));
  const Advice advice = advise(run, {.memory_limit = 4});
  REQUIRE(advice.best() != nullptr);
  CHECK(advice.best()->stashes <= 4);
  CHECK_FALSE(row(advice, "zb-h2").fits);
  CHECK(std::ranges::is_partitioned(advice.schedules, &AdvisedSchedule::fits));
  CHECK(advise(run, {.memory_limit = 0.5}).best() == nullptr);
}

TEST_CASE("the own order of a real run of DualPipeV has its pairs, as its row has, so that other rows are not scaled") {
  const TracedRun run = read_traced_run(testing::real_run("dualpipev"));
  const Advice advice = advise(run, {});
  REQUIRE(advice.own() != nullptr);
  CHECK(advice.own()->candidate.name == "dualpipev");
  CHECK(advice.own()->step_ns == doctest::Approx(advice.measured_ns));
  // PyTorch sends what the halves of a pair make when both are done: without that the step is predicted shorter.
  Schedule unpaired = advice.own()->candidate.schedule;
  for (DeviceList& list : unpaired.devices) {
    for (Action& action : list.actions) action.overlaps_next = 0;
  }
  const AdviceOptions options;
  const RunPredictor predictor(run.known_profile(), "pytorch", options);
  CHECK(advice.predicted_ns > 1.01 * static_cast<double>(predictor.predict(unpaired, 1).step_time));
}

TEST_CASE(
    "a real run of ScheduleGPipe has the order of torch-gpipe, and its row is of a file that another runtime runs") {
  const Advice advice = advise(read_traced_run(testing::real_run("class-gpipe")), {});
  REQUIRE(advice.own() != nullptr);
  CHECK(advice.own()->candidate.name == "torch-gpipe");
  CHECK(schedule_command(advice, *advice.own()) ==
        "plumbline schedule torch-gpipe -p 4 -m 8 --format torch-comms -o torch-gpipe.csv");
  CHECK(advice.run_by == "pytorch-single");
  CHECK(advice.runtime == "pytorch");
  std::string text = advice_text(advice, 0);
  const std::string lines = text;
  std::ranges::replace(text, '\n', ' ');
  CHECK(text.find("its order    torch-gpipe, ") != std::string::npos);
  CHECK(lines.find("  this run's order, as a file\n") != std::string::npos);
  CHECK(text.find("The run used a built-in class of PyTorch (pytorch-single). Predictions are for schedule files, "
                  "which pytorch runs") != std::string::npos);
  CHECK(advice_text(advice_of_zb_h1(), 0).find("as a file") == std::string::npos);
}

TEST_CASE("where all that fits is slower than the run, the advice says so and by how much") {
  const TracedRun run = read_traced_run(testing::real_run("zb-h1"));
  const Advice advice = advise(run, {.memory_limit = 1});
  REQUIRE(advice.best() != nullptr);
  CHECK(advice.best()->saves < -0.5);
  const std::string verdict = verdict_sentence(advice);
  CHECK(verdict.starts_with("No schedule that fits in the memory limit is faster than this run; the best of them, " +
                            advice.best()->candidate.name + ", is "));
  CHECK(verdict.ends_with(" % slower"));
  CHECK(advice_text(advice, 12).find("would save") == std::string::npos);
  CHECK(advice_text(advice, 12).find("this run, does not fit") != std::string::npos);
  // Those that are not told apart from the run say so.
  const Advice same = advise(run, {});
  CHECK(verdict_sentence(same).find("within the uncertainty") != std::string::npos);
}

TEST_CASE("orders that are searched keep the memory limit, and can be saved by their names") {
  const TracedRun run = read_traced_run(testing::real_run("zb-h1"));
  const Advice free = advise(run, {});
  CHECK(free.named("zb-auto").stashes > 5);
  const Advice tight = advise(run, {.memory_limit = 5, .given = " --memory-limit 5"});
  const AdvisedSchedule& searched = row(tight, "zb-auto");
  CHECK(searched.fits);
  CHECK(searched.stashes == 5);
  CHECK(searched.candidate.for_costs);
  CHECK(schedule_command(tight, searched) ==
        "plumbline advise FILES --memory-limit 5 --schedule zb-auto --save zb-auto.csv");
  CHECK_FALSE(row(tight, "zb-h1").candidate.for_costs);
  CHECK(tight.named("zb-auto").step_ns == searched.step_ns);
  CHECK_THROWS_AS(tight.named("zb-aut"), Error);
}

TEST_CASE("the interval of a prediction holds the uncertainty of all, and what is unsure of its own") {
  const Advice& advice = advice_of_zb_h1();
  const double fastest = std::ranges::min(advice.schedules, {}, &AdvisedSchedule::step_ns).step_ns;
  for (const AdvisedSchedule& each : advice.schedules) {
    CAPTURE(each.candidate.name);
    CHECK(each.low_ns <= each.step_ns * (1 - advice.uncertainty) + 1);
    CHECK(each.high_ns >= each.step_ns * (1 + advice.uncertainty) - 1);
    CHECK(each.ties == (each.step_ns <= (1 + kSameStep) * fastest));
    if (each.ties) CHECK(advice.best()->stashes <= each.stashes);
  }
  const AdvisedSchedule& own = row(advice, "zb-h1");  // its own ratio is 1 with any costs
  CHECK(own.high_ns == doctest::Approx(own.step_ns * (1 + advice.uncertainty)));
  const auto width = [](const AdvisedSchedule& one) { return (one.high_ns - one.low_ns) / one.step_ns; };
  CHECK(width(row(advice, "hanayo")) > width(own));
}

TEST_CASE("with a network pipelines of fewer ranks are advised, too, and pay for the reduction of gradients") {
  const TracedRun run = read_traced_run(testing::real_run("zb-h1"));
  const AdviceOptions options{.network = load_network("gpt2-small")};
  const Advice advice = advise(run, options);
  const auto half = std::ranges::find_if(advice.schedules, [](const AdvisedSchedule& one) {
    return one.candidate.name == "1f1b" && one.candidate.replicas == 2;
  });
  REQUIRE(half != advice.schedules.end());
  CHECK(half->candidate.schedule.num_devices == 2);
  CHECK(half->candidate.schedule.num_microbatches == 4);
  CHECK(half->memory_bytes > row(advice, "1f1b").memory_bytes);
  const RunPredictor predictor(run.known_profile(), "pytorch", options);
  const auto reduction = predictor.reduction_ns(2, 2);
  REQUIRE(reduction.has_value());
  CHECK(reduction->at(0) > 0);
  // Two ranks with half of the model each: the steps of the schedule, then the reduction of one stage.
  const Timeline with = predictor.predict(half->candidate.schedule, 2);
  const Timeline without = predictor.predict(half->candidate.schedule, 1);
  const double added = static_cast<double>(with.step_time - without.step_time);
  CHECK(added >= static_cast<double>(std::min(reduction->at(0), reduction->at(1))));
  CHECK(added <= static_cast<double>(reduction->at(0) + reduction->at(1)));
  for (const AdvisedSchedule& each : advice_of_zb_h1().schedules) CHECK(each.candidate.replicas == 1);
}

TEST_CASE("with a network memory is told in bytes") {
  const Advice advice = advise(read_traced_run(testing::real_run("zb-h1")), {.network = load_network("gpt2-small")});
  CHECK(row(advice, "gpipe").memory_bytes > row(advice, "1f1b").memory_bytes);
  CHECK(row(advice, "zb-h1").memory_bytes > 100'000'000);
  // Messages stay those of the run, whatever the network's are.
  CHECK(advice.predicted_ns == advice_of_zb_h1().predicted_ns);
  CHECK(row(advice, "hanayo").step_ns == row(advice_of_zb_h1(), "hanayo").step_ns);
}

TEST_CASE("with a network a limit is of what a device needs, which is its tensors and the reserve of the allocator") {
  const TracedRun run = read_traced_run(testing::real_run("zb-h1"));
  AdviceOptions options{.network = load_network("gpt2-small")};
  const AdvisedSchedule free = row(advise(run, options), "1f1b");
  const RunPredictor predictor(run.known_profile(), "pytorch", options);
  std::int64_t tensors = 0;
  for (const DeviceSummary& device : predictor.predict(free.candidate.schedule, 1).devices) {
    tensors = std::max(tensors, device.peak_memory_bytes);
  }
  CHECK(static_cast<double>(free.memory_bytes) == doctest::Approx(1.05 * static_cast<double>(tensors)));
  options.memory_limit = static_cast<double>(free.memory_bytes);
  CHECK(row(advise(run, options), "1f1b").fits);
  options.memory_limit = static_cast<double>(free.memory_bytes - 1);
  CHECK_FALSE(row(advise(run, options), "1f1b").fits);
}

TEST_CASE("the command prints the list, and the file that it saves is the schedule that it names") {
  const testing::ScratchDirectory scratch;
  const std::string files = " " + testing::in_source("tests/sim/traces/data/zb-h1") + "/rank*.json.gz";
  const auto result =
      testing::run_command("plumbline advise" + files + " --save best.csv --json advice.json", scratch.path());
  CHECK(result.err == "");
  CHECK(result.status == 0);
  CHECK(result.out.find("\nthis run     4 devices, 8 microbatches, ") != std::string::npos);
  const auto document = nlohmann::json::parse(testing::file_text(scratch.path() / "advice.json"));
  CHECK(document.at("format") == "plumbline-advice");
  const std::string command = document.at("schedules").at(0).at("command");
  CHECK(testing::run_command(command, scratch.path()).status == 0);
  const std::string name = document.at("schedules").at(0).at("schedule");
  CHECK(testing::file_text(scratch.path() / (name + ".csv")) == testing::file_text(scratch.path() / "best.csv"));
  const auto none = testing::run_command("plumbline advise" + files + " --memory-limit 0.5", scratch.path());
  CHECK(none.status == 3);
  CHECK(none.out.find("No schedule fits in the memory limit.") != std::string::npos);
}

TEST_CASE("torchtitan leaves the traces of PyTorch: named, it is advised its own files and rules") {
  const TracedRun run = read_traced_run(testing::real_run("zb-h1"));
  const AdviceOptions options{.runtime = "torchtitan", .given = " --runtime torchtitan"};
  const Advice advice = advise(run, options);
  CHECK(advice.runtime == "torchtitan");
  CHECK(advice.format == "torch-csv");
  CHECK(advice.own() == &row(advice, "zb-h1"));
  CHECK(row(advice, "zb-h1").step_ns == doctest::Approx(advice.measured_ns));
  // It reads this order from a file, and runs it as PyTorch does; 1F1B it runs by the class, which waits for every
  // send.
  CHECK(advice.predicted_ns == advice_of_zb_h1().predicted_ns);
  CHECK(row(advice, "1f1b").step_ns > row(advice_of_zb_h1(), "1f1b").step_ns);
  CHECK(schedule_command(advice, row(advice, "zb-h1")) ==
        "plumbline schedule zb-h1 -p 4 -m 8 --format torch-csv -o zb-h1.csv");
  CHECK(schedule_command(advice, advice.named("zb-auto")) ==
        "plumbline advise FILES --runtime torchtitan --schedule zb-auto --save zb-auto.csv");
  CHECK_THROWS_WITH_AS(advise(run, {.runtime = "torchtitian"}), doctest::Contains("did you mean 'torchtitan'"), Error);
}

TEST_CASE("a real run of DeepSpeed, which takes no schedules, is predicted itself, and says who takes some") {
  const TracedRun run = read_traced_run(testing::real_run("deepspeed-1f1b"));
  const Advice advice = advise(run, {});
  REQUIRE(advice.schedules.size() == 1);
  CHECK(advice.own() == &advice.schedules.front());
  CHECK(advice.own()->candidate.name == "1f1b");
  CHECK(std::abs(advice.predicted_ns / advice.measured_ns - 1) < 0.05);
  CHECK(advice_text(advice, 0).find("For the runtime deepspeed only the run's own order is predicted") !=
        std::string::npos);
  CHECK(advise(run, {.runtime = "pytorch"}).schedules.size() > 10);
}

TEST_CASE("advice and predictions are the same from a run's timeline as from its traces") {
  const testing::ScratchDirectory scratch;
  const std::string traces = testing::in_source("tests/sim/traces/data/zb-h1") + "/rank*.json.gz";
  REQUIRE(testing::run_command("plumbline trace " + traces + " -o run.json --summary --profile profile.json",
                               scratch.path())
              .status == 0);
  REQUIRE(testing::run_command("plumbline trace " + traces + " -o whole.json --profile profile.json", scratch.path())
              .status == 0);
  const auto text = [&](const std::string& command) {
    const auto result = testing::run_command("plumbline " + command, scratch.path());
    CHECK(result.err == "");
    CHECK(result.status == 0);
    return result.out.substr(0, result.out.find("\nnext:\n"));  // which names the file
  };
  CHECK(text("advise whole.json") == text("advise " + traces));
  CHECK(text("trace whole.json --profile -") == testing::file_text(scratch.path() / "profile.json"));
  CHECK(text("trace run.json --profile -") == testing::file_text(scratch.path() / "profile.json"));
  const std::string simulated = "simulate 1f1b -p 4 -m 8 --summary --profile ";
  CHECK(text(simulated + "run.json") == text(simulated + "profile.json"));
  const std::string swept = "sweep 1f1b zb-v -p 4 -m 8 --profile ";
  CHECK(text(swept + "whole.json") == text(swept + "profile.json"));
  CHECK(testing::run_command("plumbline advise run.json", scratch.path()).err ==
        "plumbline: error: advise: the run is a summary without actions, so its order is not known; expected the "
        "traces, or the whole timeline\n");
}

TEST_CASE("a run of Megatron-LM is advised what its flags can say, from a real dump of Primus") {
  const testing::ScratchDirectory scratch;
  const std::string folder = testing::in_source("tests/sim/traces/data/primus-pp8");
  const auto result = testing::run_command("plumbline advise " + folder + "/*.json --json advice.json", scratch.path());
  CHECK(result.err == "");
  REQUIRE(result.status == 0);
  const auto document = nlohmann::json::parse(testing::file_text(scratch.path() / "advice.json"));
  CHECK(document.at("runtime") == "megatron");
  CHECK(document.at("devices") == 8);
  CHECK(document.at("microbatches") == 16);
  bool has_interleaved = false;
  for (const auto& each : document.at("schedules")) {
    CAPTURE(each.dump());
    const std::string name = each.at("schedule");
    CHECK((name == "1f1b" || name == "interleaved"));
    CHECK(each.at("this_run") == (name == "1f1b"));
    has_interleaved = has_interleaved || name == "interleaved";
    REQUIRE(testing::run_command(each.at("command"), scratch.path()).status == 0);
    const std::string flags = testing::file_text(scratch.path() / (name + ".megatron"));
    CHECK(flags.find("--pipeline-model-parallel-size 8\n") != std::string::npos);
    CHECK((flags.find("--num-virtual-stages-per-pipeline-rank") != std::string::npos) == (name == "interleaved"));
  }
  CHECK(has_interleaved);
}

TEST_CASE("the printed command of a layout with replicas says that its file holds one of them") {
  const testing::ScratchDirectory scratch;
  const AdviceOptions options{.network = load_network("gpt2-small")};
  const auto check = [&](const Advice& advice, const std::string& end) {
    std::size_t replicated = 0;
    for (const AdvisedSchedule& each : advice.schedules) {
      const std::string command = schedule_command(advice, each);
      CAPTURE(command);
      CHECK((command.find(" # ") != std::string::npos) == (each.candidate.replicas > 1));
      if (each.candidate.replicas == 1 || each.candidate.for_costs) continue;
      ++replicated;
      CHECK(command.find("# holds one of 2 pipelines; launch 2 in parallel (data parallel size 2)" + end) !=
            std::string::npos);
      if (replicated == 1) CHECK(testing::run_command(command, scratch.path()).status == 0);
    }
    CHECK(replicated > 0);
  };
  const TracedRun run = read_traced_run(testing::real_run("zb-h1"));
  check(advise(run, options), "");
  AdviceOptions megatron = options;
  megatron.runtime = "megatron";
  check(advise(read_traced_run(testing::real_run("class-1f1b")), megatron),
        ", and --global-batch-size is 2 times as large");
}
