#include "sim/traces/readers/megatron_timers.hpp"

#include <doctest/doctest.h>

#include "sim/traces/traced_run.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;

namespace {

/// As `Timers._get_all_ranks_time_string` of Megatron-LM prints them, between other lines of a log.
constexpr const char* kLog = R"( [2025-10-21 11:01:17] iteration        1/      20 | consumed samples:           16 |
times across ranks (ms):
  forward-backward:
     rank  0: 3237.89
     rank  1: 3230.10
  forward-compute:
     rank  0: 925.38
     rank  1: 1068.69
  backward-compute:
     rank  0: 1133.71
     rank  1: 1197.19
  forward-recv:
     rank  1: 430.00
  optimizer:
     rank  0: 12.00
     rank  1: 12.50
 iteration        2/      20 | consumed samples:           32 |
)";

std::string refusal(const std::string& log) {
  return testing::error_message([&] { read_traced_run({{"run.log", log}}); });
}

}  // namespace

TEST_CASE("Megatron-LM's timers give busy and idle time of every rank, of every interval that is logged") {
  std::string log = kLog;
  for (std::size_t at = log.find("3237.89"); at != std::string::npos; at = std::string::npos)
    log.replace(at, 7, "3300.00");
  const TracedRun run = read_traced_run({{"run.log", std::string(kLog) + log}});
  CHECK(run.step_ns == std::vector<std::int64_t>{3'237'890'000, 3'300'000'000});
  CHECK(run.step == 0);
  REQUIRE(run.timeline().devices.size() == 2);
  CHECK(run.timeline().devices[0].busy == 2'059'090'000);
  CHECK(run.timeline().devices[0].idle == 3'237'890'000 - 2'059'090'000);
  CHECK(run.timeline().devices[1].busy == 2'265'880'000);
  CHECK(run.timeline().bubble_fraction == doctest::Approx(1 - (2059.09 + 2265.88) / (2 * 3237.89)));
  CHECK(run.timeline().spans.empty());
}

TEST_CASE("prefixes of launchers do not matter") {
  std::string log;
  std::string_view rest = kLog;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n') + 1;
    log += "[default7]:" + std::string(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  CHECK(read_traced_run({{"run.log", log}}).timeline() == read_traced_run({{"run.log", kLog}}).timeline());
}

TEST_CASE("timers that do not tell a rank's times are refused with the line") {
  CHECK(refusal("\n(min, max) time across ranks (ms):\n    forward-backward ...: (1.00, 2.00)\n") ==
        "run.log:2: gives the timers of no rank, expected a run with --timing-log-option all");
  CHECK(refusal("times across ranks (ms):\n  forward-backward:\n     rank  0: 3.00\n") ==
        "run.log:1: has no timer forward-compute, expected a run of a pipeline with --timing-log-level 2 "
        "--timing-log-option all");
  CHECK(refusal("times across ranks (ms):\n  save-checkpoint:\n     rank  0: 3.00\n")
            .starts_with("run.log: has no timer forward-backward"));
  std::string log = kLog;
  log.replace(log.find("     rank  0: 1133.71\n"), 22, "");
  CHECK(refusal(log) ==
        "run.log:2: has no forward-compute and backward-compute of rank 0, expected those of all ranks");
  log = kLog;
  log.replace(log.find("925.38"), 6, "9925.3");
  CHECK(refusal(log) ==
        "run.log:2: rank 0 computes longer than the longest forward-backward, expected timers of the same steps");
  CHECK(testing::error_message([] {
          read_traced_run({{"a", kLog}, {"b", kLog}});
        }) == "a: is one of several files, expected the log of Megatron-LM alone");
}
