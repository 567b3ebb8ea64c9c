#include "tools/formats/chakra_trace.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include "models/ground/error.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/program/waits.hpp"
#include "tools/terminal/output_file.hpp"

namespace plumb {
namespace {

/// A protobuf message being written: fields in any order.
class ChakraMessage {
 public:
  void add_number(std::uint32_t field, std::uint64_t value) {
    add_varint(field << 3U);
    add_varint(value);
  }

  void add_text(std::uint32_t field, std::string_view text) {
    add_varint(field << 3U | 2U);
    add_varint(text.size());
    bytes_ += text;
  }

  void add_varint(std::uint64_t value) {
    for (; value >= 128; value >>= 7U) bytes_ += static_cast<char>(value | 128U);
    bytes_ += static_cast<char>(value);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

enum class NodeType : std::uint8_t { kCompute = 4, kSend = 5, kReceive = 6, kCollective = 7 };

/// Fields of the value of an attribute, by its type.
enum class ValueField : std::uint8_t { kInt32 = 7, kInt64 = 9, kBool = 27, kString = 29 };

class Node {
 public:
  Node(std::uint64_t id, std::string_view name, NodeType type) {
    message_.add_number(1, id);
    message_.add_text(2, name);
    message_.add_number(3, static_cast<std::uint64_t>(type));
    add(ValueField::kBool, "is_cpu_op", 0);
  }

  void after(std::uint64_t id) { message_.add_number(4, id); }
  void takes(std::uint64_t id) { message_.add_number(5, id); }
  void lasts(std::uint64_t microseconds) { message_.add_number(7, microseconds); }

  void add(ValueField field, std::string_view name, std::uint64_t value) {
    ChakraMessage attribute;
    attribute.add_text(1, name);
    attribute.add_number(static_cast<std::uint32_t>(field), value);
    message_.add_text(10, attribute.bytes());
  }

  void add(std::string_view name, std::string_view value) {
    ChakraMessage attribute;
    attribute.add_text(1, name);
    attribute.add_text(static_cast<std::uint32_t>(ValueField::kString), value);
    message_.add_text(10, attribute.bytes());
  }

  const std::string& bytes() const { return message_.bytes(); }

 private:
  ChakraMessage message_;
};

/// A node has the index of its instr; sends and receives follow after all instrs, two per transfer.
class ChakraWriter {
 public:
  explicit ChakraWriter(const Program& program) : program_(program), traces_(program.lane_begin.size() - 1) {
    for (std::uint32_t c = 0; c < program.collectives.size(); ++c) {
      for (const InstrIndex member : program.collectives[c].members) joined_[member] = c;
    }
  }

  std::vector<std::string> write() {
    ChakraMessage metadata;
    metadata.add_text(1, "0.0.4");
    for (std::string& trace : traces_) append(trace, metadata.bytes());
    for (std::size_t device = 0; device < traces_.size(); ++device) add_lane(device);
    for (std::uint32_t t = 0; t < program_.transfers.size(); ++t) add_transfer(t);
    return std::move(traces_);
  }

 private:
  static void append(std::string& trace, const std::string& message) {
    ChakraMessage length;
    length.add_varint(message.size());
    trace += length.bytes() + message;
  }

  std::uint64_t send_id(std::uint32_t transfer) const { return program_.size() + 2 * std::uint64_t{transfer}; }
  std::uint64_t receive_id(std::uint32_t transfer) const { return send_id(transfer) + 1; }
  bool is_compute_node(InstrIndex i) const { return !joined_.contains(i); }

  void add_lane(std::size_t device) {
    std::uint64_t last = kNone;
    for (InstrIndex i = program_.lane_begin[device]; i < program_.lane_begin[device + 1]; ++i) {
      const Instr& instr = program_.instrs[i];
      Node node(i, to_string(instr.action), is_compute_node(i) ? NodeType::kCompute : NodeType::kCollective);
      if (last != kNone) node.after(last);
      for (const Wait& wait : waits_of(program_, i)) add_wait(node, i, wait);
      if (is_compute_node(i)) {
        const Ticks per_microsecond = program_.base.ticks_per_ns * 1000;
        node.lasts(static_cast<std::uint64_t>((program_.durations[instr.row] + per_microsecond / 2) / per_microsecond));
        last = i;
      } else {
        add_collective(node, joined_.at(i));
      }
      append(traces_[device], node.bytes());
    }
  }

  void add_wait(Node& node, InstrIndex i, const Wait& wait) const {
    if (is_for_transfer(wait)) {
      node.takes(receive_id(wait.via));
    } else if (is_for_collective(wait)) {
      for (const InstrIndex member : program_.collectives[collective_of(wait)].members) {
        if (device_of(member) == device_of(i)) node.takes(member);
      }
    }
  }

  void add_collective(Node& node, std::uint32_t number) const {
    const Collective& collective = program_.collectives[number];
    constexpr std::uint64_t kAllReduce = 0;
    node.add(ValueField::kInt64, "comm_type", kAllReduce);
    node.add(ValueField::kInt64, "comm_size", static_cast<std::uint64_t>(collective.bytes));
    node.add("pg_name", std::to_string(number));
  }

  void add_transfer(std::uint32_t t) {
    const Transfer& transfer = program_.transfers[t];
    const auto& [from, to, route] = program_.channels[transfer.channel];
    const std::string value = to_string(program_.instrs[transfer.producer].action);
    const auto describe = [&, &a = from, &b = to](Node& node) {
      node.add(ValueField::kInt64, "comm_size", static_cast<std::uint64_t>(transfer.bytes));
      node.add(ValueField::kInt32, "comm_src", index(a));
      node.add(ValueField::kInt32, "comm_dst", index(b));
      node.add(ValueField::kInt32, "comm_tag", t);
    };
    Node send(send_id(t), "send of " + value, NodeType::kSend);
    send.takes(transfer.issue);
    describe(send);
    append(traces_[index(from)], send.bytes());
    Node receive(receive_id(t), "receive of " + value, NodeType::kReceive);
    InstrIndex before = transfer.post;
    while (before > program_.lane_begin[index(to)] && !is_compute_node(before - 1)) --before;
    if (before > program_.lane_begin[index(to)]) receive.after(before - 1);
    describe(receive);
    append(traces_[index(to)], receive.bytes());
  }

  std::size_t device_of(InstrIndex i) const {
    const auto lane = std::ranges::upper_bound(program_.lane_begin, i);
    return static_cast<std::size_t>(lane - program_.lane_begin.begin()) - 1;
  }

  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  const Program& program_;
  std::map<InstrIndex, std::uint32_t> joined_;  ///< collective by the instr that joins it
  std::vector<std::string> traces_;
};

}  // namespace

std::vector<std::string> chakra_traces(const Program& program) {
  if (program.comm) throw Error("--chakra: abstract costs have no messages, expected --network and --cluster");
  const auto moves = [](const Instr& instr) { return instr.action.op == Op::kEvict || instr.action.op == Op::kLoad; };
  if (std::ranges::any_of(program.instrs, moves)) {
    throw Error("--chakra: the schedule moves activations or weights between memories, expected one that does not");
  }
  return ChakraWriter(program).write();
}

void write_chakra_traces(const Program& program, const std::string& prefix) {
  const std::vector<std::string> traces = chakra_traces(program);
  for (std::size_t device = 0; device < traces.size(); ++device) {
    OutputFile(prefix + "." + std::to_string(device) + ".et").finish(traces[device]);
  }
}

}  // namespace plumb
