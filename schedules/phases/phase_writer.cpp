#include "schedules/phases/phase_writer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/reader_limits.hpp"
#include "schedules/catalogue/list_builder.hpp"
#include "schedules/phases/phase_passes.hpp"

namespace plumb {
namespace {

/// Chunks in turn, again and again.
class ChunkStream {
 public:
  /// Where a pass stands in it.
  struct Place {
    std::int64_t chunk = 0;
    std::int64_t run = 0;  ///< passes of this chunk from here on
  };

  /// There are no chunks yet, and no passes.
  void clear() {
    taken_ = {};
    ends_.clear();
    chunks_.clear();
    full_ = kEndless;
    last_run_ = 0;
  }
  void add(std::int64_t chunk, std::int64_t count) {
    if (count <= 0) return;
    ends_.push_back(period() + count);
    chunks_.push_back(chunk);
  }
  /// There are so many of each chunk; the last round may be shorter than the others, its runs alike.
  void end_after(std::int64_t each, std::int64_t run) {
    full_ = each / run * period();
    last_run_ = each % run;
  }

  /// Whether all passes are of one chunk.
  bool constant() const { return std::ranges::count(chunks_, chunks_.front()) == std::ssize(chunks_); }
  bool empty() const { return ends_.empty(); }
  std::int64_t period() const { return ends_.empty() ? 0 : ends_.back(); }
  /// Passes that stand in rounds of full length.
  std::int64_t full() const { return full_; }

  Place at(std::int64_t number) const {
    if (number >= full_ && last_run_ > 0) {
      const std::int64_t inside = (number - full_) % (last_run_ * static_cast<std::int64_t>(chunks_.size()));
      return {chunks_[static_cast<std::size_t>(inside / last_run_)], last_run_ - inside % last_run_};
    }
    const std::int64_t inside = number % period();
    const auto end = std::ranges::upper_bound(ends_, inside);
    return {chunks_[static_cast<std::size_t>(end - ends_.begin())], *end - inside};
  }

  /// Passes of such a kind that have been taken; B as I.
  std::int64_t& taken(Op op) { return taken_[kind_of(op)]; }
  const std::array<std::int64_t, 4>& all_taken() const { return taken_; }
  void move(const std::array<std::int64_t, 4>& before, std::int64_t turns) {
    for (std::size_t kind = 0; kind < before.size(); ++kind) taken_[kind] += (taken_[kind] - before[kind]) * turns;
  }

 private:
  static constexpr std::int64_t kEndless = std::int64_t{1} << 62;

  static std::size_t kind_of(Op op) { return op == Op::kF ? 0 : is_backward(op) ? 1 : op == Op::kW ? 2 : 3; }

  std::array<std::int64_t, 4> taken_{};
  std::vector<std::int64_t> ends_;  ///< of runs
  std::vector<std::int64_t> chunks_;
  std::int64_t full_ = kEndless;
  std::int64_t last_run_ = 0;
};

constexpr std::int64_t kMostAtOnce = 128;
constexpr std::size_t kMostStreams = 4;  ///< more of them, and nothing is folded

/// Passes of each kind that streams have given.
using StreamPlaces = std::array<std::array<std::int64_t, 4>, kMostStreams>;

Op stream_kind(Op op) { return op == Op::kB ? Op::kI : op; }

/// Expands the rules of one device after the other.
class PhaseWriter {
 public:
  PhaseWriter(const PhaseRules& rules, const PhaseFrame& frame, const PhaseChanges& changes)
      : rules_(rules), frame_(frame), changes_(changes), passes_(frame) {}

  DeviceList list_of(std::int32_t device) {
    const Advance next{.microbatch = static_cast<std::int32_t>(*frame_.names.find(index(RuleName::kM))), .update = 1};
    list_.repeat(frame_.whole ? 1 : frame_.updates, next, [&] { write(device); });
    return list_.take_fitting();
  }

 private:
  void begin(std::int32_t device) {
    device_ = device;
    names_ = frame_.names;
    names_.set(index(RuleName::kD), device);
    passes_.begin(device);
    streams_.resize(rules_.streams.size());
    for (ChunkStream& stream : streams_) stream.clear();
    uneven_ = 0;
    steps_ = 0;
    has_updates_ = false;
    has_reductions_ = false;
  }

