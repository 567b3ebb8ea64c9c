#include <algorithm>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/action_text.hpp"
#include "schedules/document/json_fields.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/text_defaults.hpp"

namespace plumb {
namespace {

/// A line for everything that the lists do not tell.
std::string header(const Schedule& schedule) {
  Schedule told;
  told.devices = schedule.devices;
  fill_text_defaults(told);
  const auto known = json_fields(told);
  std::string text;
  for (const auto& field : json_fields(schedule)) {
    const bool is_told = field.first != "name" && std::find(known.begin(), known.end(), field) != known.end();
    if (!is_told) text += field.first + ": " + field.second + '\n';
  }
  return text;
}

}  // namespace

std::string lists_to_text(const Schedule& schedule) {
  std::string text;
  for (std::size_t device = 0; device < schedule.devices.size(); ++device) {
    text += 'd' + std::to_string(device) + ':';
    const std::vector<Action> actions = expand(schedule.devices[device]);
    for (std::size_t at = 0; at < actions.size();) {
      text += ' ';
      at = append_item(text, actions, at);
    }
    text += '\n';
  }
  return text;
}

std::string schedule_to_text(const Schedule& schedule) {
  if (schedule.policy) {
    throw Error(
        "schedule '" + schedule.name +
        "' cannot be written as text: it has a run-time policy instead of lists; expected json, or the lists of "
        "one run");
  }
  return header(schedule) + lists_to_text(schedule);
}

}  // namespace plumb
