#include "tests/support/recorded_streams.hpp"

#include <utility>

namespace plumb {
namespace {

using CallKind = StreamCall::Kind;

std::vector<Access> moved(const std::byte* to, std::span<const std::byte> from) {
  return {{from, false}, {{to, from.size()}, true}};
}

}  // namespace

std::string text_of(const StreamCall& call) {
  const std::string stream = " on stream " + std::to_string(static_cast<std::uint32_t>(call.stream));
  switch (call.kind) {
    case CallKind::kRecord:
      return "record of event " + std::to_string(static_cast<std::uint32_t>(call.event)) + stream;
    case CallKind::kWait:
      return "wait for event " + std::to_string(static_cast<std::uint32_t>(call.event)) + stream;
    case CallKind::kBegin:
      return "begin of a block" + stream;
    case CallKind::kEnd:
      return "end of a block" + stream;
    default:
      return call.name + stream;
  }
}

StreamId RecordedStreams::make_stream(DeviceId device, StreamKind kind) {
  const StreamId stream = machine_->make_stream(device, kind);
  log_.push_back({.kind = CallKind::kStream, .stream = stream, .device = device});
  return stream;
}

void RecordedStreams::record(EventId event, StreamId stream) {
  log_.push_back({.kind = CallKind::kRecord, .stream = stream, .event = event});
  machine_->record(event, stream);
}

void RecordedStreams::wait(StreamId stream, EventId event) {
  log_.push_back({.kind = CallKind::kWait, .stream = stream, .event = event});
  machine_->wait(stream, event);
}

void RecordedStreams::launch(StreamId stream, Work work) {
  log_.push_back({.kind = CallKind::kWork, .stream = stream, .name = work.name, .accesses = work.accesses});
  machine_->launch(stream, std::move(work));
}

void RecordedStreams::fill(StreamId stream, std::span<std::byte> bytes, std::byte value) {
  log_.push_back({.kind = CallKind::kWork, .stream = stream, .name = "fill", .accesses = {{bytes, true}}});
  machine_->fill(stream, bytes, value);
}

void RecordedStreams::copy(StreamId stream, std::byte* to, std::span<const std::byte> from) {
  log_.push_back({.kind = CallKind::kCopy, .stream = stream, .name = "copy", .accesses = moved(to, from)});
  machine_->copy(stream, to, from);
}

void RecordedStreams::send(StreamId stream, DeviceId peer, std::byte* to, std::span<const std::byte> from) {
  log_.push_back(
      {.kind = CallKind::kSend, .stream = stream, .device = peer, .name = "send", .accesses = moved(to, from)});
  machine_->send(stream, peer, to, from);
}

void RecordedStreams::add(StreamId stream, NumberType type, std::span<std::byte> sum, std::span<const std::byte> term) {
  log_.push_back({.kind = CallKind::kWork, .stream = stream, .name = "add", .accesses = {{sum, true}, {term, false}}});
  machine_->add(stream, type, sum, term);
}

std::byte* RecordedStreams::allocate(DeviceId device, std::int64_t bytes) {
  std::byte* storage = machine_->allocate(device, bytes);
  const std::span<const std::byte> all(storage, static_cast<std::size_t>(bytes));
  log_.push_back({.kind = CallKind::kAllocate, .device = device, .accesses = {{all, true}}});
  return storage;
}

void RecordedStreams::free(DeviceId device, std::byte* storage) {
  log_.push_back({.kind = CallKind::kFree, .device = device, .accesses = {{{storage, 0}, true}}});
  machine_->free(device, storage);
}

void RecordedStreams::begin_block(StreamId stream, std::span<const std::byte> block) {
  log_.push_back({.kind = CallKind::kBegin, .stream = stream, .accesses = {{block, true}}});
}

void RecordedStreams::end_block(StreamId stream, std::span<const std::byte> block) {
  log_.push_back({.kind = CallKind::kEnd, .stream = stream, .accesses = {{block, true}}});
}

void RecordedStreams::begin_instr(StreamId stream, std::uint32_t instr, const std::string& name) {
  log_.push_back({.kind = CallKind::kInstr, .stream = stream, .instr = instr, .name = name});
  machine_->begin_instr(stream, instr, name);
}

void RecordedStreams::note_seen(EventId event) {
  log_.push_back({.kind = CallKind::kSeen, .event = event});
  machine_->note_seen(event);
}

void RecordedStreams::synchronize() {
  log_.push_back({.kind = CallKind::kSynchronize});
  machine_->synchronize();
}

}  // namespace plumb
