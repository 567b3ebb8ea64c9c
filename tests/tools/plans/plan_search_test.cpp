#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb::testing;

namespace {

const std::string kPlan =
    "plumbline plan --network gpt2-small --cluster a100-1x2 --batch 4 --tp 1 --dp 1 --pp 2 --microbatch-size 1 "
    "--recompute none --schedule 1f1b,zb-h1 ";

/// What the command that a plan prints for its document says.
nlohmann::json printed_step(const std::string& plan, const ScratchDirectory& scratch) {
  const std::size_t begin = plan.find("plumbline simulate ");
  REQUIRE(begin != std::string::npos);
  const std::string command = plan.substr(begin, plan.find_last_not_of('\n') + 1 - begin);  // the last lines
  const CommandResult simulated = run_command(command + " --summary --json -", scratch.path());
  REQUIRE(simulated.status == 0);
  return nlohmann::json::parse(simulated.out).at("step_time_ns");
}

}  // namespace

TEST_CASE("a plan's document simulates, by the command that the plan prints, to the step time that it promised") {
  const ScratchDirectory scratch;
  const CommandResult plan = run_command(kPlan + "-o best.json --json answer.json --html page.html", scratch.path());
  REQUIRE(plan.status == 0);
  CHECK(scratch.listing() == "answer.json best.json page.html");
  const auto answer = nlohmann::json::parse(run_command("cat answer.json", scratch.path()).out);
  CHECK(answer.at("proved") == true);
  CHECK(answer.at("best").size() == 2);
  CHECK(printed_step(plan.out, scratch) == answer.at("best")[0].at("step_time_ns"));
}

TEST_CASE("what unlike tensor degrees and compressed traffic promise is what the printed command simulates") {
  const ScratchDirectory scratch;
  const auto check = [&](const std::string& options, const std::string& printed) {
    CAPTURE(options);
    const CommandResult plan =
        run_command("COLUMNS=500 plumbline plan " + options + " --json answer.json", scratch.path());
    REQUIRE(plan.status == 0);
    CHECK(plan.out.find(printed) != std::string::npos);
    const auto answer = nlohmann::json::parse(run_command("cat answer.json", scratch.path()).out);
    CHECK(printed_step(plan.out, scratch) == answer.at("best")[0].at("step_time_ns"));
    return answer.at("best")[0];
  };
  const std::string cluster = in_source("tools/examples/a100_v100.json");
  const std::string unlike = "--network llama3-8b --cluster " + cluster +
                             " --tp 1,2 --cp 2 --dp 1 --pp 3,4 --microbatch-size 1 --recompute none --zero 1 "
                             "--schedule zb-h1 --unlike-tp --batch ";
  const auto in_order = check(unlike + "64", "--tp-by-rank 1-1-2 --sequence-parallel");
  CHECK(in_order.at("tensor_by_rank") == nlohmann::json{1, 1, 2});
  CHECK(in_order.at("devices") == 8);
  const auto slow_first = check(unlike + "16 -o best.json", "--tp-by-rank 1-1-2 --sequence-parallel");
  CHECK(slow_first.at("order") == nlohmann::json{2, 0, 1});
  CHECK(slow_first.at("tensor_by_rank") == nlohmann::json{2, 1, 1});
  check(
      "--network gpt2-small --cluster a100-1x8 --batch 32 --zero 1 --dp 4 --tp 1 --pp 2 --schedule 1f1b "
      "--shard-group 2 --overlap-gradients --compress-messages 8 --compress-gradients 0.5",
      "--overlap-gradients --shard-group weights=2,gradients=2,optimizer=2 --compress-gradients 0.5 "
      "--compress-messages 8,8");
}

TEST_CASE("an answer that a limit cut short says so") {
  const std::string many =
      "plumbline plan --network gpt2-small --cluster a100 --batch 64 --runtime megatron --simulations ";
  const CommandResult cut = run_command(many + "2 --json answer.json", ScratchDirectory().path());
  REQUIRE(cut.status == 0);
  CHECK(cut.out.find("cut short by the limit") != std::string::npos);
  const CommandResult proved = run_command(kPlan, ScratchDirectory().path());
  CHECK(proved.out.find("proved: no plan in the search space is faster") != std::string::npos);
  CHECK(proved.out.find("cut short") == std::string::npos);
}

