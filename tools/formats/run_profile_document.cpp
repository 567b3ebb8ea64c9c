#include "tools/formats/run_profile_document.hpp"

#include <utility>

#include "sim/timeline/timeline_io.hpp"
#include "tools/formats/run_files.hpp"

namespace plumb {

std::optional<RunProfile> run_profile_in(std::string text, const std::string& path) {
  if (is_timeline(text)) return profile_of_timeline(std::move(text), path);
  if (is_run_profile(text, path)) return run_profile_from_json(text, path);
  return std::nullopt;
}

}  // namespace plumb
