#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schedules/checks/validate.hpp"
#include "tools/terminal/command_line.hpp"

namespace plumb {

/// An answer document while it is made. Parts are JSON, in the order in which they were added.
class AnswerDocument {
 public:
  ExitStatus status = ExitStatus::kDone;
  std::vector<std::string> findings{};
  std::string command{};  ///< that asks the same

  /// `document` is JSON already.
  void add_json(std::string_view name, std::string_view document);
  void add_text(std::string_view name, std::string_view text);
  /// Makes the answer a no, with every violation as a line and as an object with device, position, action and reason.
  void refuse(const std::string& where, const std::vector<Violation>& violations);

  /// `notes`: lines that a command would print beside its answer.
  std::string text(const std::vector<std::string>& notes) const;

 private:
  std::string parts_;
};

}  // namespace plumb