  void write(std::int32_t device) {
    begin(device);
    run(0, rules_.statements.size());
    if (waits_for_half_) throw Error(last_where() + ": the second half of an overlapped pair is missing");
    write_due();
    passes_.check_all(last_where());
    write_updates();
  }

  using Passes = std::span<const PhasePass>;

  struct Slot {
    std::int64_t slot = 0;
    WantedPass pass;
    const std::string* where = nullptr;
  };

  const std::string& last_where() const { return rules_.statements.back().where; }

  std::int64_t value(const WholeExpression& expression, const std::string& where) const {
    return expression.value(names_, where);
  }

  /// With what a search adds to it.
  std::int64_t count(std::size_t at) const {
    const PhaseStatement& statement = rules_.statements[at];
    const std::int64_t said = value(statement.value, statement.where);
    if (changes_.empty()) return said;
    const auto change = changes_.find({at, device_});
    return said + (change == changes_.end() ? 0 : change->second);
  }

  void step(const std::string& where) {
    if (++steps_ > kRulePasses.most) {
      throw Error(where + ": expected at most " + std::to_string(kRulePasses.most) + " passes");
    }
  }

  void run(std::size_t begin, std::size_t end) {
    for (std::size_t at = begin; at < end; ++at) {
      const PhaseStatement& statement = rules_.statements[at];
      step(statement.where);
      switch (statement.kind) {
        case PhaseStatement::Kind::kLet:
          set(statement.number, count(at));
          break;
        case PhaseStatement::Kind::kNeed:
          need(statement);
          break;
        case PhaseStatement::Kind::kStream:
          take_stream(statement);
          break;
        case PhaseStatement::Kind::kPhase:
          if (statement.period.empty()) {
            phase(statement.passes, statement.where, turns(at));
          } else {
            periodic(statement, turns(at));
          }
          break;
        case PhaseStatement::Kind::kAt:
          slot_ = value(statement.value, statement.where);
          phase(statement.passes, statement.where, 1);
          break;
        case PhaseStatement::Kind::kEnd:
          break;
        default:
          at = block(at);
      }
    }
  }

  void need(const PhaseStatement& statement) const {
    if (value(statement.value, statement.where) != 0) return;
    throw Error(said_of_need(statement, statement.where.substr(0, statement.where.rfind(':')), names_));
  }

  void set(std::size_t name, std::int64_t value) {
    const std::int64_t* known = names_.find(name);
    if ((known == nullptr ? 0 : *known) != value) ++uneven_;
    names_.set(name, value);
  }

  std::int64_t turns(std::size_t at) const {
    const PhaseStatement& statement = rules_.statements[at];
    const std::int64_t turns = count(at);
    if (turns >= 0) return turns;
    throw Error(statement.where + ": " + statement.value.text() + " is " + std::to_string(turns) +
                ", expected at least 0");
  }

  /// Runs the block that begins at `at`; returns where it ends.
  std::size_t block(std::size_t at) {
    const PhaseStatement& statement = rules_.statements[at];
    if (statement.kind == PhaseStatement::Kind::kIf) return branch(at);
    if (statement.kind == PhaseStatement::Kind::kFor) {
      const std::int64_t count = turns(at);
      for (std::int64_t i = 0; i < count; ++i) {
        step(statement.where);
        set(statement.number, i);
        run(at + 1, statement.end);
      }
    } else if (statement.kind == PhaseStatement::Kind::kRepeat) {
      fold(turns(at), statement.where, true, [&] { run(at + 1, statement.end); });
    } else if (statement.kind == PhaseStatement::Kind::kSorted) {
      sorting_ = true;
      run(at + 1, statement.end);
      sorting_ = false;
      std::ranges::stable_sort(slots_, {}, &Slot::slot);
      for (const Slot& one : slots_) {
        emit(one.pass, *one.where);
        if (!waits_for_half_) write_due();
      }
      slots_.clear();
    }
    return statement.end;
  }

