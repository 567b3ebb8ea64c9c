#include <fstream>
#include <iostream>

#include <plumbline/ask.hpp>
#include <plumbline/models.hpp>
#include <plumbline/reports.hpp>
#include <plumbline/schedules.hpp>
#include <plumbline/sim.hpp>

namespace {

/// A small plan, and a run that is compared with itself and with a slower one: as structs, and as documents.
bool plans_and_compares() {
  const std::string planned = plumb::ask(
      R"({"ask": "plan", "network": "gpt2-small", "cluster": "a100-1x2", "batch": 4, "schedule": ["1f1b"]})");
  if (planned.find("\"status\":0") == std::string::npos) return false;
  plumb::SimulateQuestion question;
  question.names = {"1f1b"};
  question.size.devices = 4;
  question.size.microbatches = 8;
  const plumb::Timeline run = plumb::PreparedJob(question).predict({.spans = true}).timeline;
  question.costs.cost = "F=2,B=2";
  const plumb::Timeline slower = plumb::PreparedJob(question).predict({.spans = true}).timeline;
  plumb::CompareQuestion bound;
  bound.max_error = "1%";
  return plumb::status_of(plumb::compare(run, run, bound.options())) == plumb::ExitStatus::kDone &&
         plumb::status_of(plumb::compare(run, slower, bound.options())) == plumb::ExitStatus::kNo;
}

}  // namespace

/// Simulates, draws and asks. Writes the picture to the given file.
int main(int, char** argv) {
  const plumb::Schedule schedule = plumb::generate("1f1b", {.num_devices = 4, .num_microbatches = 8});
  const plumb::StageCosts costs = plumb::abstract_costs("F=1,B=2", "", {.num_stages = schedule.num_stages});
  plumb::Timeline timeline = plumb::simulate(plumb::lower(schedule, costs));
  timeline.schedule = schedule.name;
  timeline.machine = "F=1,B=2";
  std::cout << plumb::to_ns(timeline.makespan, timeline.base) << '\n' << plumb::text_timeline(timeline);
  std::ofstream(argv[1]) << plumb::svg_report(timeline);
  const std::string answer = plumb::ask(R"({"ask": "simulate", "schedule": "1f1b", "devices": 4, "microbatches": 8})");
  if (answer.find("\"makespan_ns\":33000000") == std::string::npos) return 1;
  if (!plans_and_compares()) return 1;
  return plumb::to_ns(timeline.makespan, timeline.base) == 33'000'000 ? 0 : 1;  // (m + p - 1) x 3 ms
}
