#pragma once

#include <string>
#include <string_view>

#include "models/ground/file_kinds.hpp"

namespace plumb {

/// Throws `Error` where the first bytes tell that a file is something else: "PATH: is a text schedule, expected WHAT".
void refuse_known_kind(std::string_view bytes, const std::string& path, std::string_view expected);

/// Throws `Error` unless `bytes` begin as JSON does, with what they are where that is known.
void require_json(std::string_view bytes, const std::string& path, std::string_view expected);

/// Throws `Error` for a picture of a timeline for Perfetto (--trace), which has too little in it: "PATH: is ...,
/// expected WHAT".
void refuse_picture(std::string_view bytes, const std::string& path, std::string_view expected);

/// Throws `Error` for what cannot be a schedule in any format.
void refuse_no_schedule(std::string_view bytes, const std::string& path);

/// Whether a file may be a schedule or a launch file: a document of a schedule, or a text that is no JSON and of no
/// other kind.
bool begins_as_schedule(std::string_view bytes);

/// `read_text_file`, where "-" is standard input. Throws `Error` for "-" where texts stand in for files (`GivenFiles`)
/// and none of them has that name: a request has no standard input, and that of its process is not its.
std::string read_named_input(const std::string& path, const FileKind& kind);

}  // namespace plumb
