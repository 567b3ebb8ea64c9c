#include <nlohmann/json.hpp>

#include "sim/comparison/ranking.hpp"

namespace plumb {

std::string ranking_to_json(const Ranking& ranking) {
  nlohmann::ordered_json json = {{"format", "plumbline-ranking"},
                                 {"version", 1},
                                 {"compared", ranking.compared},
                                 {"wrong", ranking.wrong},
                                 {"runs", nlohmann::ordered_json::array()},
                                 {"findings", ranking.findings}};
  for (const RankedRun& run : ranking.runs) {
    json["runs"].push_back({{"name", run.name},
                            {"predicted_ns", run.predicted_ns},
                            {"measured_ns", run.measured_ns.value},
                            {"low_ns", run.measured_ns.low},
                            {"high_ns", run.measured_ns.high},
                            {"steps", run.steps},
                            {"strays", run.strays},
                            {"error", run.error},
                            {"most_error", run.most_error},
                            {"idle_error", run.idle_error}});
  }
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace plumb
