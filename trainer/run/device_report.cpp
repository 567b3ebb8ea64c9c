#include "trainer/run/device_report.hpp"

#include <algorithm>
#include <set>

#include "trainer/transport/packet.hpp"

namespace plumb {
namespace {

/// Returns whether `device` is where a transfer's times are noted.
bool is_noted_by(const Program& program, const Transfer& transfer, DeviceId device) {
  return program.channels[transfer.channel].to == device;
}

bool is_message_of(const Program& program, std::size_t transfer, DeviceId device) {
  const auto number = static_cast<std::uint32_t>(transfer);
  return !program.is_move(number) && program.channels[program.transfers[number].channel].from == device;
}

ProcessGroup::Bytes to_bytes(const DeviceReport& report) {
  PacketWriter writer;
  writer.put_all(std::span(report.versions))
      .put_all(std::span(report.start))
      .put_all(std::span(report.end))
      .put_all(std::span(report.received))
      .put_all(std::span(report.sent))
      .put_all(std::span(report.collective_ends))
      .put_all(std::span(report.memory))
      .put(report.peak_memory_bytes)
      .put(report.peak_memory_by_class)
      .put(report.updates_skipped)
      .put(report.updates_rolled_back)
      .put(report.holders.size());
  for (const auto& [number, holder] : report.holders) {
    writer.put(number).put_all(holder.weights).put_all(holder.gradients).put_all(holder.frozen);
  }
  return writer.take();
}

DeviceReport report_in(std::size_t device, std::span<const std::byte> bytes) {
  PacketReader reader(bytes);
  DeviceReport report;
  report.device = DeviceId{static_cast<std::int32_t>(device)};
  report.versions = reader.get_all<VersionRead>();
  report.start = reader.get_all<Ticks>();
  report.end = reader.get_all<Ticks>();
  report.received = reader.get_all<TransferTimes>();
  report.sent = reader.get_all<Ticks>();
  report.collective_ends = reader.get_all<Ticks>();
  report.memory = reader.get_all<MemoryPoint>();
  report.peak_memory_bytes = reader.get<std::int64_t>();
  report.peak_memory_by_class = reader.get<MemoryByClass>();
  report.updates_skipped = reader.get<std::int64_t>();
  report.updates_rolled_back = reader.get<std::int64_t>();
  const auto holders = reader.get<std::size_t>();
  for (std::size_t i = 0; i < holders; ++i) {
    HolderReport& holder = report.holders[reader.get<std::uint32_t>()];
    holder.weights = reader.get_view();
    holder.gradients = reader.get_view();
    holder.frozen = reader.get_view();
  }
  return report;
}

}  // namespace

DeviceReport report_of(DeviceWorker& worker, const Program& program, const RunTimes& times,
                       std::span<const Ticks> collective_ends) {
  DeviceReport report;
  report.device = worker.device();
  report.versions = worker.versions_read();
  const auto begin = program.lane_begin[index(worker.device())];
  const auto end = program.lane_begin[index(worker.device()) + 1];
  report.start.assign(times.start.begin() + begin, times.start.begin() + end);
  report.end.assign(times.end.begin() + begin, times.end.begin() + end);
  for (std::size_t t = 0; t < program.transfers.size(); ++t) {
    if (is_noted_by(program, program.transfers[t], worker.device())) report.received.push_back(times.transfers[t]);
    if (is_message_of(program, t, worker.device())) report.sent.push_back(times.transfers[t].start);
  }
  report.collective_ends.assign(collective_ends.begin(), collective_ends.end());
  report.memory = worker.memory();
  report.peak_memory_bytes = worker.arena().peak_bytes();
  report.peak_memory_by_class = worker.arena().at_peak();
  std::set<StageId> seen;
  for (auto& [number, holder] : worker.holders()) {
    const bool first = seen.insert(holder.stage()).second;
    report.holders[number] = {holder.stored_weights(), holder.last_gradients(),
                              first ? holder.stored_frozen() : std::span<const std::byte>{}};
    report.updates_skipped = std::max(report.updates_skipped, holder.updates_skipped());
    report.updates_rolled_back += holder.updates_rolled_back();
  }
  return report;
}

RunTimes run_times(const Program& program, std::span<const DeviceReport> reports) {
  RunTimes times;
  times.start.resize(program.size());
  times.end.resize(program.size());
  times.transfers.resize(program.transfers.size());
  times.collective_end.assign(program.collectives.size(), -1);
  for (const DeviceReport& report : reports) {
    const auto begin = program.lane_begin[index(report.device)];
    std::ranges::copy(report.start, times.start.begin() + begin);
    std::ranges::copy(report.end, times.end.begin() + begin);
    auto received = report.received.begin();
    for (std::size_t t = 0; t < program.transfers.size(); ++t) {
      if (is_noted_by(program, program.transfers[t], report.device)) times.transfers[t] = *received++;
    }
    for (std::size_t c = 0; c < times.collective_end.size(); ++c) {
      const Ticks here = report.collective_ends[c];
      Ticks& first = times.collective_end[c];
      if (here >= 0 && (first < 0 || here < first)) first = here;
    }
  }
  for (const DeviceReport& report : reports) {
    auto sent = report.sent.begin();
    for (std::size_t t = 0; t < program.transfers.size(); ++t) {
      if (!is_message_of(program, t, report.device)) continue;
      times.transfers[t].start = std::max(times.transfers[t].start, *sent++);
    }
  }
  for (const TransferTimes& message : times.transfers) times.sent_at.push_back(message.start);
  times.makespan = times.end.empty() ? 0 : *std::ranges::max_element(times.end);
  return times;
}

GatheredReports gather_reports(ProcessGroup& group, const DeviceReport& own) {
  GatheredReports gathered;
  gathered.bytes = group.gather(to_bytes(own));
  if (!group.is_first()) return gathered;
  for (std::size_t device = 0; device < gathered.bytes.size(); ++device) {
    gathered.reports.push_back(report_in(device, gathered.bytes[device]));
  }
  return gathered;
}

}  // namespace plumb