TEST_CASE("a plan that cannot be is refused in one line; one that fits nowhere says by how many bytes") {
  const ScratchDirectory scratch;
  const auto expect = [&](const std::string& command, int status, const std::string& said) {
    CAPTURE(command);
    const CommandResult result = run_command(command, scratch.path());
    CHECK(result.status == status);
    CHECK(result.err.find(said) != std::string::npos);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    if (status == 2) CHECK(result.out.empty());
    return result.out;
  };
  expect("plumbline plan --network gpt2-small --cluster a100", 2, "the global batch size (--batch N) is missing");
  expect("plumbline plan --cluster a100 --batch 8", 2, "the model (--network NAME|FILE) is missing");
  expect(kPlan + "--zero 7", 2, "--zero");
  expect("plumbline plan --network gpt2-small --cluster a100 --batch 8 --schedule 1f1", 2, "did you mean '1f1b'");
  expect("plumbline plan --network gpt2-small --cluster a100 --batch 8 --schedule hetpipe", 2, "expected one copy");
  expect("plumbline plan --network gpt2-small --cluster a100-1x2 --batch 8 --pp 2 --schedule pipedream", 3,
         "no schedule is possible: schedule 'pipedream': stages 0 and 1 share a weight");
  const std::string tight = expect(kPlan + "--memory-limit 1GB", 3, "exceeds the memory of pipeline rank");
  CHECK(tight.starts_with("largest: "));
  CHECK(tight.find("what would help") != std::string::npos);
  CHECK(tight.find("--recompute") != std::string::npos);
  expect(kPlan + "--memory-limit 0", 2, "expected bytes above 0");
  expect(kPlan + "-o best.csv", 2, "best.csv: -o writes a schedule document, expected the extension .json");
  scratch.write("measured.json", R"({"format": "plumbline-network", "version": 1, "name": "measured", "sequence": 1,
      "layers": [{"repeat": 3, "layers": [{"kind": "profiled", "f_ns": 5, "i_ns": 6, "w_ns": 7}]}]})");
  const std::string measured = "plumbline plan --network measured.json --cluster a100-1x2 --batch 4 ";
  expect(measured + "--zero 0,1", 2, "has measured layers, expected no --zero");
  expect(measured + "--recompute full", 2, "has measured layers, expected no --recompute");
  expect(measured + "--tp 2", 2, "has measured layers, expected one device per stage");
  const std::string eight = "plumbline plan --network gpt2-small --cluster a100 --batch 8 ";
  expect(eight + "--cp 3", 2, "(3) must divide the sequence (1024)");
  expect(eight + "--ep 2", 2, "has no experts, expected an expert degree of 1");
  CHECK(scratch.listing() == "measured.json");
}

TEST_CASE("a plan that never flushes says how old its weights are, and its document takes the step that it promised") {
  const ScratchDirectory scratch;
  const CommandResult answer = run_command(
      "plumbline plan --network gpt-tiny --cluster a100-1x2 --batch 4 --tp 1 --dp 1 --pp 2 --microbatch-size 1 "
      "--recompute none --schedule pipedream -o best.json --json answer.json --html page.html",
      scratch.path());
  REQUIRE(answer.status == 0);
  CHECK(answer.out.find("updates old, backwards") != std::string::npos);
  const auto json = nlohmann::json::parse(run_command("cat answer.json", scratch.path()).out);
  const auto& best = json.at("best")[0];
  CHECK(best.at("staleness").size() == 2);
  CHECK(best.at("staleness")[0].at("tau_fwd") > best.at("staleness")[1].at("tau_fwd"));
  CHECK(printed_step(answer.out, scratch) == best.at("step_time_ns"));
}

