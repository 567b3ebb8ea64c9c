#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"
#include "schedules/checks/check_runs.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/lowering/lower.hpp"
#include "sim/simulate.hpp"
#include "tests/support/reference_engine.hpp"

TEST_SUITE_BEGIN("sim");

namespace plumb::testing {
namespace {

constexpr std::array kEveryMode{TransferMode::kBuffered, TransferMode::kFifo,    TransferMode::kRendezvous,
                                TransferMode::kBlocking, TransferMode::kBatched, TransferMode::kPairFifo};

Action numbered(std::int32_t replica, std::int32_t stage, Op op, std::int64_t number) {
  Action action = action_of(stage, op, number);
  action.replica = ReplicaId{static_cast<std::int16_t>(replica)};
  return action;
}

/// Documents whose lists are one order of all work, then disturbed where the checks of the lists still pass.
class UnrunDocument {
 public:
  explicit UnrunDocument(std::uint64_t seed) : random_(seed) {
    schedule_.name = "random";
    schedule_.num_devices = pick(1, 3);
    schedule_.num_stages = pick(1, 4);
    replicas_ = pick(1, 2);
    per_update_ = replicas_ * pick(1, 3);
    updates_ = pick(1, 2);
    schedule_.num_microbatches = per_update_ * updates_;
    schedule_.microbatches_per_update = {per_update_};
    schedule_.placement.resize(static_cast<std::size_t>(replicas_));
    for (auto& stages : schedule_.placement) {
      for (std::int32_t stage = 0; stage < schedule_.num_stages; ++stage) stages.push_back({device()});
    }
    schedule_.devices.resize(static_cast<std::size_t>(schedule_.num_devices));
  }

  Schedule make() {
    for (std::int64_t update = 0; update < updates_; ++update) add_update(update);
    if (pick(0, 2) == 0) add_edge();
    const bool sends = pick(0, 2) == 0;
    if (sends) add_transfers();
    if (!check_document(schedule_).empty()) return schedule_;
    for (std::int32_t i = pick(0, 30); i > 0; --i) disturb();
    return schedule_;
  }

 private:
  std::int32_t pick(std::int32_t from, std::int32_t to) {
    return from + static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(to - from + 1));
  }
  DeviceId device() { return DeviceId{pick(0, schedule_.num_devices - 1)}; }

  std::vector<Action>& list_of(const Action& action) {
    return schedule_.devices[index(schedule_.placement[index(action.replica)][index(action.stage)][0])].actions;
  }

  /// The work of an update, passes in a random order that their values allow.
  void add_update(std::int64_t update) {
    struct Way {
      std::int32_t replica;
      std::int64_t microbatch;
      std::int32_t next;  // passes done
    };
    std::vector<Way> ways;
    for (std::int64_t m = update * per_update_; m < (update + 1) * per_update_; ++m) {
      ways.push_back({static_cast<std::int32_t>(m % replicas_), m, 0});
    }
    while (!ways.empty()) {
      Way& way = ways[static_cast<std::size_t>(pick(0, static_cast<std::int32_t>(ways.size()) - 1))];
      const std::int32_t stages = schedule_.num_stages;
      const bool forward = way.next < stages;
      const Action action = numbered(way.replica, forward ? way.next : 2 * stages - 1 - way.next,
                                     forward ? Op::kF : Op::kB, way.microbatch);
      list_of(action).push_back(action);
      if (++way.next == 2 * stages) ways.erase(ways.begin() + (&way - ways.data()));
    }
    for (const Op op : {Op::kReduceGrad, Op::kU}) {
      for (std::int32_t stage = 0; stage < schedule_.num_stages; ++stage) {
        for (std::int32_t replica = 0; replica < replicas_; ++replica) {
          const Action action = numbered(replica, stage, op, op == Op::kU ? update : -1);
          list_of(action).push_back(action);
        }
      }
    }
  }

  void add_edge() {
    const auto any = [&] {
      const auto& actions = schedule_.devices[index(device())].actions;
      return actions.empty()
                 ? Action{}
                 : actions[static_cast<std::size_t>(pick(0, static_cast<std::int32_t>(actions.size()) - 1))];
    };
    schedule_.extra_edges.push_back({any(), any()});
  }

  /// A send after every value for another device, and its receive before its consumer.
  void add_transfers() {
    for (std::size_t d = 0; d < schedule_.devices.size(); ++d) {
      std::vector<Action> with;
      for (const Action& action : schedule_.devices[d].actions) {
        const bool passes = action.op == Op::kF || action.op == Op::kB;
        const std::int32_t down = action.op == Op::kF ? 1 : -1;
        Action message = action;
        message.op = action.op == Op::kF ? Op::kRecvF : Op::kRecvB;
        if (passes && goes(action, -down)) with.push_back(message);
        with.push_back(action);
        message.op = action.op == Op::kF ? Op::kSendF : Op::kSendB;
        if (passes && goes(action, down)) with.push_back(message);
      }
      schedule_.devices[d].actions = with;
    }
  }

