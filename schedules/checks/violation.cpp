#include "schedules/checks/violation.hpp"

namespace plumb {

std::string to_string(const Violation& violation) {
  std::string text =
      "device " + std::to_string(index(violation.device)) + ", position " + std::to_string(violation.position) + ": ";
  if (!violation.action.empty()) text += violation.action + ": ";
  return text + violation.reason;
}

}  // namespace plumb
