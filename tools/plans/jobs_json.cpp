#include <nlohmann/json.hpp>

#include "tools/plans/jobs_answer.hpp"

namespace plumb {

std::string jobs_json(const JobsAnswer& answer) {
  const JobSchedule& best = answer.schedule.best;
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (std::size_t job = 0; job < answer.problem.jobs.size(); ++job) {
    const JobPlace& place = best.places[job];
    nlohmann::ordered_json choices = nlohmann::ordered_json::array();
    for (const JobPlan& plan : answer.plans[job]) {
      choices.push_back({{"devices", plan.choice.devices}, {"time_ns", plan.choice.time_ns}, {"plan", plan.plan}});
    }
    nlohmann::ordered_json one{{"name", answer.problem.jobs[job].name},
                               {"devices", place.devices},
                               {"start_ns", place.start_ns},
                               {"end_ns", place.end_ns},
                               {"plan", answer.chosen(job).plan},
                               {"choices", std::move(choices)}};
    if (const std::string& command = answer.chosen(job).command; !command.empty()) one["simulate"] = command;
    if (answer.shards) one["shards_end_ns"] = answer.shards->end_ns[job];
    jobs.push_back(std::move(one));
  }
  nlohmann::ordered_json simple = nlohmann::ordered_json::array();
  for (const SimpleJobRule& rule : answer.schedule.simple) {
    simple.push_back({{"rule", rule.name}, {"makespan_ns", rule.schedule.makespan_ns}});
  }
  nlohmann::ordered_json document{{"format", "plumbline-job-schedule"},
                                  {"version", 1},
                                  {"cluster", answer.cluster},
                                  {"nodes", answer.problem.nodes},
                                  {"devices_per_node", answer.problem.per_node},
                                  {"makespan_ns", best.makespan_ns},
                                  {"bound_ns", answer.schedule.bound_ns},
                                  {"proved", answer.schedule.proved()},
                                  {"jobs", std::move(jobs)},
                                  {"simple", std::move(simple)}};
  if (answer.shards) {
    document["shards"] = {{"makespan_ns", answer.shards->makespan_ns},
                          {"bound_ns", answer.shards->bound_ns},
                          {"loading_ns", answer.shards->loading_ns}};
  }
  return document.dump(1) + "\n";
}

}  // namespace plumb