  bool goes(const Action& action, std::int32_t step) const {
    const std::int32_t other = static_cast<std::int32_t>(action.stage) + step;
    if (other < 0 || other >= schedule_.num_stages) return false;
    const auto& stages = schedule_.placement[index(action.replica)];
    return stages[static_cast<std::size_t>(other)] != stages[index(action.stage)];
  }

  /// Moves an action, or makes a pair of two, where the lists stay right in themselves.
  void disturb() {
    const Schedule before = schedule_;
    auto& actions = schedule_.devices[index(device())].actions;
    if (actions.size() < 2) return;
    const auto at = static_cast<std::size_t>(pick(0, static_cast<std::int32_t>(actions.size()) - 2));
    if (pick(0, 9) == 0) {
      actions[at].overlaps_next = 1;
    } else {
      const auto to = static_cast<std::size_t>(pick(0, static_cast<std::int32_t>(actions.size()) - 1));
      const Action moved = actions[at];
      actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(at));
      actions.insert(actions.begin() + static_cast<std::ptrdiff_t>(to), moved);
    }
    if (!check_document(schedule_).empty()) schedule_ = before;
  }

  std::mt19937_64 random_;
  Schedule schedule_;
  std::int32_t replicas_ = 1;
  std::int32_t per_update_ = 1;
  std::int32_t updates_ = 1;
};

/// Plays the lists of such a document by the words of its format, without a program: whether all devices come to their
/// end.
class ListPlay {
 public:
  explicit ListPlay(const Schedule& schedule) : schedule_(schedule) {
    for (const DeviceList& list : schedule.devices) {
      lists_.push_back(expand(list));
      for (const Action& action : lists_.back()) has_sends_ = has_sends_ || is_send(action.op);
    }
    next_.resize(lists_.size(), 0);
  }

  bool ends() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t d = 0; d < lists_.size(); ++d) moved = step(d) || moved;
    }
    for (std::size_t d = 0; d < lists_.size(); ++d) {
      if (next_[d] != lists_[d].size()) return false;
    }
    return true;
  }

 private:
  bool step(std::size_t d) {
    if (next_[d] == lists_[d].size()) return false;
    const std::size_t end = next_[d] + (lists_[d][next_[d]].overlaps_next ? 2 : 1);
    for (std::size_t at = next_[d]; at < end; ++at) {
      if (!ready(lists_[d][at], d)) return false;
    }
    for (; next_[d] < end; ++next_[d]) {
      const Action& action = lists_[d][next_[d]];
      done_.insert(to_string(action));
      if (action.op == Op::kReduceGrad) ++reduced_[index(action.stage)][index(action.replica)];
    }
    return true;
  }

  std::size_t holder(const Action& action) const {
    return index(schedule_.placement[index(action.replica)][index(action.stage)][0]);
  }

  bool has(Action needed, std::size_t device) const {
    if (has_sends_ && holder(needed) != device) needed.op = needed.op == Op::kF ? Op::kSendF : Op::kSendB;
    return done_.contains(to_string(needed));
  }

  bool ready(const Action& action, std::size_t device) {
    Action bare = action;
    bare.overlaps_next = 0;
    for (const ExtraEdge& edge : schedule_.extra_edges) {
      if (to_string(edge.after) == to_string(bare) && !done_.contains(to_string(edge.before))) return false;
    }
    const std::int32_t stage = static_cast<std::int32_t>(action.stage);
    Action needed = bare;
    if (action.op == Op::kF && stage > 0) {
      needed.stage = StageId{stage - 1};
      return has(needed, device);
    }
    if (action.op == Op::kB && stage + 1 < schedule_.num_stages) {
      needed.stage = StageId{stage + 1};
      return has(needed, device);
    }
    if (action.op != Op::kU || schedule_.placement.size() < 2) return true;
    for (std::size_t replica = 0; replica < schedule_.placement.size(); ++replica) {
      if (reduced_[index(action.stage)][replica] <= static_cast<std::int64_t>(action.microbatch)) return false;
    }
    return true;
  }

  const Schedule& schedule_;
  std::vector<std::vector<Action>> lists_;
  std::vector<std::size_t> next_;
  std::set<std::string> done_;
  std::array<std::array<std::int64_t, 2>, 4> reduced_{};
  bool has_sends_ = false;
};

/// Costs without meaning; with links, messages of some bytes.
StageCosts odd_costs(const Schedule& schedule, bool links) {
  StageCosts costs;
  for (std::int32_t stage = 0; stage < schedule.num_stages; ++stage) {
    StageTimes times;
    times.f = 3 + stage;
    times.b = 7;
    times.u = 2;
    times.all_reduce = 5;
    costs.times.push_back(times);
  }
  costs.memory.resize(costs.times.size());
  for (StageMemory& memory : costs.memory) memory.output_bytes = memory.input_grad_bytes = 4;
  if (!links) costs.comm = 0;
  return costs;
}

