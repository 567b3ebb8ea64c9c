#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// A schedule of the catalogue, made for the sizes and the memory of a search.
struct CatalogueCandidate {
  std::string name;  ///< "1f1b limit=3"
  Schedule schedule;
};

/// The synchronous schedules of the catalogue with one copy of every stage, whose devices do the passes of whole
/// microbatches and nothing else (schedules that move stashes to other memories need those, too). Those with an option
/// `limit` also with `most_kept` (0: not), `zb-v` also searched. What cannot have this size is left out.
std::vector<CatalogueCandidate> catalogue_candidates(const ScheduleParams& params, std::int64_t most_kept);

}  // namespace plumb
