#include "schedules/phases/phase_writer.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "models/ground/reader_limits.hpp"
#include "schedules/phases/phase_passes.hpp"

namespace plumb {
namespace {

/// Expands the rules of one device.
class PhaseWriter {
 public:
  PhaseWriter(const PhaseRules& rules, const PhaseFrame& frame, std::int32_t device, const PhaseChanges& changes)
      : rules_(rules), frame_(frame), device_(device), changes_(changes), names_(frame.names), passes_(frame, device) {
    names_["d"] = device;
  }

  void write(ListBuilder& list) {
    list_ = &list;
    run(0, rules_.statements.size());
    if (waits_for_half_) throw Error(last_where() + ": the second half of an overlapped pair is missing");
    passes_.check_all(last_where());
    write_updates();
  }

 private:
  struct Stream {
    std::vector<std::int64_t> chunks;
    std::map<Op, std::size_t> taken;  ///< by the kind of pass, B as I
  };
  struct Slot {
    std::int64_t slot = 0;
    WantedPass pass;
    const std::string* where = nullptr;
  };

  const std::string& last_where() const { return rules_.statements.back().where; }

  std::int64_t value(const std::string& text, const std::string& where) const {
    return whole_value(text, names_, where);
  }

  /// With what a search adds to it.
  std::int64_t count(std::size_t at) const {
    const PhaseStatement& statement = rules_.statements[at];
    const auto change = changes_.find({at, device_});
    return value(statement.value, statement.where) + (change == changes_.end() ? 0 : change->second);
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
      if (statement.kind == PhaseStatement::Kind::kLet) {
        names_[statement.name] = count(at);
      } else if (statement.kind == PhaseStatement::Kind::kNeed) {
        if (value(statement.value, statement.where) == 0) throw Error(statement.where + ": needs " + statement.value);
      } else if (statement.kind == PhaseStatement::Kind::kStream) {
        take_stream(statement);
      } else if (statement.kind == PhaseStatement::Kind::kPhase) {
        phase(statement, turns(at));
      } else if (statement.kind == PhaseStatement::Kind::kAt) {
        slot_ = value(statement.value, statement.where);
        phase(statement, 1);
      } else if (statement.kind == PhaseStatement::Kind::kFor || statement.kind == PhaseStatement::Kind::kSorted) {
        block(at);
        at = statement.end;
      }
    }
  }

  std::int64_t turns(std::size_t at) const {
    const PhaseStatement& statement = rules_.statements[at];
    const std::int64_t turns = count(at);
    if (turns >= 0) return turns;
    throw Error(statement.where + ": " + statement.value + " is " + std::to_string(turns) + ", expected at least 0");
  }

  void block(std::size_t at) {
    const PhaseStatement& statement = rules_.statements[at];
    if (statement.kind == PhaseStatement::Kind::kFor) {
      const std::int64_t count = turns(at);
      for (std::int64_t i = 0; i < count; ++i) {
        step(statement.where);
        names_[statement.name] = i;
        run(at + 1, statement.end);
      }
      return;
    }
    sorting_ = true;
    run(at + 1, statement.end);
    sorting_ = false;
    std::ranges::stable_sort(slots_, {}, &Slot::slot);
    for (const Slot& one : slots_) emit(one.pass, *one.where);
    slots_.clear();
  }

  void take_stream(const PhaseStatement& written) {
    Stream stream;
    const std::int64_t all = frame_.chunks;
    for (const StreamPart& part : written.parts) {
      const std::int64_t most = names_.find("m")->second * frame_.slices;
      const std::int64_t times = std::clamp<std::int64_t>(value(part.count, written.where), 0, most);
      if (part.kind == StreamPart::Kind::kChunk) {
        stream.chunks.insert(stream.chunks.end(), static_cast<std::size_t>(times),
                             known_chunk(part.chunk, written.where));
        continue;
      }
      for (std::int64_t chunk = 0; chunk < all; ++chunk) {
        stream.chunks.insert(stream.chunks.end(), static_cast<std::size_t>(times),
                             part.kind == StreamPart::Kind::kUp ? chunk : all - 1 - chunk);
      }
    }
    if (stream.chunks.empty()) throw Error(written.where + ": the stream is empty, expected chunks");
    streams_[written.name] = std::move(stream);
  }

