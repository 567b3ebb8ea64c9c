#include "sim/shared_devices/job_bound.hpp"

#include <algorithm>
#include <limits>

namespace plumb {
namespace {

__extension__ using WideArea = __int128;

constexpr std::int64_t kNoChoice = -1;

/// Returns u(x) of a choice, in parts of which a node has k G: u_k for k = `steps`. For `steps` = 0, u(x) = x, in parts
/// of which a node has G.
std::int64_t weight_of(const JobChoice& choice, std::int64_t per_node, std::int64_t steps) {
  if (steps == 0) return choice.devices;
  if (choice.devices > per_node) return choice.devices / per_node * steps * per_node;
  const std::int64_t product = (steps + 1) * choice.devices;
  return product % per_node == 0 ? choice.devices * steps : product / per_node * per_node;
}

/// Returns the least weight times time of the choices that take no longer than `most_ns`; `kNoChoice` if there are
/// none.
template <class Weight>
WideArea least_area(const DeviceJob& job, std::int64_t most_ns, const Weight& weight) {
  WideArea least = kNoChoice;
  for (const JobChoice& choice : job.choices) {
    if (choice.time_ns > most_ns) continue;
    const WideArea area = static_cast<WideArea>(choice.time_ns) * weight(choice);
    if (least == kNoChoice || area < least) least = area;
  }
  return least;
}

/// Returns whether statement 1 holds for T = `until_ns`.
bool fits_into(const JobProblem& problem, std::int64_t until_ns, std::int64_t steps) {
  WideArea sum = 0;
  for (const DeviceJob& job : problem.jobs) {
    const WideArea area =
        least_area(job, until_ns, [&](const JobChoice& choice) { return weight_of(choice, problem.per_node, steps); });
    if (area == kNoChoice) return false;
    sum += area;
  }
  const WideArea scale = std::max<std::int64_t>(steps, 1) * problem.per_node;
  return sum <= scale * problem.nodes * until_ns;
}

}  // namespace

std::int64_t jobs_bound(const JobProblem& problem, std::int64_t known_ns) {
  std::int64_t bound = 0;
  for (std::int64_t steps = 0; steps <= problem.per_node; ++steps) {
    std::int64_t least = bound;
    std::int64_t most = known_ns;
    while (least < most) {
      const std::int64_t middle = least + (most - least) / 2;
      if (fits_into(problem, middle, steps)) {
        most = middle;
      } else {
        least = middle + 1;
      }
    }
    bound = least;
  }
  return bound;
}

bool has_room(const std::vector<std::int64_t>& free_ns, const std::vector<const DeviceJob*>& jobs, std::int64_t from_ns,
              std::int64_t until_ns) {
  WideArea room = 0;
  for (const std::int64_t free : free_ns) room += until_ns - std::max(free, from_ns);
  for (const DeviceJob* job : jobs) {
    const WideArea area = least_area(*job, until_ns - from_ns, [](const JobChoice& choice) { return choice.devices; });
    if (area == kNoChoice) return false;
    room -= area;
  }
  return room >= 0;
}

}  // namespace plumb
