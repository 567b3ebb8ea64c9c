#pragma once

#include <string>

#include "models/ground/file_kinds.hpp"

namespace plumb {

/// `read_text_file`, where "-" is standard input. Throws `Error` for "-" where texts stand in for files (`GivenFiles`)
/// and none of them has that name: a request has no standard input, and that of its process is not its.
std::string read_named_input(const std::string& path, const FileKind& kind);

}  // namespace plumb
