#include "trainer/checkpoint/snapshot.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "models/ground/json_reader.hpp"
#include "trainer/plan/run_identity.hpp"
#include "trainer/run/training_run.hpp"

namespace plumb {
namespace {

/// Updates of a synchronous document do not depend on how many follow them; what else does, such as a learning rate
/// that falls until the end, is part of the identity.
bool goes_on_longer(const JsonValue& state, const TrainingRun& run) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  return !run.plan().program.asynchronous && state.at("pass").integer(0, kMost) < run.passes();
}

/// Then a checkpoint holds nothing but float32 weights and optimizer state, whatever passes compute with.
bool nothing_under_way(const JsonValue& state) {
  for (const char* list : {"stashes", "values", "send_buffers", "messages", "evicted"}) {
    if (state.at(list).size() > 0) return false;
  }
  for (const JsonValue& holder : state.at("holders").elements()) {
    if (holder.at("old_versions").size() > 0) return false;
  }
  return true;
}

/// Returns where the part of a list begins in which two texts differ first.
std::size_t differing_part(std::string_view one, std::string_view other) {
  constexpr std::string_view kBetween = ", ";
  const auto end = one.begin() + static_cast<std::ptrdiff_t>(std::min(one.size(), other.size()));
  const auto same = static_cast<std::size_t>(std::mismatch(one.begin(), end, other.begin()).first - one.begin());
  const std::size_t before = one.substr(0, same).rfind(kBetween);
  return before == std::string_view::npos ? 0 : before + kBetween.size();
}

/// Throws `Error`, with the name of what differs, unless `run` computes what the run of the saved `state` computed. A
/// synchronous run may go on for more steps, and one with nothing under way in numbers of another type but float64.
void check_saved_identity(const JsonValue& state, const TrainingRun& run) {
  const JsonValue saved = state.at("run");
  for (const auto& [name, value] : run_identity(run.plan(), run.passes())) {
    const std::string_view was = saved.at(name).text();
    if (name == "steps" && goes_on_longer(state, run)) continue;
    if (name == "numbers" && nothing_under_way(state) && was != "float64" && value != "float64") continue;
    if (was == value) continue;
    const std::size_t part = differing_part(was, value);
    saved.at(name).fail("the checkpoint was saved with '" + std::string(was.substr(part)) + "', this run has '" +
                        value.substr(part) + "'; expected the same, or a new run from its exported weights");
  }
}

using Json = nlohmann::ordered_json;

std::string holder_name(std::uint32_t holder) { return "holder" + std::to_string(holder); }

std::string stash_name(const StashKey& key, StageBlock block) {
  return holder_name(key.holder) + ".microbatch" + std::to_string(key.microbatch) + ".slice" +
         std::to_string(key.slice) + ".block" + std::to_string(static_cast<int>(block));
}

std::string value_name(const ValueKey& key) {
  return "value." + std::string(kOpNames[static_cast<std::size_t>(key.op)]) + ".stage" +
         std::to_string(index(key.stage)) + ".microbatch" + std::to_string(index(key.microbatch)) + ".slice" +
         std::to_string(key.slice);
}

/// Returns what a value is for: a forward, a recompute, a backward or a teacher.
Op value_op(std::string_view text) {
  for (const Op op : {Op::kF, Op::kR, Op::kB, Op::kX}) {
    if (text == kOpNames[static_cast<std::size_t>(op)]) return op;
  }
  throw Error("checkpoint: a value for '" + std::string(text) + "'; expected F, R, B or X");
}

/// Collects a run's state.
class Taker {
 public:
  explicit Taker(TrainingRun& run) : run_(run), numbers_(run.plan().options.model.numbers) {}

