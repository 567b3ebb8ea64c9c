#include "schedules/phases/phase_rules.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/catalogue/generator.hpp"
#include "schedules/catalogue/v_placement.hpp"
#include "schedules/phases/phase_lines.hpp"
#include "schedules/phases/whole_expression.hpp"

namespace plumb {
namespace {

constexpr std::int64_t kMostExpanded = 20'000'000;

/// Expands the rules of one device.
class PhaseWriter {
 public:
  PhaseWriter(const PhaseRules& rules, WholeNames names, bool in_v)
      : rules_(rules), names_(std::move(names)), in_v_(in_v) {
    chunks_.resize(static_cast<std::size_t>(names_.at("v")));
    for (const PhaseName& name : rules_.names) take_name(name);
    for (const PhaseStream& stream : rules_.streams) take_stream(stream);
  }

  void write(ListBuilder& list) {
    for (const PhaseLine& line : rules_.lines) {
      const std::int64_t count = whole_value(line.count, names_, line.where);
      if (count < 0)
        throw Error(line.where + ": " + line.count + " is " + std::to_string(count) + ", expected at least 0");
      for (std::int64_t turn = 0; turn < count; ++turn) {
        for (const PhasePass& pass : line.passes) write_pass(pass, line.where, list);
      }
    }
    check_all();
  }

 private:
  struct Waiting {
    std::size_t chunk = 0;
    std::int64_t microbatch = 0;
  };
  struct Chunk {
    std::int64_t forwards = 0;
    std::deque<std::int64_t> kept;  ///< forwards without a backward
  };
  struct Stream {
    std::vector<std::size_t> chunks;
    std::map<Op, std::size_t> taken;  ///< by the kind of pass, B as I
  };

  std::int64_t microbatches() const { return names_.find("m")->second; }

  void take_name(const PhaseName& name) {
    const std::int64_t value = whole_value(name.value, names_, name.where);
    if (!name.name.empty()) {
      names_[name.name] = value;
    } else if (value == 0) {
      throw Error(name.where + ": needs " + name.value);
    }
  }

  void take_stream(const PhaseStream& written) {
    Stream stream;
    const auto all = chunks_.size();
    for (const StreamPart& part : written.parts) {
      const std::int64_t count = whole_value(part.count, names_, written.where);
      const auto times = static_cast<std::size_t>(std::clamp<std::int64_t>(count, 0, microbatches()));
      if (part.kind == StreamPart::Kind::kChunk) {
        stream.chunks.insert(stream.chunks.end(), times, known_chunk(part.chunk, written.where));
        continue;
      }
      for (std::size_t chunk = 0; chunk < all; ++chunk) {
        stream.chunks.insert(stream.chunks.end(), times, part.kind == StreamPart::Kind::kUp ? chunk : all - 1 - chunk);
      }
    }
    if (stream.chunks.empty()) throw Error(written.where + ": the stream is empty, expected chunks");
    streams_[written.name] = std::move(stream);
  }

  std::size_t known_chunk(std::int32_t chunk, const std::string& where) const {
    const auto found = static_cast<std::size_t>(chunk);
    if (found < chunks_.size()) return found;
    throw Error(where + ": chunk " + std::to_string(chunk) + ", expected one below " + std::to_string(chunks_.size()));
  }

  std::size_t chunk_of(const PhasePass& pass, const std::string& where) {
    if (pass.stream.empty()) return known_chunk(pass.chunk, where);
    const auto found = streams_.find(pass.stream);
    if (found == streams_.end()) throw Error(where + ": there is no stream '" + pass.stream + "'");
    Stream& stream = found->second;
    std::size_t& taken = stream.taken[pass.op == Op::kB ? Op::kI : pass.op];
    return stream.chunks[taken++ % stream.chunks.size()];
  }

  void write_pass(const PhasePass& pass, const std::string& where, ListBuilder& list) {
    if (++passes_ > kMostExpanded)
      throw Error(where + ": expected at most " + std::to_string(kMostExpanded) + " passes");
    const Waiting one = pass.op == Op::kW ? weight(pass, where) : pass_of_chunk(pass, where);
    const auto p = static_cast<std::int32_t>(names_.find("p")->second);
    const auto d = static_cast<std::int32_t>(names_.find("d")->second);
    const auto chunk = static_cast<std::int32_t>(one.chunk);
    Action action = ListBuilder::action(in_v_ ? v_stage(p, chunk, d) : StageId{chunk * p + d}, pass.op, one.microbatch);
    action.overlaps_next = pass.with_next ? 1 : 0;
    list.add_all({&action, 1});
  }

