#pragma once

#include <array>
#include <string_view>

namespace plumb {

/// What `reproduce` leaves to the program of the studies (tools/studies): each fills a folder of results/. The launcher
/// knows them, too.
inline constexpr std::array<std::string_view, 3> kStudyNames{"pipemare", "planners", "public"};

}  // namespace plumb
