#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/terminal/command_line.hpp"

namespace plumb {

/// Answers a request document with an answer document (both JSON; REQUESTS.md has their fields), without
/// printing anything or writing any file. The same question to the command of the same name has the same answer.
///
/// Throws `Error`, with the words of the command, for requests that cannot be understood and for input that is wrong.
/// An invalid schedule and a job that does not fit in memory are answers, with status 3.
std::string ask(std::string_view request);

/// The same into `answer`, whose memory is used again: for loops over large timelines, where fresh memory would take as
/// long as the simulation. Returns the exit status that a command would end with. After an `Error` `answer` is empty.
ExitStatus ask(std::string_view request, std::string& answer);

/// An answer document, and the exit status that a command would end with.
struct Reply {
  ExitStatus status = ExitStatus::kDone;
  std::string document;
};

/// The same as `ask`, for those who act on the status.
Reply reply_to(std::string_view request);

/// The questions, in alphabetical order.
std::vector<std::string_view> questions();

/// JSON Schema (draft 2020-12) of every request.
std::string schema_of_requests();

}  // namespace plumb
