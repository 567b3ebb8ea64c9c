#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/document/schedule.hpp"
#include "tools/advice/run_predictor.hpp"
#include "tools/formats/schedule_formats.hpp"

namespace plumb {

/// A schedule of the catalogue for as many devices as the run had: one pipeline, or several beside each other.
struct Candidate {
  std::string name;
  std::int32_t chunks = 0;    ///< as given to the generator; 0: its default
  std::int32_t replicas = 1;  ///< pipelines of devices / replicas ranks, each with its share of the microbatches
  bool for_costs = false;     ///< its order depends on the costs that it is made for
  bool is_run = false;        ///< the order that was run
  Schedule schedule;          ///< of one of the pipelines
  std::vector<std::string> also_called;  ///< other schedules of the catalogue that have the same order here
};

/// A schedule of the catalogue that was left out, and why.
struct UnfitSchedule {
  std::string name;
  std::string reason;
};

struct Candidates {
  std::vector<Candidate> found;         ///< every order once
  std::vector<UnfitSchedule> left_out;  ///< by the catalogue; with one pipeline of all devices
};

/// F, B, I and W of every device in their order, without what only the document says.
std::vector<std::vector<Action>> order_of(const Schedule& schedule);

/// All synchronous schedules of the catalogue that can be written in `format` for the devices and microbatches of
/// `run`, each with its own number of stages per device, and with two and four where it takes them. Where `predictor`
/// knows what a reduction of gradients takes, also with fewer pipeline ranks and the rest as replicas. Names of PyTorch
/// for schedules that have another name here are tried only where nothing else has the order of `run` (`torch-gpipe`).
Candidates find_candidates(const Schedule& run, const RunPredictor& predictor, const ScheduleFormat& format);

/// The order of `run` alone, by its name in the catalogue, or its own where it has none there.
Candidates own_candidate(const Schedule& run);

}  // namespace plumb
