#pragma once

#include <string_view>

namespace plumb {

/// Version of this program: "0.3.0" of a release, otherwise with the commit that it was built from,
/// "0.3.0+1a2b3c4d5e6f". The build writes it (tools/version.cmake).
extern const std::string_view kVersion;

}  // namespace plumb