  std::size_t branch(std::size_t at) {
    const PhaseStatement& statement = rules_.statements[at];
    const bool holds = value(statement.value, statement.where) != 0;
    if (holds) run(at + 1, statement.end);
    const std::size_t next = statement.end + 1;
    const bool has_else =
        next < rules_.statements.size() && rules_.statements[next].kind == PhaseStatement::Kind::kElse;
    if (!has_else) return statement.end;
    if (!holds) run(next + 1, rules_.statements[next].end);
    return rules_.statements[next].end;
  }

  void take_stream(const PhaseStatement& written) {
    ChunkStream& stream = streams_[written.number];
    stream.clear();
    const std::int64_t all = frame_.chunks;
    for (const StreamPart& part : written.parts) {
      const std::int64_t times = value(part.count, written.where);
      if (part.kind == StreamPart::Kind::kChunk) {
        stream.add(known_chunk(part.chunk, written.where), times);
        continue;
      }
      for (std::int64_t chunk = 0; chunk < all; ++chunk) {
        stream.add(part.kind == StreamPart::Kind::kUp ? chunk : all - 1 - chunk, times);
      }
      if (!part.all.empty() && times > 0) stream.end_after(value(part.all, written.where), times);
    }
    if (stream.empty()) throw Error(written.where + ": the stream is empty, expected chunks");
    ++uneven_;
  }

  std::int64_t known_chunk(std::int64_t chunk, const std::string& where) const {
    if (chunk >= 0 && chunk < frame_.chunks) return chunk;
    throw Error(where + ": chunk " + std::to_string(chunk) + ", expected one below " + std::to_string(frame_.chunks));
  }

  ChunkStream& stream_of(const PhasePass& pass, const std::string& where) {
    ChunkStream& stream = streams_[pass.stream];
    if (stream.empty()) throw Error(where + ": there is no stream '" + rules_.streams[pass.stream] + "'");
    return stream;
  }

  // Turns of a pattern, in pieces that are alike.

  void phase(Passes passes, const std::string& where, std::int64_t turns) {
    if (sorting_) {
      for (std::int64_t turn = 0; turn < turns; ++turn) this->turn(passes, where);
      return;
    }
    const bool streams = std::ranges::any_of(passes, [](const PhasePass& pass) { return pass.has_stream(); });
    const std::int64_t left = streams ? whole_rounds(passes, where, turns) : whole_updates(passes, where, turns);
    pieces(passes, where, left);
  }

  /// Turns that come again after a period, which is written out.
  void periodic(const PhaseStatement& statement, std::int64_t turns) {
    const std::int64_t period = std::max<std::int64_t>(value(statement.period, statement.where), 1);
    const auto write = [&](std::int64_t count) {
      for (std::int64_t k = 0; k < count; ++k) {
        turn(statement.passes, statement.where);
        write_due();
      }
    };
    fold(turns / period, statement.where, true, [&] { write(period); });
    write(turns % period);
  }

  /// Passes that go through the same stream as `pass`.
  static std::int64_t taking_alike(Passes passes, const PhasePass& pass) {
    return std::ranges::count_if(passes, [&](const PhasePass& one) {
      return one.stream == pass.stream && stream_kind(one.op) == stream_kind(pass.op);
    });
  }

  /// Turns in which all streams go round: where a pattern has several passes, they are one block.
  std::int64_t whole_rounds(Passes passes, const std::string& where, std::int64_t turns) {
    if (passes.size() < 2) return turns;
    std::int64_t period = 0;
    std::int64_t reach = turns;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const PhasePass& pass = passes[i];
      if (!pass.has_stream() || !pass.count.empty()) return turns;
      ChunkStream& stream = stream_of(pass, where);
      if (period != 0 && stream.period() != period) return turns;
      period = stream.period();
      reach = std::min(reach, stream.full() - stream.taken(pass.op));
      if (taking_alike(passes.first(i), pass) > 0) return turns;
    }
    const std::int64_t rounds = std::max<std::int64_t>(reach, 0) / period;
    fold(rounds, where, true, [&] { pieces(passes, where, period); });
    return turns - rounds * period;
  }

