#pragma once

#include "sim/planners/plan.hpp"
#include "sim/planners/problem.hpp"

namespace plumb {

/// The functions of the rows of `planners()`; each is described where it is defined. They expect a checked problem.
Plan plan_pipedream(const PlanProblem& problem);
Plan plan_pipedream_program(const PlanProblem& problem);
Plan plan_dnn_partitioning(const PlanProblem& problem);
Plan plan_piper(const PlanProblem& problem);
Plan plan_torchgpipe(const PlanProblem& problem);
Plan plan_hetpipe(const PlanProblem& problem);
Plan plan_dapple(const PlanProblem& problem);
Plan plan_pipedream_2bw(const PlanProblem& problem);
Plan plan_alpa(const PlanProblem& problem);
Plan plan_autopipe(const PlanProblem& problem);
Plan plan_varuna(const PlanProblem& problem);
Plan plan_slicegraph(const PlanProblem& problem);
Plan plan_gpipe(const PlanProblem& problem);
Plan plan_pipe_torch(const PlanProblem& problem);
Plan plan_bapipe(const PlanProblem& problem);
Plan plan_spp(const PlanProblem& problem);
Plan plan_galvatron(const PlanProblem& problem);
Plan plan_dynapipe(const PlanProblem& problem);
Plan plan_diffusionpipe(const PlanProblem& problem);
Plan plan_autopipe_dynamic(const PlanProblem& problem);
Plan plan_baechi(const PlanProblem& problem);
Plan plan_whale(const PlanProblem& problem);
Plan plan_osdp(const PlanProblem& problem);
Plan plan_oobleck(const PlanProblem& problem);
Plan plan_petals(const PlanProblem& problem);
Plan plan_ravnest(const PlanProblem& problem);
Plan plan_helix(const PlanProblem& problem);

}  // namespace plumb