Cluster slow_cluster(std::int32_t devices) {
  Cluster cluster;
  cluster.devices.resize(static_cast<std::size_t>(devices));
  cluster.devices_per_node = devices;
  cluster.intra_node = {.latency_ns = 2, .bytes_per_s = 1e9};
  cluster.finish();
  return cluster;
}

/// Whether the simulator runs it; anything but "it cannot run" fails the test.
bool simulator_runs(const Schedule& schedule, const Cluster* cluster, const SimOptions& options) {
  try {
    simulate(lower(schedule, odd_costs(schedule, cluster != nullptr), cluster), options);
    return true;
  } catch (const CannotRun& error) {
    CHECK(std::string(error.what()).find("deadlock: ") != std::string::npos);
    return false;
  }
}

/// The same by the graph of moments, for a program that lowering could make.
bool graph_runs(const Schedule& schedule, const Cluster& cluster, TransferMode mode) {
  try {
    SimOptions options;
    options.transfers = mode;
    return run_longest_path(lower(schedule, odd_costs(schedule, true), &cluster), options).has_value();
  } catch (const CannotRun&) {
    return false;
  }
}

}  // namespace

TEST_CASE(
    "a random document is valid exactly when its lists can be played to their end, and then the simulator runs it") {
  int runs = 0;
  int deadlocks = 0;
  int with_sends = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    CAPTURE(seed);
    const Schedule schedule = UnrunDocument(seed).make();
    if (!check_document(schedule).empty()) continue;
    CAPTURE(lists_to_text(schedule));
    const bool ends = ListPlay(schedule).ends();
    const auto found = validate(schedule);
    REQUIRE(found.empty() == ends);
    const bool sends = lists_to_text(schedule).find("SEND") != std::string::npos;
    if (ends || !sends) CHECK(simulator_runs(schedule, nullptr, {}) == ends);
    ++(ends ? runs : deadlocks);
    with_sends += sends ? 1 : 0;
    if (ends) continue;
    REQUIRE(found.size() == 1);
    CHECK(found.front().reason.starts_with("deadlock: "));
  }
  CHECK(runs >= 300);
  CHECK(deadlocks >= 100);
  CHECK(with_sends >= 60);
}

TEST_CASE("a random document passes in a transfer mode exactly when the simulator runs it so") {
  int runs = 0;
  int only_in_some_modes = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    CAPTURE(seed);
    const Schedule schedule = UnrunDocument(seed).make();
    if (!validate(schedule).empty()) continue;
    CAPTURE(lists_to_text(schedule));
    const Cluster cluster = slow_cluster(schedule.num_devices);
    std::size_t passed = 0;
    for (const TransferMode mode : kEveryMode) {
      CAPTURE(static_cast<int>(mode));
      SimOptions options;
      options.transfers = mode;
      const bool passes = check_runs(schedule, std::array{mode}).empty();
      REQUIRE(passes == simulator_runs(schedule, &cluster, options));
      CHECK(passes == graph_runs(schedule, cluster, mode));
      passed += passes ? 1 : 0;
    }
    ++(passed == kEveryMode.size() ? runs : only_in_some_modes);
  }
  CHECK(runs >= 50);
  CHECK(only_in_some_modes >= 20);
}

TEST_CASE("a cycle that a finding names is closed: each of its clauses ends where the next one begins") {
  int checked = 0;
  for (std::uint64_t seed = 0; seed < 800; ++seed) {
    CAPTURE(seed);
    const Schedule schedule = UnrunDocument(seed).make();
    if (!check_document(schedule).empty()) continue;
    const auto found = check_runs(schedule, kEveryMode);
    for (const Violation& violation : found) {
      const std::string& reason = violation.reason;
      CAPTURE(reason);
      const std::string cycle = reason.substr(reason.find("deadlock: ") + 10);
      std::vector<std::string> clauses;
      for (std::size_t begin = 0; begin < cycle.size();) {
        const std::size_t end = std::min(cycle.find("; ", begin), cycle.size());
        clauses.push_back(cycle.substr(begin, end - begin));
        begin = end + 2;
      }
      for (std::size_t i = 0; i < clauses.size(); ++i) {
        const std::string& next = clauses[(i + 1) % clauses.size()];
        const std::size_t waits = next.find(" waits for ");
        if (waits == std::string::npos) continue;           // messages that wait for each other only
        const std::string subject = next.substr(0, waits);  // "0F1 on device 0"
        const std::string head = subject.substr(0, subject.rfind(" on device "));
        const bool ends_there = clauses[i].ends_with(" " + subject) || clauses[i].ends_with("comes after " + head) ||
                                head.starts_with("(");  // a pair waits with both members
        CHECK(ends_there);
        ++checked;
      }
    }
  }
  CHECK(checked >= 300);
}

}  // namespace plumb::testing

TEST_SUITE_END();
