#include "schedules/program/program_text.hpp"

#include <cstddef>

#include "schedules/document/schedule_io.hpp"
#include "schedules/program/waits.hpp"

namespace plumb {
namespace {

std::string text(DeviceId device) { return "d" + std::to_string(index(device)); }

std::string text(const Program& program, InstrIndex at) {
  return at < program.size() ? to_string(program.instrs[at].action) : "end";
}

/// The instr, or "end" when it is the end of the device's lane.
std::string in_lane(const Program& program, DeviceId device, InstrIndex at) {
  return at == program.lane_begin[index(device) + 1] ? "end" : text(program, at);
}

std::string wait_text(const Program& program, const Wait& wait) {
  if (!is_for_collective(wait)) return text(program, wait.source);
  return "collective " + std::to_string(collective_of(wait));
}

std::string instr_text(const Program& program, InstrIndex at) {
  const Instr& instr = program.instrs[at];
  std::string out = text(program, at);
  if (program.rows[instr.row].recompute && !is_move(instr.action.op)) out += "+R";
  if (!program.version_read.empty() && program.version_read[at] >= 0) {
    out += "[v" + std::to_string(program.version_read[at]) + "]";
  }
  std::string waits;
  for (const Wait& wait : waits_of(program, at)) waits += (waits.empty() ? "{" : " ") + wait_text(program, wait);
  return waits.empty() ? out : out + waits + "}";
}

std::string lane_text(const Program& program, std::size_t device) {
  std::string out = "d" + std::to_string(device) + ":";
  for (InstrIndex at = program.lane_begin[device]; at < program.lane_begin[device + 1]; ++at) {
    const bool second = unit_begin(program, at) != at;
    out += second ? ";" : program.instrs[at].action.overlaps_next ? " (" : " ";
    out += instr_text(program, at) + (second ? ")" : "");
  }
  return out + "\n";
}

std::string transfer_text(const Program& program, std::uint32_t number) {
  const Transfer& transfer = program.transfers[number];
  const Channel& channel = program.channels[transfer.channel];
  return text(channel.from) + ">" + text(channel.to) + " " +
         std::string(kOpNames[static_cast<std::size_t>(program.op_of(number))]) + " " +
         text(program, transfer.producer) + " -> " + text(program, transfer.consumer) + ", issued " +
         text(program, transfer.issue) + ", posted " + text(program, transfer.post) + ", sent " +
         in_lane(program, channel.from, transfer.sent) + ", " + std::to_string(transfer.bytes) + " bytes\n";
}

std::string collective_text(const Program& program, std::size_t number) {
  const Collective& collective = program.collectives[number];
  std::string out =
      "collective " + std::to_string(number) + (collective.kind == Collective::Kind::kReduceTied ? " (tied):" : ":");
  for (const InstrIndex member : collective.members) {
    out += " " + text(program.holders[program.rows[program.instrs[member].row].holder].device) + " " +
           text(program, member);
  }
  return out + ", " + std::to_string(collective.bytes) + " bytes, " + std::to_string(collective.duration) + " ticks\n";
}

std::string version_text(const Program& program, const KeptVersion& kept) {
  const Holder& holder = program.holders[kept.holder];
  return text(holder.device) + " stage " + std::to_string(index(holder.stage)) + " keeps v" +
         std::to_string(kept.version) + " from " + text(program, kept.replaced_by) + " to " +
         text(program, kept.last_reader) + "\n";
}

}  // namespace

std::string program_to_text(const Program& program) {
  std::string out;
  for (std::size_t device = 0; device + 1 < program.lane_begin.size(); ++device) out += lane_text(program, device);
  for (std::uint32_t t = 0; t < program.transfers.size(); ++t) out += transfer_text(program, t);
  for (std::size_t i = 0; i < program.collectives.size(); ++i) out += collective_text(program, i);
  for (const KeptVersion& kept : program.kept_versions) out += version_text(program, kept);
  return out;
}

}  // namespace plumb