  Snapshot take() {
    Json state{{"format", "plumbline-checkpoint"}, {"version", kCheckpointVersion}, {"run", Json::object()}};
    for (const auto& [name, value] : run_identity(run_.plan(), run_.passes())) state["run"][name] = value;
    state["pass"] = run_.pass();
    state["positions"] = std::vector<InstrIndex>(run_.positions().begin(), run_.positions().end());
    state["holders"] = Json::array();
    state["stashes"] = Json::array();
    state["values"] = Json::array();
    state["send_buffers"] = Json::array();
    state["slots"] = Json::array();
    state["guests"] = Json::array();
    state["evicted"] = Json::array();
    for (const auto& worker : run_.workers()) {
      if (worker) take_device(*worker, state);
    }
    take_mailbox(state);
    take_losses();
    snapshot_.state = state.dump(1) + "\n";
    return std::move(snapshot_);
  }

 private:
  void add(std::string name, std::span<const std::byte> bytes) {
    snapshot_.tensors.push_back({std::move(name), "U8", {static_cast<std::int64_t>(bytes.size())}, bytes});
  }

  void add_numbers(std::string name, std::span<const std::byte> bytes, std::vector<std::int64_t> shape) {
    snapshot_.tensors.push_back({std::move(name), number_bytes() == 8 ? "F64" : "F32", std::move(shape), bytes});
  }

  std::int64_t number_bytes() const { return host_number_bytes(numbers_); }

  void add_numbers(const std::string& name, std::span<const std::byte> on_device) {
    add_numbers(name, seen(on_device), {static_cast<std::int64_t>(on_device.size()) / number_bytes()});
  }

  /// Adds a version as passes read it.
  void add_version(const std::string& name, const Block& block) {
    if (numbers_ != NumberType::kBFloat16) return add_numbers(name, block.span());
    snapshot_.tensors.push_back({name, "BF16", {block.bytes() / 2}, seen(block.span())});
  }

  /// What lies in the memory of the device that is being taken.
  std::span<const std::byte> seen(std::span<const std::byte> bytes) {
    std::vector<std::byte> scratch;
    const std::span<const std::byte> view = memory_->view(bytes, scratch);
    return scratch.empty() ? view : own(std::move(scratch));
  }

  void take_device(DeviceWorker& worker, Json& state) {
    memory_ = &worker.arena().memory();
    for (auto& [number, holder] : worker.holders()) take_holder(number, holder, state["holders"]);
    LiveBuffers& live = worker.live();
    for (auto& [key, stash] : live.stashes) take_stash(key, stash, state["stashes"]);
    for (const auto& [key, block] : live.values) {
      state["values"].push_back({{"for", kOpNames[static_cast<std::size_t>(key.op)]},
                                 {"stage", index(key.stage)},
                                 {"microbatch", index(key.microbatch)},
                                 {"slice", key.slice},
                                 {"bytes", block.bytes()}});
      add(value_name(key), seen(block.span()));
    }
    for (const auto& [transfer, blocks] : live.send_buffers) {
      state["send_buffers"].push_back(transfer);
      std::vector<std::byte> message;
      for (const Block& block : blocks) {
        const std::span<const std::byte> bytes = seen(block.span());
        message.insert(message.end(), bytes.begin(), bytes.end());
      }
      add("send_buffer" + std::to_string(transfer), own(std::move(message)));
    }
    for (const auto& [move, block] : live.remote_stashes) state["guests"].push_back(move);
    for (const auto& [key, blocks] : live.evicted) take_evicted(key, blocks, state["evicted"]);
    for (const auto& [transfer, blocks] : live.slots) state["slots"].push_back(transfer);
  }

  void take_holder(std::uint32_t number, HolderState& holder, Json& holders) {
    const HolderState::Blocks blocks = holder.blocks();
    Json old_versions = Json::array();
    for (const auto& [version, block] : *blocks.versions) {
      old_versions.push_back(version);
      add_version(holder_name(number) + ".version" + std::to_string(version), block);
    }
    Json notes = Json::array();
    for (const std::int64_t* note : blocks.notes) notes.push_back(*note);
    holders.push_back({{"holder", number},
                       {"version", holder.version()},
                       {"updates_done", holder.updates_done()},
                       {"away", holder.weights_place()},
                       {"old_versions", old_versions},
                       {"notes", notes}});
    std::span<const std::byte> rest = holder.stored_weights();
    for (const ParameterFacts& parameter : holder.layout().parameters) {
      const auto size = static_cast<std::size_t>(parameter.count() * number_bytes());
      add_numbers(holder_name(number) + ".weights." + parameter.name, rest.first(size), parameter.shape);
      rest = rest.subspan(size);
    }
    add_numbers(holder_name(number) + ".gradients", blocks.gradients->span());
    if (blocks.handed_over->bytes() > 0) {
      add_numbers(holder_name(number) + ".handed_over", blocks.handed_over->span());
    }
    add_numbers(holder_name(number) + ".optimizer", holder.optimizer_state());
    for (std::size_t i = 0; i < blocks.corrections->size(); ++i) {
      add_numbers(holder_name(number) + ".correction" + std::to_string(i), (*blocks.corrections)[i].span());
    }
  }

