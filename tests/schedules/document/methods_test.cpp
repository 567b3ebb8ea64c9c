#include "schedules/document/methods.hpp"

#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "models/ground/text_file.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/versions/synchronous_phase.hpp"
#include "tests/support/source_directory.hpp"
#include "tests/support/versions_read.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb {
namespace {

Schedule pipemare(std::int64_t m, std::int64_t updates, std::map<std::string, std::string> options = {}) {
  options.emplace("timing", "1f1b");
  return generate("pipemare",
                  {.num_devices = 4, .num_microbatches = m, .updates = updates, .options = std::move(options)});
}

std::vector<std::vector<Action>> lists(const Schedule& schedule) {
  std::vector<std::vector<Action>> lists;
  for (const DeviceList& list : schedule.devices) lists.push_back(expand(list));
  return lists;
}

}  // namespace

TEST_CASE("a list of methods is read with commas or colons between parameters, and written back") {
  const std::vector<Method> methods = parse_methods("t1:K=100,t2:D=0.135,t3:updates=40");
  CHECK(methods == std::vector<Method>{{"t1", {{"K", 100}}}, {"t2", {{"D", 0.135}}}, {"t3", {{"updates", 40}}}});
  CHECK(to_string(methods) == "t1:K=100,t2:D=0.135,t3:updates=40");
  CHECK(parse_methods("t2,t1:K=3") == std::vector<Method>{{"t2", {}}, {"t1", {{"K", 3}}}});
  CHECK(parse_methods("").empty());
}

TEST_CASE("methods that nobody knows, and values out of bounds, are refused in one line") {
  const auto refused = [](const char* text, const char* message) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_methods(text), doctest::Contains(message), Error);
  };
  refused("t4", "unknown method 't4'; expected one of: t1 t2 t3 spectrain");
  refused("t2:E=1", "unknown parameter of t2 'E'; expected one of: D");
  refused("t2:D=2", "method 't2:D=2': expected a number from 0 to 1");
  refused("t2:D=x", "method 'D=x': expected a number after '='");
  refused("t2:D", "method 't2:D': expected NAME=NUMBER after ':'");
  refused("t2:D=0.1:D=0.2", "method 't2': expected parameter 'D' only once");
  refused("t1:K=-1", "method 't1:K=-1': expected a number from 0 to ");
}

TEST_CASE("methods go where they belong: what is not stale, or keeps its weights, needs no correction") {
  const auto refused = [](const char* schedule, const char* methods, const char* message) {
    CAPTURE(schedule);
    CAPTURE(methods);
    const Schedule of = generate(schedule, {.num_devices = 4, .num_microbatches = 4});
    CHECK_THROWS_WITH_AS(with_methods(of, methods), message, Error);
  };
  refused("gpipe", "t1", "schedule 'gpipe': method t1: nothing is stale; expected an asynchronous schedule");
  refused("pipedream", "t2",
          "schedule 'pipedream': method t2: a backward reads the weights of its forward already; expected the policy "
          "latest");
  refused(
      "pipemare", "t2,pipeoptim",
      "schedule 'pipemare': method t2: and pipeoptim contradict each other: one predicts what the other takes for the "
      "newest weights; expected one of them");
  refused("pipemare", "lwp,msnag",
          "schedule 'pipemare': method lwp: and msnag both choose the weights of forwards; expected one of them");
  refused(
      "pipedream", "xpipe",
      "schedule 'pipedream': method xpipe: a backward reads the weights of its forward already; expected the policy "
      "latest");
  refused("pipemare", "pipeoptim,t2",
          "schedule 'pipemare': method pipeoptim: and t2 contradict each other: one predicts what the other takes for "
          "the newest weights; expected one of them");
  refused("pipemare", "t2,xpipe",
          "schedule 'pipemare': method t2: and xpipe both choose the weights of backwards; expected one of them");
  refused("pipemare", "t1,t1", "schedule 'pipemare': method t1: is named twice; expected once");
  CHECK(with_methods(generate("pipedream", {.num_devices = 4, .num_microbatches = 1}), "t1").weights.methods.size() ==
        1);
}

TEST_CASE("methods that choose different weights go together, in either order") {
  const Schedule of = generate("pipemare", {.num_devices = 4, .num_microbatches = 4});
  for (const char* pair : {"t1,t2", "t2,t1", "t1,lwp", "lwp,t1", "t2,nesterov", "nesterov,t2", "pipeoptim,spike",
                           "spike,pipeoptim", "xpipe,t1", "t1,xpipe", "gap-aware,t2", "t2,gap-aware"}) {
    CAPTURE(pair);
    CHECK(with_methods(of, pair).weights.methods.size() == 2);
  }
}

