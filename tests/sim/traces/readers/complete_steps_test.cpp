#include "sim/traces/readers/complete_steps.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "sim/traces/traced_run.hpp"
#include "tests/sim/traces/trace_text.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("sim");

using namespace plumb;
using Json = nlohmann::json;

namespace {

using Kept = std::function<bool(const Json& event)>;

/// The ranges of a real run that `kept` keeps.
std::vector<TraceFile> thinned(const std::string& folder, const Kept& kept) {
  std::vector<TraceFile> files;
  for (const TraceFile& file : testing::real_run(folder)) {
    Json rank = Json::parse(testing::unpacked(file));
    Json events = Json::array();
    for (const Json& event : rank.at("traceEvents")) {
      if (event.at("ph") != "X" || kept(event)) events.push_back(event);
    }
    rank["traceEvents"] = std::move(events);
    files.push_back({file.name, rank.dump()});
  }
  return files;
}

/// What lies in a share of the time of the whole trace: of two steps.
std::vector<TraceFile> cut_to(const std::string& folder, double from, double to) {
  double first = 1e18;
  double last = 0;
  thinned(folder, [&](const Json& event) {
    first = std::min(first, event.at("ts").get<double>());
    last = std::max(last, event.at("ts").get<double>());
    return false;
  });
  return thinned(folder, [&, length = last - first](const Json& event) {
    const double begin = event.at("ts");
    return begin >= first + from * length && begin + event.at("dur").get<double>() <= first + to * length;
  });
}

std::string refusal_of_steps(std::vector<TraceFile> files) {
  return testing::error_message([&] { read_traced_run(std::move(files)); });
}

/// Of both steps everything but what is called so.
Kept without(const std::string& name) {
  return [name](const Json& event) { return event.at("name") != name; };
}

}  // namespace

TEST_CASE("real traces that are shorter than a step are refused with what is missing") {
  CHECK(refusal_of_steps(cut_to("zb-h1", 0, 0.3)).find("expected at least one whole step") != std::string::npos);
  CHECK(refusal_of_steps(cut_to("zb-h1", 0.9, 1)).find("expected at least one whole step") != std::string::npos);
  CHECK(refusal_of_steps(cut_to("class-gpipe", 0, 0.3)).find("expected at least one whole step") != std::string::npos);
  CHECK(refusal_of_steps(cut_to("class-gpipe", 0.6, 1)).find("expected at least one whole step") != std::string::npos);
}

TEST_CASE("real traces that lie between two steps are no step, though every action occurs once") {
  for (const char* run : {"zb-h1", "class-gpipe"}) {
    CAPTURE(run);
    CHECK(refusal_of_steps(cut_to(run, 0.2, 0.6)).find("expected at least one whole step") != std::string::npos);
  }
}

TEST_CASE("an action that is missing in every step of a real trace is named with its file") {
  CHECK(refusal_of_steps(thinned("zb-h1", without("PP:2F3"))) ==
        "rank2: has a backward, but not the forward '2F3' in step 0; expected at least one whole step: trace from one "
        "step's begin to another's end");
  CHECK(refusal_of_steps(thinned("zb-h1", without("PP:2W3"))).starts_with("rank2: has '2I3', but not '2W3' in step 0"));
  CHECK(refusal_of_steps(thinned("zb-h1", without("PP:2I3"))).starts_with("rank2: has '2W3', but not '2I3' in step 0"));
  const Kept no_third = [](const Json& event) {
    const std::string name = event.at("name");
    return name != "PP:2F3" && name != "PP:2I3" && name != "PP:2W3";
  };
  CHECK(refusal_of_steps(thinned("zb-h1", no_third))
            .starts_with("rank2: lacks '2F3', which other stages run, in step 0"));
}

TEST_CASE("runs that only infer have whole steps of forwards, and a stage without I has W alone") {
  const auto named = [](const Json& event, const char* ops) {
    const std::string name = event.at("name");
    return name.starts_with("PP:") && name.find_first_of(ops) != std::string::npos;
  };
  const TracedRun forwards = read_traced_run(thinned("zb-h1", [&](const Json& event) { return !named(event, "IWB"); }));
  CHECK(forwards.step_ns.size() == 2);
  const TracedRun no_input = read_traced_run(thinned("zb-h1", [&](const Json& event) {
    return !(named(event, "I") && event.at("name").get<std::string>().starts_with("PP:0I"));
  }));
  CHECK(no_input.step_ns.size() == 2);
}

TEST_SUITE_END();
