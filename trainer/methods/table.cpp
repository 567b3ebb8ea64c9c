#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>

#include "trainer/methods/kinds.hpp"

namespace plumb {
namespace {

struct Entry {
  std::string_view name;
  std::unique_ptr<Correction> (*make)(const CorrectionFacts&);
};

/// As the table of schedules/document/methods.cpp, without t3, which is in the order of the schedule.
constexpr std::array kRows{
    Entry{"t1", make_t1},
    Entry{"t2", make_t2},
    Entry{"spectrain", make_spectrain},
    Entry{"xpipe", make_xpipe},
    Entry{"pipeoptim", make_pipeoptim},
    Entry{"msnag", make_msnag},
    Entry{"lwp", make_lwp},
    Entry{"spike", make_spike},
    Entry{"adaptive-braking", make_adaptive_braking},
    Entry{"gap-aware", make_gap_aware},
    Entry{"dc-asgd", make_dc_asgd},
    Entry{"nesterov", make_nesterov},
    Entry{"adaptive-momentum", make_adaptive_momentum},
    Entry{"elastic", make_elastic},
    Entry{"wsp", make_wsp},
    Entry{"acco", make_acco},
};

}  // namespace

std::unique_ptr<Correction> make_correction(const CorrectionFacts& facts) {
  const auto entry = std::ranges::find(kRows, std::string_view(facts.method.name), &Entry::name);
  assert(entry != kRows.end() && "lowering refuses unknown methods");
  return entry->make(facts);
}

}  // namespace plumb