  Waiting pass_of_chunk(const PhasePass& pass, const std::string& where) {
    const std::size_t number = chunk_of(pass, where);
    Chunk& chunk = chunks_[number];
    if (pass.op == Op::kF) {
      if (chunk.forwards == microbatches()) {
        throw Error(where + ": " + device() + "chunk " + std::to_string(number) + " has all its forwards already");
      }
      chunk.kept.push_back(chunk.forwards);
      return {number, chunk.forwards++};
    }
    if (chunk.kept.empty()) {
      throw Error(where + ": " + device() + "a backward of chunk " + std::to_string(number) +
                  " has no forward before it");
    }
    const std::int64_t microbatch = pass.newest ? chunk.kept.back() : chunk.kept.front();
    pass.newest ? chunk.kept.pop_back() : chunk.kept.pop_front();
    if (pass.op == Op::kI) waiting_.push_back({number, microbatch});
    return {number, microbatch};
  }

  Waiting weight(const PhasePass& pass, const std::string& where) {
    const bool any = pass.chunk < 0 && pass.stream.empty();
    const std::size_t wanted = any ? 0 : chunk_of(pass, where);
    const auto fits = [&](const Waiting& one) { return any || one.chunk == wanted; };
    auto found = waiting_.end();
    for (auto at = waiting_.begin(); at != waiting_.end(); ++at) {
      if (!fits(*at)) continue;
      found = at;
      if (!pass.newest) break;
    }
    if (found == waiting_.end())
      throw Error(where + ": " + device() + "no input gradient waits for its weight gradient");
    const Waiting one = *found;
    waiting_.erase(found);
    return one;
  }

  void check_all() const {
    const std::string& where = rules_.lines.back().where;
    for (std::size_t chunk = 0; chunk < chunks_.size(); ++chunk) {
      const std::int64_t missing = microbatches() - chunks_[chunk].forwards;
      const auto left = static_cast<std::int64_t>(chunks_[chunk].kept.size());
      if (missing > 0 || left > 0) {
        throw Error(where + ": " + device() + "chunk " + std::to_string(chunk) + " lacks " + std::to_string(missing) +
                    " forwards and " + std::to_string(left + missing) + " backwards at the end");
      }
    }
    if (!waiting_.empty()) {
      throw Error(where + ": " + device() + std::to_string(waiting_.size()) +
                  " weight gradients are missing at the end");
    }
  }

  std::string device() const { return "device " + std::to_string(names_.find("d")->second) + ": "; }

  const PhaseRules& rules_;
  WholeNames names_;
  bool in_v_;
  std::vector<Chunk> chunks_;
  std::map<std::string, Stream, std::less<>> streams_;
  std::deque<Waiting> waiting_;
  std::int64_t passes_ = 0;
};

}  // namespace

Schedule schedule_from_rules(std::string_view text, std::string_view file_name, const ScheduleParams& params) {
  const PhaseRules rules = phase_rules_from_text(text, file_name);
  const std::string name(file_name.substr(file_name.rfind('/') + 1));
  if (rules.chunks > 0 && params.chunks > 0 && rules.chunks != params.chunks) {
    throw Error(std::string(file_name) + ": has " + std::to_string(rules.chunks) + " chunks per device, found " +
                std::to_string(params.chunks) + " asked for");
  }
  if (!params.options.empty()) throw Error(std::string(file_name) + ": rules have no options, expected no --opt");
  const std::int32_t chunks = rules.chunks > 0 ? rules.chunks : std::max(1, params.chunks);
  const std::int64_t updates = updates_or(params, 1);
  Schedule schedule = looped_schedule(name, params, chunks, updates);
  if (rules.in_v) place_in_v(schedule);
  const std::int32_t p = params.num_devices;
  for (std::int32_t d = 0; d < p; ++d) {
    schedule.devices.push_back(repeat_steps(params, updates, [&](ListBuilder& list) {
      PhaseWriter(rules, {{"p", p}, {"m", params.num_microbatches}, {"v", chunks}, {"d", d}}, rules.in_v).write(list);
      for (std::int32_t chunk = 0; chunk < chunks; ++chunk) {
        list.add(rules.in_v ? v_stage(p, chunk, d) : StageId{chunk * p + d}, Op::kU, 0);
      }
    }));
  }
  return schedule;
}

}  // namespace plumb