TEST_CASE("prices and degrees are chosen and shown") {
  const ScratchDirectory scratch;
  const CommandResult plan = run_command(
      "plumbline plan --network mixtral-8x7b --cluster h100-2x8 --batch 16 --tp 1 --cp 1,2 --dp 4,8 --ep 1,8 --pp 1,2 "
      "--microbatch-size 1 --recompute full --zero 3 --schedule 1f1b --price 2 --simulations 50 --json answer.json",
      scratch.path());
  REQUIRE(plan.status == 0);
  for (const char* said : {"price per million tokens", "cheapest", "ep "}) {
    CAPTURE(said);
    CHECK(plan.out.find(said) != std::string::npos);
  }
  const auto answer = nlohmann::json::parse(run_command("cat answer.json", scratch.path()).out);
  std::vector<double> prices;
  for (const auto& score : answer.at("best")) prices.push_back(1e6 * score.at("price_per_token").get<double>());
  const auto [least, most] = std::ranges::minmax(prices);
  CHECK(least < 0.998 * most);
  const double cheapest = std::stod(plan.out.substr(plan.out.find("cheapest") + 8));
  CHECK(cheapest / least == doctest::Approx(1).epsilon(0.0005));
  const auto& best = answer.at("best")[0];
  const double seconds = best.at("step_time_ns").get<double>() * 1e-9;
  CHECK(best.at("price_per_hour") == 2 * best.at("devices").get<double>());
  const double expected = seconds / 3600 * best.at("price_per_hour").get<double>() / (16 * 4096);
  CHECK(best.at("price_per_token").get<double>() / expected == doctest::Approx(1));
}

TEST_CASE("a network without tokens has its price by the sample, at the devices' own prices") {
  const ScratchDirectory scratch;
  const CommandResult plan = run_command(
      "plumbline plan --network vgg-16 --cluster a100-1x2 --batch 64 --tp 1 --dp 1 --pp 2 --microbatch-size 8 "
      "--recompute none --schedule 1f1b --price 3.6 --json answer.json",
      scratch.path());
  REQUIRE(plan.status == 0);
  CHECK(plan.out.find("price per million samples") != std::string::npos);
  CHECK(plan.out.find("tokens") == std::string::npos);
  const auto best = nlohmann::json::parse(run_command("cat answer.json", scratch.path()).out).at("best")[0];
  CHECK_FALSE(best.contains("price_per_token"));
  // Two devices at 3.6 an hour are 0.002 a second.
  const double expected = 0.002 * 1e-9 * best.at("step_time_ns").get<double>() / 64;
  CHECK(best.at("price_per_sample").get<double>() / expected == doctest::Approx(1));
}

TEST_CASE("samples are divided, unless asked for, only where each part keeps 4096 tokens; sequence parallel beside") {
  const ScratchDirectory scratch;
  const std::string plan =
      "plumbline plan --network llama3-8b --cluster h100-1x8 --batch 4 --tp 2 --dp 1 --pp 1 --microbatch-size 1 "
      "--recompute none --zero 0 --schedule 1f1b --memory-limit 400GB --json - ";
  const auto plans = [&](const std::string& options) {
    return nlohmann::json::parse(run_command(plan + options, scratch.path()).out);
  };
  CHECK(plans("").at("setups") == 4);  // 8192 tokens: degrees 1 and 2, with and without sequence parallelism
  CHECK(plans("--sequence 4096").at("setups") == 2);
  const auto halves = plans("--cp 2").at("best")[0];
  CHECK(halves.at("context") == 2);
  CHECK(plans("--sequence 4096 --cp 4").at("best")[0].at("context") == 4);
  const CommandResult simulated = run_command(
      std::string("plumbline simulate 1f1b -p 1 -m 4 --network llama3-8b --cluster h100-1x8 --tp 2 --cp 2 ") +
          (halves.at("sequence_parallel") ? "--sequence-parallel " : "") +
          "--microbatch-size 1 --memory-limit 400GB --summary --json -",
      scratch.path());
  CHECK(nlohmann::json::parse(simulated.out).at("step_time_ns") == halves.at("step_time_ns"));
}

TEST_CASE("no command is faster than a proved plan of the same degrees, with or without sequence parallelism") {
  const ScratchDirectory scratch;
  const auto step = [&](const std::string& command) {
    const auto answer = nlohmann::json::parse(run_command(command + " --json -", scratch.path()).out);
    return (answer.contains("best") ? answer.at("best")[0] : answer).at("step_time_ns").get<std::int64_t>();
  };
  const std::string job = " --network gpt2-small --cluster a100-1x2 --tp 2 --microbatch-size 1 ";
  const std::int64_t planned =
      step("plumbline plan --batch 4 --pp 1 --dp 1 --recompute none --zero 0 --schedule 1f1b" + job);
  std::int64_t fastest = 0;
  for (const char* norms : {"", "--sequence-parallel"}) {
    const std::int64_t found = step("plumbline simulate 1f1b -p 1 -m 4 --summary" + job + norms);
    fastest = fastest == 0 ? found : std::min(fastest, found);
  }
  CHECK(planned == fastest);
}

