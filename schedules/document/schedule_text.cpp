#include "schedules/document/action_text.hpp"
#include "schedules/document/schedule_io.hpp"

namespace plumb {

std::string schedule_to_text(const Schedule& schedule) {
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

}  // namespace plumb