  std::int64_t known_chunk(std::int64_t chunk, const std::string& where) const {
    if (chunk >= 0 && chunk < frame_.chunks) return chunk;
    throw Error(where + ": chunk " + std::to_string(chunk) + ", expected one below " + std::to_string(frame_.chunks));
  }

  void phase(const PhaseStatement& statement, std::int64_t turns) {
    for (std::int64_t turn = 0; turn < turns; ++turn) {
      step(statement.where);
      for (std::size_t i = 0; i < statement.passes.size(); ++i) {
        const PhasePass& pass = statement.passes[i];
        const std::int64_t count = pass.count.empty() ? 1 : value(pass.count, statement.where);
        for (std::int64_t k = 0; k < count; ++k) {
          step(statement.where);
          put(pass, statement.where);
          if (pass.with_next) put(statement.passes[i + 1], statement.where);
        }
        if (pass.with_next) ++i;
      }
    }
  }

  void put(const PhasePass& pass, const std::string& where) {
    const WantedPass wanted = wanted_of(pass, where);
    if (sorting_) {
      slots_.push_back({slot_, wanted, &where});
    } else {
      emit(wanted, where);
    }
  }

  WantedPass wanted_of(const PhasePass& pass, const std::string& where) {
    WantedPass wanted{.op = pass.op, .newest = pass.newest, .with_next = pass.with_next};
    if (!pass.copy.empty()) {
      const std::int64_t copy = value(pass.copy, where);
      if (copy < 0 || copy >= frame_.copies) {
        throw Error(where + ": copy " + std::to_string(copy) + ", expected one below " + std::to_string(frame_.copies));
      }
      wanted.copy = static_cast<std::int32_t>(copy);
    }
    if (!pass.chunk.empty()) wanted.chunk = known_chunk(value(pass.chunk, where), where);
    if (!pass.stream.empty()) wanted.chunk = next_of(pass, where);
    if (wanted.chunk >= 0 && !passes_.holds(wanted.copy, wanted.chunk)) {
      throw Error(where + ": device " + std::to_string(device_) + " does not hold chunk " +
                  std::to_string(wanted.chunk) + " of copy " + std::to_string(wanted.copy));
    }
    if (pass.where == "host") {
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

  std::int64_t next_of(const PhasePass& pass, const std::string& where) {
    const auto found = streams_.find(pass.stream);
    if (found == streams_.end()) throw Error(where + ": there is no stream '" + pass.stream + "'");
    Stream& stream = found->second;
    std::size_t& taken = stream.taken[pass.op == Op::kB ? Op::kI : pass.op];
    return stream.chunks[taken++ % stream.chunks.size()];
  }

  /// Of a pair whose halves are not both there, the other one stays alone.
  void emit(const WantedPass& wanted, const std::string& where) {
    const std::optional<Action> action = passes_.take(wanted, where);
    if (waits_for_half_) {
      waits_for_half_ = false;
      if (first_half_ && action) first_half_->overlaps_next = 1;
      if (first_half_) list_->add_all({&*first_half_, 1});
    }
    if (wanted.with_next) {
      waits_for_half_ = true;
      first_half_ = action;
    } else if (action) {
      list_->add_all({&*action, 1});
    }
    has_updates_ = has_updates_ || wanted.op == Op::kU;
    has_reductions_ = has_reductions_ || wanted.op == Op::kReduceGrad;
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
  std::int32_t device_;
  const PhaseChanges& changes_;
  WholeNames names_;
  PhasePasses passes_;
  ListBuilder* list_ = nullptr;
  std::map<std::string, Stream, std::less<>> streams_;
  std::vector<Slot> slots_;  ///< of the block that is being sorted
  std::int64_t slot_ = 0;
  bool sorting_ = false;
  std::optional<Action> first_half_;
  bool waits_for_half_ = false;
  bool has_updates_ = false;
  bool has_reductions_ = false;
  std::uint64_t steps_ = 0;
};

}  // namespace

void write_phases(const PhaseRules& rules, const PhaseFrame& frame, std::int32_t device, const PhaseChanges& changes,
                  ListBuilder& list) {
  PhaseWriter(rules, frame, device, changes).write(list);
}

}  // namespace plumb
