#include <doctest/doctest.h>

#include <string>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/formats/megatron.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule read(const std::string& text) { return schedule_from_megatron_options(text, "o.megatron"); }

std::string options_refusal(const std::string& text) {
  return error_message([&] { read(text); });
}

}  // namespace

TEST_CASE("the options of a plan are read as the schedule that it was made of") {
  for (const std::int32_t v : {1, 2, 3}) {
    ScheduleParams params{.num_devices = 4, .num_microbatches = 12, .chunks = v};
    if (v > 1) params.options = {{"group", "6"}};
    Schedule schedule = generate(v > 1 ? "interleaved" : "1f1b", params);
    for (const bool recompute : {false, true}) {
      if (recompute) schedule.recompute = {{.first_stage = 0, .last_stage = 4 * v - 1, .microbatches = {}}};
      const Schedule again = read(schedule_to_megatron_options(schedule));
      CHECK(again.devices == schedule.devices);
      CHECK(again.placement == schedule.placement);
      CHECK(again.recompute == schedule.recompute);
    }
  }
}

TEST_CASE("chunks follow from a layout, or from the layers of a chunk") {
  const std::string sizes = "--pipeline-model-parallel-size 4 \\\n  --micro-batch-size=2 --global-batch-size=32 ";
  const auto stages = [&](const std::string& more) { return read(sizes + more).num_stages; };
  CHECK(read(sizes).num_microbatches == 16);
  CHECK(read(sizes + "--data-parallel-size 2").num_microbatches == 8);
  CHECK(stages("--pipeline-model-parallel-layout \"Ett|(tttt|)*5,ttt|tL\" --num-layers 26") == 8);
  CHECK(stages("--pipeline-model-parallel-layout Et*3|t|t|tmL  # one chunk") == 4);
  CHECK(stages("--num-layers 24 --num-layers-per-virtual-pipeline-stage 2") == 12);
  CHECK(stages("--num-virtual-stages-per-pipeline-rank 2 --no-overlap-p2p-communication") == 8);
  CHECK(
      std::get<std::int64_t>(read(sizes + "--num-virtual-stages-per-pipeline-rank 2 --overlap-moe-expert-parallel-comm")
                                 .parameters.at("ahead")) == 1);
}

TEST_CASE("options that Megatron-LM would refuse are refused with their line") {
  const std::string sizes = "--pipeline-model-parallel-size 4 --global-batch-size 8\n";
  CHECK(options_refusal("") == "o.megatron: expected --global-batch-size, which says how many microbatches there are");
  CHECK(options_refusal(sizes + "--pipeline-model-paralel-size 2") ==
        "o.megatron:2: unknown option of a Megatron-LM pipeline 'pipeline-model-paralel-size' (did you mean "
        "'pipeline-model-parallel-size'?)");
  CHECK(options_refusal(sizes + "--micro-batch-size") == "o.megatron:2: --micro-batch-size: expected a value");
  CHECK(options_refusal(sizes + "--micro-batch-size 3") ==
        "o.megatron:1: --global-batch-size (8) must be a multiple of micro-batch-size x data-parallel-size (3)");
  CHECK(options_refusal(sizes + "--num-layers 8 --num-layers 8") == "o.megatron:2: --num-layers is given twice");
  CHECK(options_refusal(sizes + "--num-layers 10 --num-layers-per-virtual-pipeline-stage 2") ==
        "o.megatron:2: --num-layers-per-virtual-pipeline-stage (2): expected a divisor of the layers of a rank, "
        "--num-layers (10) over 4");
  CHECK(options_refusal(sizes + "--pipeline-model-parallel-layout Et|t|tL") ==
        "o.megatron:2: --pipeline-model-parallel-layout: expected a multiple of 4 stages, found 'Et|t|tL'");
  CHECK(
      options_refusal(sizes + "--pipeline-model-parallel-layout t|(t|*2tL") ==
      "o.megatron:2: --pipeline-model-parallel-layout: expected letters E, t, m, L and | with repetitions (...)*n and "
      "t*n, found 't|(t|*2tL'");
  CHECK(options_refusal(
            sizes + "--num-virtual-stages-per-pipeline-rank 2 --microbatch-group-size-per-virtual-pipeline-stage 3") ==
        "o.megatron: --microbatch-group-size-per-virtual-pipeline-stage (3) must be from the pipeline size (4) to the "
        "microbatches (8)");
  CHECK(options_refusal(sizes + "--recompute-granularity full --recompute-method block") ==
        "o.megatron:2: --recompute-method: expected uniform (every stage), found 'block'");
}

}  // namespace plumb::testing

TEST_SUITE_END();
