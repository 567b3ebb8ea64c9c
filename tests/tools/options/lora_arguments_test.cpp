#include "tools/options/job_arguments.hpp"

#include <doctest/doctest.h>

#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("tools");

namespace plumb {

TEST_CASE("adapters count twice beside queries, keys and values unless options say otherwise") {
  LoraArguments arguments;
  CHECK(!arguments.any());
  CHECK(arguments.adapters().rank == 0);
  arguments.rank = 8;
  CHECK(arguments.adapters() == Lora{.rank = 8, .alpha = 16, .targets = LoraTargets::kQkv});
  arguments.alpha = 8;
  arguments.targets = "all";
  CHECK(arguments.adapters() == Lora{.rank = 8, .alpha = 8, .targets = LoraTargets::kAll});
  JobArguments job;
  job.lora = arguments;
  CHECK(job.any());
  CHECK(job.parallelism({}, MatrixFormat::kBf16).adapter_rank == 8);
  CHECK(job.parallelism({}, MatrixFormat::kBf16).adapter_targets == LoraTargets::kAll);
}

TEST_CASE("options of adapters need a rank, and say what is wrong with them") {
  LoraArguments arguments;
  arguments.targets = "all";
  CHECK(testing::error_message([&] { arguments.adapters(); }) ==
        "--lora-alpha, --lora-targets: the rank is missing, expected --lora-rank R with them");
  arguments.rank = 2;
  arguments.targets = "al";
  CHECK(testing::error_message([&] { arguments.adapters(); }).find("did you mean 'all'") != std::string::npos);
  arguments.targets.clear();
  arguments.alpha = 0;
  CHECK(testing::error_message([&] { arguments.adapters(); }) == "--lora-alpha: expected a number above 0");
}

}  // namespace plumb

TEST_SUITE_END();
