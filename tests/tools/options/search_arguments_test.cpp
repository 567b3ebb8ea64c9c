#include <cstdint>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb::testing;

CommandResult run_in_scratch(const std::string& command) {
  const ScratchDirectory scratch;
  return run_command(command, scratch.path());
}

constexpr const char* kExample = " zb-auto -p 3 -m 6 --cost F=5,I=6,W=4 --memory F=2,I=-1,W=-1 --memory-limit ";

}  // namespace

TEST_CASE("schedule and simulate hand costs and memory limit to a searched schedule") {
  const CommandResult tight = run_in_scratch("plumbline schedule --format text" + std::string(kExample) + "6");
  const CommandResult ample = run_in_scratch("plumbline schedule --format text" + std::string(kExample) + "12");
  CHECK(tight.status == 0);
  CHECK(tight.out.find("\nd0: 0F0 0F1 0F2 0I0 ") != std::string::npos);
  CHECK(ample.out.find("\nd0: 0F0 0F1 0F2 0F3 0F4 0F5 0I0 ") != std::string::npos);
  CHECK(run_in_scratch("plumbline simulate --summary" + std::string(kExample) + "12 --json -")
            .out.find("\"longest_device_span_ns\":93000000") != std::string::npos);
}

TEST_CASE("a limit of a searched schedule counts stashes of 1/p of the model, with --per-stage those of one stage") {
  const auto makespan = [](const std::string& limit) {
    const CommandResult run =
        run_in_scratch("plumbline simulate v-auto -p 4 -m 8 --cost F=1,I=1,W=1 --json - --memory-limit " + limit);
    CAPTURE(run.err);
    CHECK(run.status == 0);
    return nlohmann::json::parse(run.out).at("makespan_ns").get<std::int64_t>();
  };
  CHECK(makespan("2") > makespan("4"));
  for (const auto& [shares, stages] : {std::pair{"2", "4"}, std::pair{"3", "6"}, std::pair{"4", "8"}}) {
    CAPTURE(shares);
    CHECK(2 * makespan(shares) == makespan(stages + std::string(" --per-stage")));
    CHECK(makespan(shares) == makespan(shares + std::string(" --memory F=1,W=-1")));
  }
}

TEST_CASE("a searched schedule without costs is made for equal passes") {
  const CommandResult plain = run_in_scratch("plumbline schedule zb-1p -p 4 -m 8");
  CHECK(plain.status == 0);
  CHECK(plain.out == run_in_scratch("plumbline schedule zb-1p -p 4 -m 8 --cost F=1,I=1,W=1").out);
}

TEST_CASE("train takes the same costs and limit") {
  const std::string train = "plumbline train v-auto -p 2 -m 4 --network gpt-tiny --executor serial --steps 1 ";
  CHECK(run_in_scratch(train + "--cost F=1,I=1,W=1 --memory-limit 4").status == 0);
  const CommandResult none = run_in_scratch(train + "--memory-limit 1");
  CHECK(none.status == 2);
  CHECK(none.err.find("v-auto: no building block stays within the memory limit of 1 stashes") != std::string::npos);
}

TEST_CASE("memory and limit that do not fit the costs are refused in one line") {
  CHECK(run_in_scratch("plumbline schedule zb-auto -p 2 -m 2 --memory F=1,W=-1").err ==
        "plumbline: error: --memory: applies to --cost, expected --cost LIST with it\n");
  CHECK(run_in_scratch("plumbline schedule zb-auto -p 2 -m 2 --memory-limit much").status == 2);
}

TEST_SUITE_END();
