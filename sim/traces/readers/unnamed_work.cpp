#include "sim/traces/readers/unnamed_work.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "sim/traces/readers/host_ranges.hpp"

namespace plumb {
namespace {

/// From the begin of the first to the end of the last of some calls.
struct CallExtent {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  bool any() const { return end_ns > begin_ns; }

  void add(const TraceRange& call) {
    if (!any()) begin_ns = call.start_ns;
    end_ns = std::max({end_ns, call.end_ns, begin_ns + 1});
  }
};

/// Calls that send or receive, with no operator between them.
struct Calls {
  CallExtent send;
  CallExtent receive;

  std::int64_t end_ns() const { return std::max(send.end_ns, receive.end_ns); }
};

/// Operators of one kind, with no call between them, and the calls around them.
struct Block {
  bool backward = false;
  Calls before;
  Calls behind;
  std::optional<UnnamedWork> longest;
};

/// What a range of the host means for the division into blocks.
enum class HostPart : std::uint8_t { kNothing, kSend, kReceive, kWait, kDivider, kForward, kBackward };

HostPart part_of(const TraceRange& range) {
  const std::string_view name = range.name;
  if (range.kind == RangeKind::kAnnotation && name.starts_with("Optimizer.")) return HostPart::kDivider;
  if (name == "c10d::send") return HostPart::kSend;
  if (name == "c10d::recv_") return HostPart::kReceive;
  if (name == "c10d::barrier") return HostPart::kDivider;
  if (range.kind == RangeKind::kAnnotation) return is_wait(range) ? HostPart::kWait : HostPart::kNothing;
  if (range.kind != RangeKind::kOperator) return HostPart::kNothing;
  return is_autograd(range) ? HostPart::kBackward : HostPart::kForward;
}

class BlockReader {
 public:
  std::vector<Block> read(const RankTrace& trace) {
    std::int64_t covered_until = 0;
    for (const TraceRange& range : trace.ranges) {
      const HostPart part = part_of(range);
      if (part == HostPart::kNothing) continue;
      if (part == HostPart::kSend || part == HostPart::kReceive) {
        add_call(range, part == HostPart::kSend);
        covered_until = std::max(covered_until, range.end_ns);  // record_param_comms runs inside
      } else if (part == HostPart::kWait) {
        close_run();
        ready_ns_ = std::max(ready_ns_.value_or(range.end_ns), range.end_ns);
      } else if (range.start_ns >= covered_until) {
        if (part == HostPart::kDivider) {
          close_run();
          ready_ns_.reset();
        } else {
          add_operator(range, part == HostPart::kBackward);
        }
        covered_until = range.end_ns;  // what an operator calls is part of it
      }
    }
    close_block();
    return std::move(blocks_);
  }

 private:
  void add_call(const TraceRange& range, bool send) {
    close_block();
    if (!in_calls_) calls_ = {};
    in_calls_ = true;
    (send ? calls_.send : calls_.receive).add(range);
    ready_ns_ = range.end_ns;
    if (!blocks_.empty() && !behind_is_set_) blocks_.back().behind = calls_;
  }

  void add_operator(const TraceRange& range, bool backward) {
    if (block_ && block_->backward != backward) close_block();
    if (!block_) {
      behind_is_set_ = true;
      block_ =
          Block{.backward = backward, .before = in_calls_ ? calls_ : Calls{}, .behind = {}, .longest = std::nullopt};
      in_calls_ = false;
    }
    if (!run_) {
      const std::int64_t start = std::min(ready_ns_.value_or(range.start_ns), range.start_ns);
      run_ = UnnamedWork{.backward = backward, .begin_ns = start, .start_ns = start, .end_ns = range.end_ns};
      ready_ns_.reset();
    }
    run_->end_ns = std::max(run_->end_ns, range.end_ns);
  }

  void close_run() {
    if (run_ && block_) {
      std::optional<UnnamedWork>& longest = block_->longest;
      if (!longest || run_->end_ns - run_->start_ns > longest->end_ns - longest->start_ns) longest = *run_;
    }
    run_.reset();
  }

  void close_block() {
    close_run();
    if (!block_) return;
    blocks_.push_back(*block_);
    block_.reset();
    behind_is_set_ = false;
  }

  std::vector<Block> blocks_;
  std::optional<Block> block_;
  std::optional<UnnamedWork> run_;
  std::optional<std::int64_t> ready_ns_;  ///< end of the last call or wait, when no operator ran since
  Calls calls_;
  bool in_calls_ = false;
  bool behind_is_set_ = true;  ///< the last block is no longer followed by calls only
};

/// Whether the rank is the first one of its pipeline, and the last one.
struct PipelineEnds {
  bool first = false;
  bool last = false;
};

/// Tells whether a rank is first or last. If it is not known, its first calls tell: the first rank sends before it
/// receives anything, the last one runs a backward before it sends anything. A process without calls is both.
PipelineEnds ends_of(const RankTrace& trace) {
  if (trace.rank != RankTrace::kUnknown) return {trace.rank == 0, trace.rank + 1 == trace.world_size};
  PipelineEnds ends{.first = true, .last = true};
  for (const TraceRange& range : trace.ranges) {
    const HostPart part = part_of(range);
    if (part == HostPart::kReceive) ends.first = false;
    if (part == HostPart::kSend) ends.last = false;
    if (part == HostPart::kSend || part == HostPart::kBackward) break;
  }
  return ends;
}

}  // namespace

std::vector<UnnamedWork> unnamed_work(const RankTrace& trace) {
  const auto [first, last] = ends_of(trace);
  if (first && last) return {};
  const HostRanges host(trace.ranges);
  std::vector<UnnamedWork> all;
  for (const Block& block : BlockReader().read(trace)) {
    const CallExtent& receive = block.before.receive;
    const CallExtent& send = block.behind.send;
    const bool forward = (first || receive.any()) && (last || send.any());
    if (!block.backward && !forward) continue;
    UnnamedWork work = *block.longest;
    if (receive.any()) work.begin_ns = std::min(block.before.end_ns(), work.start_ns);
    work.receive_begin_ns = receive.any() ? receive.begin_ns : work.begin_ns;
    work.receive_end_ns = receive.any() ? receive.end_ns : work.begin_ns;
    work.send_begin_ns = send.any() ? send.begin_ns : work.end_ns;
    work.send_end_ns = send.any() ? send.end_ns : work.end_ns;
    if (send.any()) work.send_waited_ns = host.send_waited(send.begin_ns, send.end_ns);
    all.push_back(work);
  }
  return all;
}

}  // namespace plumb
