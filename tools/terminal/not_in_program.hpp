#pragma once

#include <string>

#include "models/ground/error.hpp"

namespace plumb {

/// Something that another of our programs can do. The message names its target and the command that builds it.
class NotInProgram : public Error {
 public:
  /// `what` was asked for, which needs `part`; `command` is the command line that needs it, such as "train".
  NotInProgram(const std::string& what, const std::string& part, const std::string& command, std::string program)
      : Error(what + ": this program was built without " + part + "; `./plumbline " + command +
              "` in the source tree builds the program that has it (its target: " + program + ")"),
        program_(std::move(program)) {}

  /// The target of the program that can.
  const std::string& program() const { return program_; }

 private:
  std::string program_;
};

}  // namespace plumb
