#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "models/ground/named_option.hpp"
#include "schedules/catalogue/schedule_params.hpp"
#include "schedules/document/schedule.hpp"

namespace plumb {

/// Values that a search tries for an option of a schedule on `devices` with `microbatches`: all words; of numbers those
/// up to 64 (twice the devices where that is more), and larger divisors of the microbatches. None for options that
/// change the work, the devices of a stage, the copies of the model or only the effort of a schedule that is searched
/// itself, and for those whose values are lists.
std::vector<std::string> tried_values(const NamedOption& option, std::int64_t devices, std::int64_t microbatches);

/// A schedule of the catalogue, made for the sizes and the memory of a search.
struct CatalogueCandidate {
  std::string base;  ///< "gis v=4": its name and number of chunks, which all its variants share
  std::string name;  ///< "gis v=4 group=4"
  Schedule schedule;
};

/// The synchronous schedules of the catalogue whose devices do the passes of whole microbatches and nothing else
/// (schedules that move stashes to other memories need those, too), one after another: those over several chunks with
/// each number in `chunks`, and with the values of all their options and of combinations of options
/// (`tried_values`). `params.memory_limit` is that of searched schedules. What cannot have this size is left
/// out, and so is what has the same orders as another variant of the same schedule. Where the variants of a schedule
/// have more than a million passes together, the last ones are left out.
void each_catalogue_candidate(const ScheduleParams& params, const std::vector<std::int32_t>& chunks,
                              const std::function<void(CatalogueCandidate)>& use);

}  // namespace plumb