TEST_CASE("released pipeoptim looks one backward further, released spectrain at its own, published numbers stay") {
  const auto ahead = [](const char* timing, std::int64_t m, const char* method) {
    return with_methods(
               generate("pipemare", {.num_devices = 4, .num_microbatches = m, .options = {{"timing", timing}}}), method)
        .weights.prediction;
  };
  using Steps = std::vector<std::int32_t>;
  CHECK(ahead("1f1b", 1, "pipeoptim").forward == Steps{3, 2, 1, 0});
  CHECK(ahead("1f1b", 1, "pipeoptim:released=1").forward == Steps{4, 3, 2, 1});
  CHECK(ahead("1f1b", 1, "pipeoptim:released=1").backward == Steps{0, 0, 0, 0});
  CHECK(ahead("1f1b", 1, "spectrain:released=1").forward == Steps{3, 2, 1, 0});
  CHECK(ahead("1f1b", 1, "spectrain:released=1").backward.empty());
  CHECK(ahead("1f1b", 1, "spectrain").forward == Steps{3, 2, 2, 1});  // r/2 + p - r - 1
  CHECK(ahead("1f1b", 1, "spectrain").backward == Steps{0, 0, 1, 1});
  CHECK(ahead("slots", 1, "spectrain").forward == Steps{3, 3, 3, 3});  // r more than its own backward
  CHECK(ahead("slots", 1, "spectrain").backward == Steps{0, 1, 2, 3});
  CHECK(ahead("slots", 1, "spectrain:published=1").forward == Steps{3, 2, 2, 1});
  CHECK_FALSE(ahead("slots", 1, "spectrain").once_per_update);
  // XPipe, two microbatches: round((p + m - r/2 - 2) / m) and round((m + floor(r/2) - 1) / m), halves to even.
  CHECK(ahead("1f1b", 2, "xpipe").forward == Steps{2, 2, 2, 1});
  CHECK(ahead("1f1b", 2, "xpipe").backward == Steps{0, 0, 1, 1});
  CHECK(ahead("1f1b", 2, "xpipe").once_per_update);
  // In slots: round((2 p - 2 - r + m) / m) and round((r + m - 1) / m).
  CHECK(ahead("slots", 2, "xpipe").forward == Steps{4, 4, 3, 2});
  CHECK(ahead("slots", 2, "xpipe").backward == Steps{0, 1, 2, 2});
}

TEST_CASE("a synchronous phase before pipemare is its own option, list by list") {
  for (const std::string timing : {"1f1b", "slots"}) {
    for (const std::int64_t m : {1, 2, 3}) {
      CAPTURE(timing);
      CAPTURE(m);
      const Schedule with = with_methods(pipemare(m, 9, {{"timing", timing}}), "t3:updates=4");
      const Schedule own = pipemare(m, 9, {{"timing", timing}, {"synchronous", "4"}});
      CHECK(lists(with) == lists(own));
      CHECK(with.weights.phases == own.weights.phases);
      CHECK(with.weights.methods.empty());
    }
  }
}

TEST_CASE("every asynchronous schedule without exchanges takes a synchronous phase and stays valid") {
  std::size_t taken = 0;
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    if (spec.synchronous) continue;
    CAPTURE(spec.name);
    const Schedule schedule =
        generate(spec.name, {.num_devices = 4, .num_microbatches = 4, .updates = 5, .options = {}});
    if (spec.name == "hetpipe") {
      CHECK_THROWS_AS(with_synchronous_phase(schedule, 2), Error);
      continue;
    }
    const Schedule with = with_synchronous_phase(schedule, 2);
    CHECK(validate(with).empty());
    const testing::VersionsRead reads = testing::versions_read(with);
    for (const auto& [key, version] : reads.forward) {
      const std::int64_t update = key.first / with.per_update(StageId{static_cast<std::int32_t>(key.second)});
      if (update < 2) CHECK(version == update);
    }
    ++taken;
  }
  CHECK(taken > 10);
}

TEST_CASE("a predicting method on another schedule is the schedule of that name, but for the name") {
  for (const std::string name : {"spectrain", "xpipe", "pipeoptim"}) {
    CAPTURE(name);
    Schedule own = generate(name, {.num_devices = 4, .num_microbatches = 2, .updates = 6});
    const Schedule with = with_methods(pipemare(2, 6), name);
    CHECK(with.weights == own.weights);
    CHECK(lists(with) == lists(own));
  }
}

TEST_CASE("an update that looks back keeps the weights of its forwards, and wants them to be of one version") {
  const auto kept = [](const Schedule& schedule) { return testing::lowered(schedule).kept_versions.size(); };
  const Schedule late = pipemare(1, 8);
  CHECK(kept(late) == 0);
  CHECK(kept(with_methods(late, "dc-asgd")) ==
        kept(generate("pipedream", {.num_devices = 4, .num_microbatches = 1, .updates = 8})));
  CHECK_THROWS_WITH_AS(testing::lowered(with_methods(pipemare(2, 8), "gap-aware")),
                       doctest::Contains("would read versions"), Error);
}

TEST_CASE("every method has its row in METHODS.md, and all that documents hold are in the schema") {
  const std::string table = read_text_file(testing::in_source("schedules/document/METHODS.md"));
  const std::string schema = read_text_file(testing::in_source("schedules/schedule.schema.json"));
  REQUIRE(table.size() > 1000);
  for (const MethodSpec& spec : method_catalogue()) {
    const std::string name(spec.name);
    CAPTURE(name);
    const bool has_row =
        table.find("\n| `" + name + "`") != std::string::npos || table.find("\n| `" + name + ":") != std::string::npos;
    CHECK(has_row);
    CHECK((schema.find("\"" + name + "\"") != std::string::npos) == (name != "t3"));
  }
}

TEST_CASE("methods stand in the document") {
  const Schedule schedule = with_methods(pipemare(2, 6), "t1:K=2.5,t2");
  const std::string text = schedule_to_json(schedule);
  CHECK(text.find("\"methods\": [{\"name\": \"t1\", \"parameters\": {\"K\": 2.5}}, {\"name\": \"t2\"}]") !=
        std::string::npos);
  CHECK(schedule_from_json(text, "document") == schedule);
}

}  // namespace plumb

TEST_SUITE_END();