TEST_CASE("a plan of one place or two is as fast as the schedule alone on one place") {
  const ScratchDirectory scratch;
  const std::string job = " --network " + in_source("tests/tools/plans/data/seven-layers.json") + " --cluster " +
                          in_source("tests/tools/plans/data/two-devices.json") + " --json - ";
  const auto answered = [&](const std::string& command) {
    return nlohmann::json::parse(run_command(command + job, scratch.path()).out);
  };
  const auto planned = answered(
      "plumbline plan --batch 8 --tp 1 --dp 1,2 --pp 1,2 --microbatch-size 1 --zero 0 --recompute none,full "
      "--schedule gis");
  const auto alone = answered("plumbline simulate gis -p 1 -m 4 --dp 2 --partition 5,2 --summary");
  CHECK(planned.at("proved") == true);
  CHECK(planned.at("best")[0].at("step_time_ns") <= alone.at("step_time_ns"));
}

TEST_CASE("what a plan promises is what its command simulates to the nanosecond, and no less than its bound") {
  const ScratchDirectory scratch;
  const std::string example = in_source("tools/examples/a100_v100.json");
  const std::string small = "--network " + in_source("tests/tools/plans/data/seven-layers.json") + " --cluster " +
                            in_source("tests/tools/plans/data/two-devices.json");
  for (const std::string& job :
       {small + " --batch 8 --pp 2", std::string("--network gpt2-small --cluster h100-1x4 --batch 7 --pp 4"),
        std::string("--network bert-48 --cluster v100-2x1 --batch 6 --pp 2"),
        "--network gpt2-medium --cluster " + example + " --batch 8 --pp 3"}) {
    std::int64_t fastest = 0;
    for (const char* schedule : {"1f1b", "gpipe", "zb-h1", "zb-v", "1f1b,gpipe,zb-h1,zb-v"}) {
      CAPTURE(job);
      CAPTURE(schedule);
      const CommandResult plan =
          run_command("plumbline plan " + job + " --tp 1 --dp 1 --microbatch-size 1 --zero 0 " +
                          "--recompute none -o best.json --json answer.json --schedule " + schedule,
                      scratch.path());
      REQUIRE(plan.status == 0);
      const auto answer = nlohmann::json::parse(run_command("cat answer.json", scratch.path()).out);
      const std::int64_t step = answer.at("best")[0].at("step_time_ns");
      CHECK(printed_step(plan.out, scratch) == step);
      CHECK(answer.at("bound_ns") <= step);
      if (answer.at("proved") == true) CHECK(answer.at("bound_ns") == step);
      const bool all = std::string(schedule).find(',') != std::string::npos;
      if (all) CHECK(step <= fastest);
      fastest = fastest == 0 ? step : std::min(fastest, step);
    }
  }
}

TEST_CASE("what would help is printed with the step time that it gives") {
  const ScratchDirectory scratch;
  const CommandResult plan = run_command(kPlan + "--explain", scratch.path());
  REQUIRE(plan.status == 0);
  for (const char* said :
       {"what would help", "computes 10 % faster", "25 % more memory", "all stages take the same time"}) {
    CAPTURE(said);
    CHECK(plan.out.find(said) != std::string::npos);
  }
}

