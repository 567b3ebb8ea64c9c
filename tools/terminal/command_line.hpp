#pragma once

#include <string>
#include <vector>

namespace plumb {

/// What the program tells its caller.
enum class ExitStatus : int {
  kDone = 0,
  kOurFault = 1,    ///< a bug in Plumbline
  kWrongInput = 2,  ///< the user can fix it; one line on standard error said how
  kNo = 3,          ///< the question was understood and the answer is no; all findings were printed
};

/// Arguments after the name of the command.
using CommandLine = std::vector<std::string>;

}  // namespace plumb