  void take_stash(const StashKey& key, StageStash& stash, Json& stashes) {
    Json blocks = Json::array();
    for (const StageBlock block : kKeptBlocks) {
      const std::span<const std::byte> bytes = stash.storage(block);
      if (bytes.empty()) continue;
      blocks.push_back(static_cast<int>(block));
      add(stash_name(key, block), seen(bytes));
    }
    stashes.push_back({{"holder", key.holder},
                       {"microbatch", key.microbatch},
                       {"slice", key.slice},
                       {"dropped", stash.dropped()},
                       {"blocks", blocks}});
  }

  void take_evicted(const StashKey& key, const EvictedBlocks& blocks, Json& evicted) {
    Json numbers = Json::array();
    for (const auto& [block, bytes] : blocks) {
      numbers.push_back(static_cast<int>(block));
      add("evicted." + stash_name(key, block), bytes);
    }
    evicted.push_back(
        {{"holder", key.holder}, {"microbatch", key.microbatch}, {"slice", key.slice}, {"blocks", numbers}});
  }

  std::span<const std::byte> own(std::vector<std::byte> bytes) {
    return snapshot_.owned.emplace_back(std::move(bytes));
  }

  void take_mailbox(Json& state) {
    Mailbox::Contents contents = run_.under_way();
    state["messages"] = Json::array();
    for (auto& [transfer, bytes] : contents.messages) {
      state["messages"].push_back(transfer);
      add("message" + std::to_string(transfer), own(std::move(bytes)));
    }
    state["reductions"] = Json::array();
    for (auto& [collective, reduction] : contents.reductions) {
      const std::string name = "reduction" + std::to_string(collective);
      Json parts = Json::array();
      for (std::size_t member = 0; member < reduction.parts.size(); ++member) {
        if (reduction.parts[member].empty()) continue;
        parts.push_back(member);
        add(name + ".part" + std::to_string(member), own(std::move(reduction.parts[member])));
      }
      state["reductions"].push_back({{"collective", collective}, {"parts", parts}});
      add(name + ".sum", own(std::move(reduction.sum)));
    }
  }

  void take_losses() {
    std::vector<double> values;
    std::vector<std::byte> known;
    for (const std::optional<double>& loss : run_.losses().losses()) {
      values.push_back(loss.value_or(0));
      known.push_back(std::byte{loss.has_value()});
    }
    std::vector<std::byte> bytes(values.size() * sizeof(double));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    snapshot_.tensors.push_back({"losses", "F64", {static_cast<std::int64_t>(values.size())}, own(std::move(bytes))});
    add("losses_known", own(std::move(known)));
  }

  TrainingRun& run_;
  NumberType numbers_;
  DeviceMemory* memory_ = nullptr;
  Snapshot snapshot_;
};

/// Puts a saved state into a new run.
class Restorer {
 public:
  Restorer(TrainingRun& run, const JsonValue& state, const SafetensorsFile& tensors)
      : run_(run), state_(state), tensors_(tensors) {}