TEST_CASE("a plan for Megatron-LM is launched by a command that simulates to its step, peak and verdict") {
  const ScratchDirectory scratch;
  const CommandResult plan = run_command(
      "plumbline plan --network gpt2-small --cluster a100-1x8 --batch 16 --tp 1 --pp 2,4 --microbatch-size 1 "
      "--recompute none --runtime megatron --simulations 10 --json answer.json",
      scratch.path());
  REQUIRE(plan.status == 0);
  for (const char* said : {"pretrain_gpt.py", "--num-layers 12", "--pipeline-model-parallel-layout 'E",
                           "TFLOP/s per device", "--runtime megatron", "only what Megatron-LM runs"}) {
    CAPTURE(said);
    CHECK(plan.out.find(said) != std::string::npos);
  }
  const auto answer = nlohmann::json::parse(run_command("cat answer.json", scratch.path()).out);
  for (const auto& best : answer.at("best")) {
    scratch.write("launch.sh", best.at("launch").get<std::string>() + "\n");
    for (const std::string& command : {best.at("simulate").get<std::string>(),
                                       std::string("plumbline simulate --job launch.sh --cluster a100-1x8")}) {
      CAPTURE(command);
      const CommandResult simulated = run_command(command + " --summary --json -", scratch.path());
      REQUIRE(simulated.status == 0);
      const auto timeline = nlohmann::json::parse(simulated.out);
      CHECK(timeline.at("step_time_ns") == best.at("step_time_ns"));
      std::int64_t peak = 0;
      for (const auto& device : timeline.at("devices")) {
        if (device.at("peak_memory_bytes") <= peak) continue;
        peak = device.at("peak_memory_bytes");
        CHECK(device.at("memory_need").at("needed_bytes") <= best.at("memory").at("needed_bytes"));
      }
      CHECK(peak == best.at("peak_memory_bytes"));
    }
  }
}

TEST_CASE("a plan that begins stages between attention and MLP says that no system runs it") {
  const ScratchDirectory scratch;
  const auto says = [&](const std::string& options) {
    const CommandResult plan = run_command(
        "plumbline plan --network gpt2-small --cluster a100-1x8 --batch 16 --tp 1 --dp 1 --pp 5 --microbatch-size 1 "
        "--recompute none --schedule 1f1b --simulations 5 " +
            options,
        scratch.path());
    REQUIRE(plan.status == 0);
    return plan.out.find("which no training system runs") != std::string::npos;
  };
  CHECK(says("--cut blocks"));
  CHECK_FALSE(says("--cut layers"));
}

TEST_CASE("what a system cannot run is refused with what it has") {
  const ScratchDirectory scratch;
  const auto expect = [&](const std::string& options, const std::string& said) {
    CAPTURE(options);
    const CommandResult result =
        run_command("plumbline plan --network gpt2-small --cluster a100 --batch 8 " + options, scratch.path());
    CHECK(result.status == 2);
    CHECK(result.err.find(said) != std::string::npos);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  };
  expect("--runtime megatorn", "did you mean 'megatron'");
  expect("--runtime megatron --schedule zb-v",
         "--schedule zb-v: Megatron-LM does not have it beside a pipeline, expected 1f1b,interleaved");
  expect("--runtime deepspeed --zero 2", "expected 0,1");
  expect("--runtime megatron --cut blocks", "no system cuts inside decoder layers");
  expect("--cut finer", "'finer'");
}

TEST_CASE("settings of Megatron-LM say degrees and batch, where it can run the schedule at all") {
  const ScratchDirectory scratch;
  const std::string plan =
      "plumbline plan --network gpt2-small --cluster a100-1x2 --batch 4 --tp 2 --dp 1 --pp 1 --microbatch-size 1 "
      "--recompute full --schedule 1f1b --guide";
  const CommandResult result = run_command(plan, scratch.path());
  REQUIRE(result.status == 0);
  for (const char* said : {"--tensor-model-parallel-size 2", "--global-batch-size 4", "--micro-batch-size 1",
                           "--recompute-granularity full"}) {
    CAPTURE(said);
    CHECK(result.out.find(said) != std::string::npos);
  }
  // Gathers and scatters of the sequence take longer than all-reduces here, and the plan goes without.
  CHECK(result.out.find("--sequence-parallel") == std::string::npos);
}

namespace {

nlohmann::json planned(const std::string& options) {
  const CommandResult plan = run_command("plumbline plan " + options + " --json -", ScratchDirectory().path());
  REQUIRE((plan.status == 0 || plan.status == 3));
  return nlohmann::json::parse(plan.out);
}

}  // namespace