  /// The rest of an update, and whole updates.
  std::int64_t whole_updates(Passes passes, const std::string& where, std::int64_t turns) {
    const std::int64_t every = frame_.update_every;
    if (every == 0 || turns == 0) return turns;
    const PhasePass* only = nullptr;
    for (const PhasePass& pass : passes) {
      if (!is_backward(pass.op)) continue;
      if (only != nullptr || !pass.count.empty()) return turns;
      only = &pass;
    }
    if (only == nullptr) return turns;
    const std::int64_t taken = passes_.backwards(copy_of(*only, where), value(only->chunk, where));
    const std::int64_t rest = std::min((every - taken % every) % every, turns);
    pieces(passes, where, rest);
    const std::int64_t whole = (turns - rest) / every;
    fold(whole, where, true, [&] { pieces(passes, where, every); });
    return turns - rest - whole * every;
  }

  /// Turns one after the other, as far as streams stay with a chunk and nothing else comes between.
  void pieces(Passes passes, const std::string& where, std::int64_t turns) {
    while (turns > 0) {
      std::int64_t alike = turns;
      for (const PhasePass& pass : passes) alike = std::min(alike, turns_alike(passes, pass, where));
      alike = std::max<std::int64_t>(alike, 1);
      fold(alike, where, false, [&] { turn(passes, where); });
      write_due();
      turns -= alike;
    }
  }

  /// How many turns `pass` does the same in.
  std::int64_t turns_alike(Passes passes, const PhasePass& pass, const std::string& where) {
    std::int64_t turns = std::int64_t{1} << 62;
    std::int64_t chunk = -1;
    if (pass.has_stream()) {
      if (!pass.count.empty()) return 1;
      ChunkStream& stream = stream_of(pass, where);
      const ChunkStream::Place place = stream.at(stream.taken(pass.op));
      turns = place.run / taking_alike(passes, pass);
      chunk = place.chunk;
    }
    const bool cut = is_backward(pass.op) && (frame_.update_every > 0 || frame_.recompute.except_last);
    if (!cut) return turns;
    if (!pass.count.empty()) return 1;
    if (!pass.has_stream()) chunk = value(pass.chunk, where);
    const std::int32_t copy = copy_of(pass, where);
    if (frame_.update_every > 0) {
      turns = std::min(turns, frame_.update_every - passes_.backwards(copy, chunk) % frame_.update_every);
    }
    return frame_.recompute.except_last ? std::min(turns, turns_to_last(copy, chunk, pass.newest)) : turns;
  }

  /// Up to the last microbatch, or of it alone.
  std::int64_t turns_to_last(std::int32_t copy, std::int64_t chunk, bool newest) const {
    const std::int64_t last = frame_.real[static_cast<std::size_t>(copy)] - 1;
    const std::int64_t next = std::max<std::int64_t>(passes_.next_backward(copy, chunk, newest), 0);
    if (next == last) return 1;
    return newest ? std::int64_t{1} << 62 : last - next;
  }

  /// `turns` times `body`; those that do the same with other numbers are one block. `whole`: it may hold anything.
  template <class Body>
  void fold(std::int64_t turns, const std::string& where, bool whole, Body body) {
    for (std::int64_t done = 0; done < turns;) {
      step(where);
      const bool last = turns - done == 1 || sorting_ || waits_for_half_ || streams_.size() > kMostStreams;
      if (last) {
        body();
        ++done;
        continue;
      }
      const ListBuilder::Mark begin = list_.mark();
      passes_.begin_turn();
      const StreamPlaces streams_before = stream_places();
      const std::uint64_t uneven = uneven_;
      body();
      PhasePasses::Skip skip;
      if (uneven == uneven_ && !waits_for_half_ && (!whole || returns(streams_before))) {
        skip = passes_.skippable(turns - done - 1);
      }
      if (skip.turns > 0) {
        passes_.skip(skip.turns);
        move_streams(streams_before, skip.turns);
        if (!whole) note_due();
        list_.close(begin, 1 + skip.turns, skip.advance);
      }
      passes_.end_turn();
      done += 1 + skip.turns;
    }
  }

  StreamPlaces stream_places() const {
    StreamPlaces places;
    for (std::size_t i = 0; i < std::min(streams_.size(), places.size()); ++i) places[i] = streams_[i].all_taken();
    return places;
  }

  void move_streams(const StreamPlaces& before, std::int64_t turns) {
    for (std::size_t i = 0; i < streams_.size(); ++i) streams_[i].move(before[i], turns);
  }