  void restore() {
    check_format(state_, "plumbline-checkpoint", state_.at("version").integer(1, kCheckpointVersion));
    check_saved_identity(state_, run_);
    const std::vector<InstrIndex> positions = read_positions();
    run_.resume(state_.at("pass").integer(0, run_.passes() - 1), positions, mailbox());
    for (const auto& worker : run_.workers()) {
      if (worker) worker->live() = {};
    }
    const JsonValue holders = state_.at("holders");
    if (holders.size() != program().holders.size()) holders.fail("expected every holder of a stage once");
    for (const JsonValue& holder : holders.elements()) restore_holder(holder);
    for (const JsonValue& stash : state_.at("stashes").elements()) restore_stash(stash);
    for (const JsonValue& value : state_.at("values").elements()) restore_value(value);
    for (const JsonValue& transfer : state_.at("send_buffers").elements()) restore_send_buffer(transfer);
    for (const JsonValue& transfer : state_.at("slots").elements()) restore_slot(transfer);
    for (const JsonValue& move : state_.at("guests").elements()) restore_remote_stash(move);
    for (const JsonValue& evicted : state_.at("evicted").elements()) restore_evicted(evicted);
    restore_losses();
  }

 private:
  const Program& program() const { return run_.plan().program; }

  void fill(DeviceMemory& memory, std::span<std::byte> into, const std::string& name) const {
    const std::span<const std::byte> bytes = tensors_.at(name).bytes;
    if (bytes.size() != into.size()) {
      throw Error("checkpoint: tensor '" + name + "' has " + std::to_string(bytes.size()) + " bytes; expected " +
                  std::to_string(into.size()));
    }
    memory.write(into.data(), bytes);
  }

  /// `blocks` one after the other.
  void fill_all(DeviceMemory& memory, const std::vector<Block>& blocks, const std::string& name) const {
    std::size_t size = 0;
    for (const Block& block : blocks) size += static_cast<std::size_t>(block.bytes());
    std::vector<std::byte> message(size);
    fill(host_memory(), message, name);
    std::span<const std::byte> rest = message;
    for (const Block& block : blocks) {
      const auto length = static_cast<std::size_t>(block.bytes());
      memory.write(block.data(), rest.first(length));
      rest = rest.subspan(length);
    }
  }

  std::vector<std::byte> bytes(const std::string& name) const {
    const std::span<const std::byte> bytes = tensors_.at(name).bytes;
    return {bytes.begin(), bytes.end()};
  }

  std::vector<InstrIndex> read_positions() const {
    const JsonValue list = state_.at("positions");
    if (list.size() != run_.workers().size()) list.fail("expected one position per device");
    std::vector<InstrIndex> positions;
    for (const JsonValue& position : list.elements()) {
      const auto& lanes = program().lane_begin;
      const std::size_t device = positions.size();
      positions.push_back(static_cast<InstrIndex>(position.integer(lanes[device], lanes[device + 1])));
    }
    return positions;
  }

  std::uint32_t number_of(const JsonValue& transfer) const {
    return static_cast<std::uint32_t>(transfer.integer(0, static_cast<std::int64_t>(program().transfers.size()) - 1));
  }

  Mailbox::Contents mailbox() const {
    Mailbox::Contents contents;
    for (const JsonValue& transfer : state_.at("messages").elements()) {
      contents.messages[number_of(transfer)] = bytes("message" + std::to_string(number_of(transfer)));
    }
    for (const JsonValue& saved : state_.at("reductions").elements()) {
      const auto last = static_cast<std::int64_t>(program().collectives.size()) - 1;
      const auto collective = static_cast<std::uint32_t>(saved.at("collective").integer(0, last));
      const std::string name = "reduction" + std::to_string(collective);
      const auto members = static_cast<std::int64_t>(program().collectives[collective].members.size());
      Mailbox::Reduction& reduction = contents.reductions[collective];
      reduction.sum = bytes(name + ".sum");
      if (!reduction.sum.empty()) reduction.joined = static_cast<std::size_t>(members);
      for (const JsonValue& member : saved.at("parts").elements()) {
        const auto number = static_cast<std::size_t>(member.integer(0, members - 1));
        reduction.parts.resize(static_cast<std::size_t>(members));
        reduction.parts[number] = bytes(name + ".part" + std::to_string(number));
        ++reduction.joined;
      }
    }
    return contents;
  }

