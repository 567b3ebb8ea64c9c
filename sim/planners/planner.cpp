#include "sim/planners/planner.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "models/ground/error.hpp"

namespace plumb {

// Each is described and made in the source of its name.
Planner gpipe_planner();
Planner pipedream_planner();
Planner pipedream_program_planner();
Planner pipe_torch_planner();
Planner torchgpipe_planner();
Planner bapipe_planner();
Planner hetpipe_planner();
Planner baechi_planner();
Planner dnn_partitioning_planner();
Planner piper_planner();
Planner dapple_planner();
Planner pipedream_2bw_planner();
Planner alpa_planner();
Planner varuna_planner();
Planner whale_planner();
Planner spp_planner();
Planner autopipe_planner();
Planner galvatron_planner();
Planner osdp_planner();
Planner petals_planner();
Planner oobleck_planner();
Planner dynapipe_planner();
Planner diffusionpipe_planner();
Planner autopipe_dynamic_planner();
Planner slicegraph_planner();
Planner ravnest_planner();
Planner helix_planner();

std::span<const Planner> planners() {
  static const std::array all{gpipe_planner(),      pipedream_planner(),     pipedream_program_planner(),
                              pipe_torch_planner(), torchgpipe_planner(),    bapipe_planner(),
                              hetpipe_planner(),    baechi_planner(),        dnn_partitioning_planner(),
                              piper_planner(),      dapple_planner(),        pipedream_2bw_planner(),
                              alpa_planner(),       varuna_planner(),        whale_planner(),
                              spp_planner(),        autopipe_planner(),      galvatron_planner(),
                              osdp_planner(),       petals_planner(),        oobleck_planner(),
                              dynapipe_planner(),   diffusionpipe_planner(), autopipe_dynamic_planner(),
                              slicegraph_planner(), ravnest_planner(),       helix_planner()};
  return all;
}

const Planner& find_planner(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Planner& planner : planners()) {
    if (planner.name == name) return planner;
    names.push_back(planner.name);
  }
  throw_unknown("planner", name, names);
}

Plan make_plan(const Planner& planner, const PlanProblem& problem) {
  check_problem(problem);
  check_options(planner.options, problem.options, "option of " + std::string(planner.name));
  return planner.plan(problem);
}

}  // namespace plumb
