#include "schedules/catalogue/generate_as.hpp"

#include <string>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"

namespace plumb {

Schedule generate_as(std::string_view name, std::string_view of, const ScheduleParams& params) {
  try {
    Schedule schedule = generate(of, params);
    schedule.name = name;
    return schedule;
  } catch (const Error& error) {
    const std::string message = error.what();
    const std::string prefix = std::string(of) + ": ";
    if (!message.starts_with(prefix)) throw;
    throw Error(std::string(name) + ": " + message.substr(prefix.size()));
  }
}

}  // namespace plumb
