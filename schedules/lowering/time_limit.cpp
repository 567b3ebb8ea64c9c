#include "schedules/lowering/time_limit.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "models/costs/time_limits.hpp"
#include "models/ground/error.hpp"
#include "schedules/program/waits.hpp"

namespace plumb {
namespace {

__extension__ using WideTicks = unsigned __int128;

/// A sum that stays where it is once it is far too large.
void add(WideTicks& sum, WideTicks count, WideTicks each) {
  constexpr WideTicks kFar = WideTicks{1} << 100U;
  if (each != 0 && count > kFar / each) {
    sum = kFar;
  } else {
    sum = std::min(kFar, sum + count * each);
  }
}

/// Sending on the narrowest part of the way, rounded up, and the latency.
WideTicks message_time(std::int64_t bytes, const Route& route, Timebase base) {
  const auto per_ns = static_cast<WideTicks>(base.ticks_per_ns);
  const WideTicks latency = static_cast<WideTicks>(route.latency_ns) * per_ns;
  if (route.bytes_per_s <= 0 || bytes <= 0) return latency;
  const auto rate = static_cast<WideTicks>(std::max(1.0, std::floor(std::min(route.bytes_per_s, 9e18))));
  return latency + static_cast<WideTicks>(bytes) * kTicksPerSecond * per_ns / rate + 1;
}

/// By how much actions can take longer than their time.
double most_slowdown(const Program& program) {
  constexpr double kMostDeviation = 3.5;    // of jitter: the largest draw, in standard deviations
  constexpr double kLeastFreeShare = 0.01;  // of a device's multiprocessors
  double jitter = 0;
  for (const DeviceSpec& device : program.device_specs) jitter = std::max(jitter, device.jitter);
  const Contention& contention = program.contention;
  double slower = 1;
  for (const Slowdown& slowdown : contention.slowdowns) {
    slower += slowdown.gamma.empty() ? 0 : std::max(0.0, std::ranges::max(slowdown.gamma));
  }
  double clock = 1;
  if (contention.clock) {
    for (const ClockPoint& point : contention.clock->points) clock = std::min(clock, point.clock);
  }
  const bool shared = contention.message_share > 0 || contention.collective_share > 0;
  return (1 + kMostDeviation * jitter) * slower / (clock * (shared ? kLeastFreeShare : 1));
}

std::string rounded(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

void check_sum(WideTicks sum, const Program& program, std::string_view name) {
  const double slower = most_slowdown(program);
  const bool fits = slower == 1.0 ? sum <= static_cast<WideTicks>(kMostRun)
                                  : static_cast<double>(sum) * slower <= static_cast<double>(kMostRun);
  if (fits) return;
  const auto ticks_per_ns = static_cast<double>(program.base.ticks_per_ns);
  const std::string ticks =
      program.base.ticks_per_ns == 1 ? "a ns" : "1/" + std::to_string(program.base.ticks_per_ns) + " ns";
  throw Error(std::string(name) + ": the actions, messages and collectives take " +
              rounded(static_cast<double>(sum) / ticks_per_ns) + " ns together" +
              (slower == 1.0 ? "" : ", and up to " + rounded(slower) + " times as long with jitter and contention") +
              "; expected at most " + rounded(static_cast<double>(kMostRun) / ticks_per_ns) + " ns (2^61 ticks of " +
              ticks + ")");
}

std::int64_t count_latencies(const Program& program) {
  return std::ranges::count(program.waits, Wait::kLatency, &Wait::via);
}

/// What the runtime takes at most.
WideTicks runtime_time(const Program& program) {
  const RuntimeTicks& runtime = program.runtime;
  if (!runtime.costs()) return 0;
  WideTicks sum = 0;
  add(sum, program.size(), static_cast<WideTicks>(std::ranges::max(runtime.host)));
  for (const CallTicks& call : runtime.calls) {
    add(sum, 1, static_cast<WideTicks>(std::max(call.send, call.send_posted)));
    add(sum, 1, static_cast<WideTicks>(call.receive));
  }
  return sum;
}

WideTicks exact_sum(const Program& program) {
  WideTicks sum = runtime_time(program);
  for (std::size_t i = 0; i < program.size(); ++i) {
    sum += static_cast<WideTicks>(program.durations[program.instrs[i].row]);
  }
  for (const Transfer& transfer : program.transfers) {
    add(sum, 1, message_time(transfer.bytes, program.channels[transfer.channel].route, program.base));
  }
  for (const Collective& collective : program.collectives) add(sum, 1, static_cast<WideTicks>(collective.duration));
  if (program.comm) add(sum, static_cast<WideTicks>(count_latencies(program)), static_cast<WideTicks>(*program.comm));
  return sum;
}

WideTicks longest_message(const Program& program) {
  std::vector<std::int64_t> most(program.channels.size(), 0);
  for (const Transfer& transfer : program.transfers) {
    most[transfer.channel] = std::max(most[transfer.channel], transfer.bytes);
  }
  WideTicks longest = 0;
  for (std::size_t channel = 0; channel < most.size(); ++channel) {
    longest = std::max(longest, message_time(most[channel], program.channels[channel].route, program.base));
  }
  return longest;
}

WideTicks longest_collective(const Program& program) {
  Ticks longest = 0;
  for (const Collective& collective : program.collectives) longest = std::max(longest, collective.duration);
  return static_cast<WideTicks>(longest);
}

/// What an op of a stage takes at most in a program, with the messages and latencies that it waits for.
class LongestSteps {
 public:
  explicit LongestSteps(const Program& program)
      : steps_(static_cast<std::size_t>(program.num_stages) * kOpCount),
        edge_(std::max(longest_message(program), static_cast<WideTicks>(program.comm.value_or(0)))),
        collective_(longest_collective(program)) {
    for (InstrIndex i = 0; i < program.size(); ++i) {
      const Instr& instr = program.instrs[i];
      Step& step = of(instr.action);
      step.action = std::max(step.action, program.durations[instr.row]);
      std::uint32_t edges = is_move(instr.action.op) ? 1 : 0;  // its copy
      for (const Wait& wait : waits_of(program, i)) edges += is_for_collective(wait) ? 0 : 1;
      step.edges = std::max(step.edges, edges);
    }
  }

  WideTicks of_action(const Action& action) {
    const Step& step = of(action);
    return static_cast<WideTicks>(step.action) + step.edges * edge_ + (joins_collective(action.op) ? collective_ : 0);
  }

 private:
  struct Step {
    Ticks action = 0;
    std::uint32_t edges = 0;
  };

  Step& of(const Action& action) {
    return steps_[index(action.stage) * kOpCount + static_cast<std::size_t>(action.op)];
  }

  std::vector<Step> steps_;  ///< by stage, then op
  WideTicks edge_;
  WideTicks collective_;
};

/// Calls `visit(action, times)` for every action of the list with the number of times that it runs.
template <class Visit>
void visit_with_counts(const DeviceList& list, Visit visit) {
  for (std::size_t at = 0; at < list.actions.size(); ++at) {
    WideTicks times = 1;
    for (const Repeat& repeat : list.repeats) {
      if (repeat.begin <= at && at < repeat.end) times *= static_cast<WideTicks>(repeat.count);
      times = std::min(times, WideTicks{1} << 64U);
    }
    visit(list.actions[at], times);
  }
}

}  // namespace

void check_time(const Program& program, std::string_view name) {
  WideTicks sum = runtime_time(program);
  const Ticks longest = program.durations.empty() ? 0 : std::ranges::max(program.durations);
  add(sum, program.size(), static_cast<WideTicks>(longest));
  add(sum, program.collectives.size(), longest_collective(program));
  if (program.comm) add(sum, program.waits.size(), static_cast<WideTicks>(*program.comm));
  add(sum, program.transfers.size(), longest_message(program));
  const bool surely = sum <= static_cast<WideTicks>(kMostRun) && most_slowdown(program) == 1.0;
  if (!surely) check_sum(exact_sum(program), program, name);
}

void check_time(const Schedule& schedule, const Program& program) {
  LongestSteps longest(program);
  WideTicks sum = 0;
  for (const DeviceList& list : schedule.devices) {
    visit_with_counts(list, [&](const Action& action, WideTicks times) { add(sum, times, longest.of_action(action)); });
  }
  check_sum(sum, program, "schedule '" + schedule.name + "'");
}

}  // namespace plumb