  std::uint32_t holder_number(const JsonValue& value) const {
    return static_cast<std::uint32_t>(value.integer(0, static_cast<std::int64_t>(program().holders.size()) - 1));
  }
  /// Returns the worker, or null where the device belongs to another process, which takes what is its own.
  DeviceWorker* worker_at(DeviceId device) const { return run_.workers()[index(device)].get(); }
  DeviceWorker* worker_of(std::uint32_t holder) const { return worker_at(program().holders[holder].device); }

  static void restore_notes(const JsonValue& saved, const std::vector<std::int64_t*>& notes) {
    if (saved.size() != notes.size()) saved.fail("expected " + std::to_string(notes.size()) + " notes of methods");
    auto note = notes.begin();
    for (const JsonValue& value : saved.elements()) **note++ = value.integer();
  }

  void restore_holder(const JsonValue& saved) const {
    const std::uint32_t number = holder_number(saved.at("holder"));
    if (worker_of(number) == nullptr) return;
    HolderState& holder = worker_of(number)->holders().at(number);
    std::vector<std::int32_t> old_versions;
    for (const JsonValue& version : saved.at("old_versions").elements()) {
      old_versions.push_back(static_cast<std::int32_t>(version.integer(0, 1 << 30)));
    }
    holder.restore(static_cast<std::int32_t>(saved.at("version").integer(0, 1 << 30)),
                   saved.at("updates_done").integer(0), old_versions);
    holder.place_weights(static_cast<WeightsPlace>(saved.at("away").integer(0, 2)));
    const HolderState::Blocks blocks = holder.blocks();
    DeviceMemory& memory = worker_of(number)->arena().memory();
    for (const auto& [version, block] : *blocks.versions) {
      fill(memory, block.span(), holder_name(number) + ".version" + std::to_string(version));
    }
    fill(memory, blocks.gradients->span(), holder_name(number) + ".gradients");
    if (blocks.handed_over->bytes() > 0) {
      fill(memory, blocks.handed_over->span(), holder_name(number) + ".handed_over");
    }
    fill(memory, holder.optimizer_state(), holder_name(number) + ".optimizer");
    for (std::size_t i = 0; i < blocks.corrections->size(); ++i) {
      fill(memory, (*blocks.corrections)[i].span(), holder_name(number) + ".correction" + std::to_string(i));
    }
    restore_notes(saved.at("notes"), blocks.notes);
    const std::int64_t number_bytes = host_number_bytes(run_.plan().options.model.numbers);
    const std::int64_t count = parameter_offsets(holder.layout()).back();
    std::vector<std::byte> weights(static_cast<std::size_t>(count * number_bytes));
    std::span<std::byte> rest = weights;
    for (const ParameterFacts& parameter : holder.layout().parameters) {
      const auto size = static_cast<std::size_t>(parameter.count() * number_bytes);
      fill(host_memory(), rest.first(size), holder_name(number) + ".weights." + parameter.name);
      rest = rest.subspan(size);
    }
    holder.set_weights(weights);
  }

  void restore_stash(const JsonValue& saved) const {
    const std::uint32_t number = holder_number(saved.at("holder"));
    const auto microbatch =
        static_cast<std::int32_t>(saved.at("microbatch").integer(0, program().num_microbatches - 1));
    const StashKey key{number, microbatch, slice_of(saved, microbatch)};
    if (worker_of(number) == nullptr) return;
    StageStash& stash = worker_of(number)->add_stash(key);
    stash.set_dropped(saved.at("dropped").boolean());
    for (const JsonValue& block : saved.at("blocks").elements()) {
      const auto which = static_cast<StageBlock>(block.integer(0, kStageBlockCount - 1));
      if (std::find(kKeptBlocks.begin(), kKeptBlocks.end(), which) == kKeptBlocks.end()) block.fail("not a kept block");
      fill(worker_of(number)->arena().memory(), stash.revive(which), stash_name(key, which));
    }
  }

  void restore_remote_stash(const JsonValue& saved) const {
    const auto last = static_cast<std::int64_t>(program().moves.size()) - 1;
    const auto move = static_cast<std::uint32_t>(saved.integer(0, last));
    if (program().moves[move].guest == Move::kHost) saved.fail("expected a move to another device");
    if (DeviceWorker* worker = worker_at(program().moves[move].guest)) worker->add_remote_stash(move);
  }

