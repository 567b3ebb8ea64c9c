#pragma once

#include <string>
#include <vector>

namespace plumb {

/// The exit status of the program.
enum class ExitStatus : int {
  kDone = 0,
  kOurFault = 1,    ///< a bug in Plumbline
  kWrongInput = 2,  ///< the user can fix it; one line on standard error says how
  kNo = 3,          ///< the answer to the question is no; all findings were printed
  kNoAnswer = 4,    ///< what was measured is too noisy to answer the question
};

/// The arguments after the name of the command.
using CommandLine = std::vector<std::string>;

}  // namespace plumb