  /// Whether streams and updates stand where they stood, rounds and updates later.
  bool returns(const StreamPlaces& streams_before) {
    if (frame_.recompute.except_last) return false;
    for (std::size_t i = 0; i < streams_.size(); ++i) {
      const ChunkStream& stream = streams_[i];
      if (stream.empty() || stream.constant()) continue;
      for (std::size_t kind = 0; kind < 4; ++kind) {
        const std::int64_t now = stream.all_taken()[kind];
        const std::int64_t moved = now - streams_before[i][kind];
        if (moved % stream.period() != 0 || (moved > 0 && now > stream.full())) return false;
      }
    }
    if (frame_.update_every == 0) return true;
    for (std::int32_t copy = 0; copy < frame_.copies; ++copy) {
      for (std::int64_t chunk = 0; chunk < frame_.chunks; ++chunk) {
        if (passes_.backwards_of_turn(copy, chunk) % frame_.update_every != 0) return false;
      }
    }
    return due_.empty();
  }

  void turn(Passes passes, const std::string& where) {
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const PhasePass& pass = passes[i];
      const std::size_t halves = pass.with_next ? 2 : 1;
      const Passes one = passes.subspan(i, halves);
      if (pass.count.empty()) {
        put(one, where);
      } else if (sorting_) {
        const std::int64_t count = value(pass.count, where);
        for (std::int64_t k = 0; k < count; ++k) put(one, where);
      } else {
        fold(value(pass.count, where), where, frame_.update_every > 0 || pass.has_stream(), [&] { put(one, where); });
      }
      i += halves - 1;
    }
  }

  void put(Passes halves, const std::string& where) {
    step(where);
    for (const PhasePass& pass : halves) {
      const WantedPass wanted = wanted_of(pass, where);
      if (sorting_) {
        slots_.push_back({slot_, wanted, &where});
      } else {
        emit(wanted, where);
      }
    }
  }

  std::int32_t copy_of(const PhasePass& pass, const std::string& where) const {
    if (pass.copy.empty()) return 0;
    const std::int64_t copy = value(pass.copy, where);
    if (copy < 0 || copy >= frame_.copies) {
      throw Error(where + ": copy " + std::to_string(copy) + ", expected one below " + std::to_string(frame_.copies));
    }
    return static_cast<std::int32_t>(copy);
  }

  WantedPass wanted_of(const PhasePass& pass, const std::string& where) {
    WantedPass wanted{.op = pass.op, .newest = pass.newest, .with_next = pass.with_next};
    wanted.copy = copy_of(pass, where);
    if (!pass.chunk.empty()) wanted.chunk = known_chunk(value(pass.chunk, where), where);
    if (pass.has_stream()) {
      ChunkStream& stream = stream_of(pass, where);
      wanted.chunk = stream.at(stream.taken(pass.op)++).chunk;
    }
    if (wanted.chunk >= 0 && !passes_.holds(wanted.copy, wanted.chunk)) {
      throw Error(where + ": device " + std::to_string(device_) + " does not hold chunk " +
                  std::to_string(wanted.chunk) + " of copy " + std::to_string(wanted.copy));
    }
    if (!pass.merged.empty()) {
      wanted.merged = value(pass.merged, where);
      if (wanted.merged < 1 || wanted.merged > kMostAtOnce) {
        throw Error(where + ": " + std::to_string(wanted.merged) + " microbatches at once, expected 1 to " +
                    std::to_string(kMostAtOnce));
      }
    }
    if (pass.from_host) {
      wanted.where = Action::kHost;
    } else if (!pass.where.empty()) {
      const std::int64_t device = value(pass.where, where);
      if (device < 0 || device >= std::min(frame_.devices, 32768)) {
        throw Error(where + ": device " + std::to_string(device) + ", expected host or one below " +
                    std::to_string(frame_.devices));
      }
      wanted.where = static_cast<std::int16_t>(device);
    }
    return wanted;
  }

