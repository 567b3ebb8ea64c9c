#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "models/ground/rational.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tools/ask/ask.hpp"
#include "tools/ask/sweep_question.hpp"
#include "tools/sweep/sweep_run.hpp"

TEST_SUITE_BEGIN("tools");

using namespace plumb;
using namespace plumb::testing;

TEST_CASE("a sweep refuses points that are too large to be simulated whole, before it takes their memory") {
  const ScratchDirectory scratch;
  const std::string large = "plumbline sweep 1f1b -p 65536 -m 100000 --cost F=1,B=2";
  for (const std::string& how : {std::string(" --html page.html"), std::string(" --jitter 0.1 --runs 2"),
                                 std::string(" --jitter 0.1 --runs 1 --csv -")}) {
    CAPTURE(how);
    const CommandResult result = run_command(large + how, scratch.path());
    CHECK(result.status == 2);
    CHECK(result.err.starts_with("plumbline: error: schedule '1f1b' has 13107265536 actions"));
    CHECK(result.err.find("; expected at most 2147483648 (they would take about ") != std::string::npos);
    CHECK(scratch.listing() == "");
  }
}

TEST_CASE("synchronous schedules of the catalogue do the same work for the same costs") {
  SweepQuestion question;
  question.all = true;
  question.devices = "4";
  question.microbatches = "16";
  question.costs.cost = "F=2,I=1,W=3";
  const std::vector<SweepPoint> points = question.points();
  int counted = 0;
  sweep_points(points, question.plan(points, false), [&](const SweepResult& result) {
    if (!result.figures || result.semantics != "synchronous" || result.point.schedule == "mlora") return;
    CAPTURE(result.point.schedule);
    CHECK(result.work == Rational(24'000'000));
    const SweepFigures& figures = *result.figures;
    const double each = figures.utilization * figures.makespan_ns / static_cast<double>(figures.updates);
    CHECK(each == doctest::Approx(16 * 6e6).epsilon(1e-6));
    ++counted;
  });
  CHECK(counted > 40);
}

TEST_CASE("a schedule with two stages on each device is not slower for it, unless costs are those of a stage") {
  const ScratchDirectory scratch;
  const std::string sizes = " -p 8 -m 32 --cost F=1,I=1,W=1";
  const auto makespan = [&](const std::string& words) {
    const CommandResult run = run_command("plumbline simulate " + words + sizes + " --json -", scratch.path());
    CAPTURE(run.err);
    return nlohmann::json::parse(run.out).at("makespan_ns").get<std::int64_t>();
  };
  CHECK(makespan("zb-v") < makespan("1f1b"));
  CHECK(makespan("zb-v --per-device") == makespan("zb-v"));
  CHECK(makespan("zb-v --per-stage") == 2 * makespan("zb-v"));
  CHECK(makespan("1f1b --per-stage") == makespan("1f1b"));
}

TEST_CASE("the best choices of a sweep compare only schedules that do the same work, and the answer says so") {
  const ScratchDirectory scratch;
  const std::string sweep = "plumbline sweep 1f1b zb-h1 zb-v -p 8 -m 32";
  const auto best_of = [&](const std::string& words) {
    const std::string text = run_command(sweep + words, scratch.path()).out;
    return text.substr(text.find("best choices"));
  };
  CHECK(best_of("").find("zb-h1") == std::string::npos);
  const std::string per_stage = run_command(sweep + " --per-stage", scratch.path()).out;
  CHECK(per_stage.find("\nThese schedules do unequal work") != std::string::npos);
  CHECK(best_of(" --per-stage").find("zb-h1") != std::string::npos);
  CHECK(best_of(" --per-stage").find(" 48 ") != std::string::npos);  // the work of zb-v
  CHECK(run_command(sweep, scratch.path()).out.find("unequal work") == std::string::npos);
  const std::string heads =
      run_command("plumbline sweep 1f1b 1f1b-vocab -p 4 -m 8 --cost F=1,I=1,W=1,S=1,T=1", scratch.path()).out;
  CHECK(heads.find("\nThese schedules do unequal work") != std::string::npos);
}

TEST_CASE("--per-device is still accepted, changes nothing, and is listed nowhere") {
  const ScratchDirectory scratch;
  for (const std::string command :
       {"simulate zb-v -p 2 -m 4", "sweep zb-v 1f1b -p 2 -m 4 --cost F=1,B=2",
        "search -p 2 -m 4 --nodes 100 --simulations 50", "schedule zb-auto -p 2 -m 4 --cost F=1,I=1,W=1"}) {
    CAPTURE(command);
    const CommandResult plain = run_command("plumbline " + command, scratch.path());
    const CommandResult old = run_command("plumbline " + command + " --per-device", scratch.path());
    CHECK(plain.status == 0);
    CHECK(old.out == plain.out);
    CHECK(old.err == plain.err);
    const std::string help =
        run_command("plumbline " + command.substr(0, command.find(' ')) + " --help", scratch.path()).out;
    CHECK(help.find("--per-device") == std::string::npos);
    CHECK(help.find("--per-stage") != std::string::npos);
  }
  const std::string request = R"({"ask": "simulate", "schedule": "zb-v", "devices": 2, "microbatches": 4)";
  CHECK(ask(request + R"(, "per-device": true})") == ask(request + "}"));
  CHECK(ask(request + R"(, "per-stage": true})") != ask(request + "}"));
}

TEST_CASE("a search over any number of stages refuses costs of a stage, which would compare unequal work") {
  const ScratchDirectory scratch;
  const std::string search = "plumbline search -p 2 -m 4 --nodes 100 --simulations 50 --per-stage";
  const CommandResult refused = run_command(search, scratch.path());
  CHECK(refused.status == 2);
  CHECK(refused.err.find("search: --per-stage: orders of unlike numbers of stages would do unequal work") !=
        std::string::npos);
  CHECK(run_command(search + " -v 2", scratch.path()).status == 0);
}

TEST_CASE("an order that is decided at run time is refused where the run is too large") {
  const ScratchDirectory scratch;
  const CommandResult result =
      run_command("plumbline simulate 1f1b -p 65536 -m 100000 --order ready --cost F=1,B=2", scratch.path());
  CHECK(result.status == 2);
  CHECK(result.err.find("; expected at most 2147483648") != std::string::npos);
}

TEST_SUITE_END();