TEST_CASE("the first plan fits with the error of its memory, and a tight and faster one stands second") {
  const std::string job =
      "--network gpt2-medium --cluster a100-1x8 --batch 32 --tp 1 --dp 2 --pp 4 --microbatch-size 1 --zero 0 ";
  bool tight = false;
  for (const char* limit : {"5GiB", "5.5GiB", "6GiB", "6.5GiB", "7GiB"}) {
    CAPTURE(limit);
    const auto best = planned(job + "--memory-limit " + limit).at("best");
    if (best.empty()) continue;
    const auto verdict = [&](std::size_t at) { return best[at].at("memory").at("verdict").get<std::string>(); };
    const auto step = [&](std::size_t at) { return best[at].at("step_time_ns").get<std::int64_t>(); };
    const auto& memory = best[0].at("memory");
    if (verdict(0) == "fits") CHECK(memory.at("most_bytes") <= memory.at("limit_bytes"));
    for (std::size_t at = 1; at < best.size() && verdict(0) == "fits"; ++at) {
      CHECK((verdict(at) == "fits") == (step(at) >= step(0)));
      if (verdict(at) != "tight") continue;
      tight = true;
      CHECK(at == 1);
    }
  }
  CHECK(tight);
}

TEST_CASE("without a runtime every plan is one that some system runs, and one place is gradient accumulation") {
  const std::string job = "--network llama3-8b --cluster h100-1x8 --batch 64 --simulations 100 ";
  const auto held = planned(job);
  for (const char* list : {"best", "front"}) {
    for (const auto& plan : held.at(list)) {
      CAPTURE(plan.at("schedule"));
      CHECK(!plan.at("runs_in").empty());
      if (plan.at("places") == 1) CHECK(plan.at("schedule") == "1f1b");
    }
  }
  const std::string one_place = job + "--tp 2 --cp 1 --dp 4 --pp 1 --microbatch-size 1 --zero 1 --recompute none ";
  const auto plain = planned(one_place);
  const auto all = planned(one_place + "--all");
  CHECK(all.at("best")[0].at("step_time_ns") < plain.at("best")[0].at("step_time_ns"));
  CHECK(all.at("best")[0].at("runs_in").empty());
  CHECK(all.at("bound_ns") <= plain.at("bound_ns"));
}

TEST_CASE("where nothing fits the answer says on how many devices a plan does, and there it is found") {
  const CommandResult few = run_command(
      "plumbline plan --network llama3-8b --cluster h100-1x1 --batch 64 --microbatch-size 1 --simulations 200",
      ScratchDirectory().path());
  CHECK(few.status == 3);
  const std::size_t at = few.out.find("--cluster h100 --devices ");
  REQUIRE(at != std::string::npos);
  const std::string option = few.out.substr(at, few.out.find(')', at) - at);
  const auto enough = planned("--network llama3-8b --batch 64 --microbatch-size 1 --simulations 200 " + option);
  CHECK(enough.at("best")[0].at("memory").at("verdict") == "fits");
}

TEST_CASE("plan, simulate and sweep say the same of what the fullest device needs") {
  const std::string job = "--network gpt2-small --cluster a100-1x2 --tp 1 --dp 1 --microbatch-size 1 ";
  const auto need = planned(job + "--batch 4 --pp 2 --zero 0 --recompute none --schedule 1f1b").at("best")[0];
  const ScratchDirectory scratch;
  const CommandResult simulated =
      run_command(need.at("simulate").get<std::string>() + " --summary --json -", scratch.path());
  const auto timeline = nlohmann::json::parse(simulated.out);
  std::int64_t most = 0;
  std::string verdict;
  for (const auto& device : timeline.at("devices")) {
    const auto& of = device.at("memory_need");
    if (of.at("needed_bytes") <= most) continue;
    most = of.at("needed_bytes");
    verdict = of.at("verdict");
  }
  CHECK(need.at("memory").at("needed_bytes") == most);
  CHECK(need.at("memory").at("verdict") == verdict);
  const CommandResult swept =
      run_command("plumbline sweep 1f1b -p 2 -m 4 --network gpt2-small --cluster a100-1x2 --microbatch-size 1 " +
                      std::string("--partition ") + need.at("partition").get<std::string>() + " --csv -",
                  scratch.path());
  CHECK(swept.out.find("," + std::to_string(most) + ",") != std::string::npos);
}

TEST_SUITE_END();