  /// Of a pair whose halves are not both there, the other one stays alone.
  void emit(const WantedPass& wanted, const std::string& where) {
    std::optional<Action> action = passes_.take(wanted, where);
    for (std::int64_t k = 1; k < wanted.merged; ++k) passes_.take(wanted, where);
    if (action) action->merged = static_cast<std::uint8_t>((wanted.merged - 1) & 127);
    if (action && is_backward(wanted.op)) before_backward(*action);
    if (waits_for_half_) {
      waits_for_half_ = false;
      if (first_half_ && action) first_half_->overlaps_next = 1;
      if (first_half_) list_.add(*first_half_);
    }
    if (wanted.with_next) {
      waits_for_half_ = true;
      first_half_ = action;
    } else if (action) {
      list_.add(*action);
    }
    has_updates_ = has_updates_ || wanted.op == Op::kU;
    has_reductions_ = has_reductions_ || wanted.op == Op::kReduceGrad;
    if (frame_.update_every > 0 && is_backward(wanted.op) &&
        passes_.backwards(wanted.copy, wanted.chunk) % frame_.update_every == 0) {
      due_.push_back({.op = Op::kU, .copy = wanted.copy, .chunk = wanted.chunk});
    }
  }

  /// The forward that is run again ahead of the gradient.
  void before_backward(Action action) {
    if (!frame_.recompute.early) return;
    const std::int64_t last = frame_.real[index(action.replica)] - 1;
    if (frame_.recompute.except_last && static_cast<std::int64_t>(action.microbatch) == last) return;
    action.op = Op::kR;
    list_.add(action);
  }

  /// After turns that were left out.
  void note_due() {
    if (frame_.update_every == 0) return;
    for (std::int32_t copy = 0; copy < frame_.copies; ++copy) {
      for (std::int64_t chunk = 0; chunk < frame_.chunks; ++chunk) {
        const bool ends = passes_.backwards(copy, chunk) % frame_.update_every == 0;
        if (!ends || passes_.backwards_of_turn(copy, chunk) == 0) continue;
        due_.push_back({.op = Op::kU, .copy = copy, .chunk = chunk});
      }
    }
  }

  /// Updates of stages whose last backward stands at the end of the list.
  void write_due() {
    if (due_.empty()) return;
    const std::vector<WantedPass> due = std::exchange(due_, {});
    for (const WantedPass& update : due) emit(update, last_where());
  }

  /// Where the rules say nothing of them: reductions over copies, and the updates of all stages.
  void write_updates() {
    if (has_updates_ || frame_.forward_only) return;
    if (frame_.whole && frame_.updates > 1) {
      throw Error(rules_.updates.where + ": lists cover " + std::to_string(frame_.updates) +
                  " updates and say nothing of them, expected U where each ends");
    }
    if (frame_.copies > 1 && !has_reductions_) write_of_all(Op::kReduceGrad);
    write_of_all(Op::kU);
  }

  void write_of_all(Op op) {
    for (std::int32_t copy = 0; copy < frame_.copies; ++copy) {
      for (std::int64_t chunk = 0; chunk < frame_.chunks; ++chunk) {
        if (passes_.holds(copy, chunk)) emit({.op = op, .copy = copy, .chunk = chunk}, last_where());
      }
    }
  }

  const PhaseRules& rules_;
  const PhaseFrame& frame_;
  std::int32_t device_ = 0;
  const PhaseChanges& changes_;
  WholeNames names_;
  PhasePasses passes_;
  ListBuilder list_;
  std::vector<ChunkStream> streams_;  ///< by their number; those that are not known yet are empty
  std::vector<Slot> slots_;           ///< of the block that is being sorted
  std::int64_t slot_ = 0;
  bool sorting_ = false;
  std::optional<Action> first_half_;
  bool waits_for_half_ = false;
  std::vector<WantedPass> due_;  ///< updates that come next
  bool has_updates_ = false;
  bool has_reductions_ = false;
  std::uint64_t uneven_ = 0;  ///< changes of names
  std::uint64_t steps_ = 0;
};

}  // namespace

std::vector<DeviceList> phase_lists(const PhaseRules& rules, const PhaseFrame& frame, const PhaseChanges& changes) {
  PhaseWriter writer(rules, frame, changes);
  std::vector<DeviceList> lists;
  lists.reserve(static_cast<std::size_t>(frame.devices));
  for (std::int32_t device = 0; device < frame.devices; ++device) lists.push_back(writer.list_of(device));
  return lists;
}

}  // namespace plumb