  void restore_evicted(const JsonValue& saved) const {
    const std::uint32_t number = holder_number(saved.at("holder"));
    const auto microbatch =
        static_cast<std::int32_t>(saved.at("microbatch").integer(0, program().num_microbatches - 1));
    const StashKey key{number, microbatch, slice_of(saved, microbatch)};
    if (worker_of(number) == nullptr) return;
    EvictedBlocks& blocks = worker_of(number)->live().evicted[key];
    for (const JsonValue& block : saved.at("blocks").elements()) {
      const auto which = static_cast<StageBlock>(block.integer(0, kStageBlockCount - 1));
      blocks[which] = bytes("evicted." + stash_name(key, which));
    }
  }

  void restore_value(const JsonValue& saved) const {
    const ValueKey key{
        value_op(saved.at("for").text()),
        StageId{static_cast<std::int32_t>(saved.at("stage").integer(0, program().num_stages))},
        MicrobatchId{static_cast<std::int32_t>(saved.at("microbatch").integer(0, program().num_microbatches - 1))},
        static_cast<std::int16_t>(saved.at("slice").integer(0, 32766))};
    if (DeviceWorker* worker = worker_of(consumer_holder(key))) {
      fill(worker->arena().memory(), worker->add_value(key, saved.at("bytes").integer(0)), value_name(key));
    }
  }

  /// Who takes a value: the holder whose F, I or B of that stage and microbatch stands after its device's position.
  std::uint32_t consumer_holder(const ValueKey& key) const {
    for (std::size_t device = 0; device < run_.positions().size(); ++device) {
      for (InstrIndex at = run_.positions()[device]; at < program().lane_begin[device + 1]; ++at) {
        if (takes_value(program(), at, key)) return program().rows[program().instrs[at].row].holder;
      }
    }
    throw Error("checkpoint: " + value_name(key) + " has no consumer left");
  }

  std::int16_t slice_of(const JsonValue& saved, std::int32_t microbatch) const {
    const auto slices = static_cast<std::int64_t>(program().parts.slices(static_cast<std::size_t>(microbatch)));
    return static_cast<std::int16_t>(saved.at("slice").integer(0, slices - 1));
  }

  const Channel& channel_of(std::uint32_t transfer) const {
    return program().channels[program().transfers[transfer].channel];
  }

  void restore_send_buffer(const JsonValue& saved) const {
    const std::uint32_t transfer = number_of(saved);
    DeviceWorker* worker = worker_at(channel_of(transfer).from);
    if (worker == nullptr) return;
    fill_all(worker->arena().memory(), worker->add_buffer(transfer, true), "send_buffer" + std::to_string(transfer));
  }

  void restore_slot(const JsonValue& saved) const {
    const std::uint32_t transfer = number_of(saved);
    if (DeviceWorker* worker = worker_at(channel_of(transfer).to)) worker->add_buffer(transfer, false);
  }

  void restore_losses() const {
    const std::span<const std::byte> values = tensors_.at("losses").bytes;
    const std::span<const std::byte> known = tensors_.at("losses_known").bytes;
    const std::size_t count = run_.losses().losses().size();
    if (known.size() > count || values.size() != known.size() * sizeof(double)) {
      throw Error("checkpoint: the losses do not fit the run; expected at most " + std::to_string(count));
    }
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i] == std::byte{0}) continue;
      double loss = 0;
      std::memcpy(&loss, values.data() + i * sizeof(double), sizeof(double));
      run_.losses().restore(i, loss);
    }
  }

  TrainingRun& run_;
  const JsonValue& state_;
  const SafetensorsFile& tensors_;
};

}  // namespace

Snapshot take_snapshot(TrainingRun& run) { return Taker(run).take(); }

void restore_snapshot(TrainingRun& run, const JsonValue& state, const SafetensorsFile& tensors) {
  Restorer(run, state, tensors).restore();
}

}  // namespace plumb
