#pragma once

#include <cstdint>

namespace plumb {

/// PipeDream's time of a stage whose parts each need `inside_ns`, replicated on `parts` of them: the slower of compute
/// and weight synchronisation, shared by all (SOSP 2019, section 3.1).
double pipedream_stage_ns(double inside_ns, std::int64_t parameter_bytes, std::int32_t parts, double bytes_per_s);

}  // namespace plumb
