#pragma once

#include <cstdint>
#include <vector>

#include "schedules/program/program.hpp"
#include "schedules/program/program_index.hpp"
#include "schedules/runnability/transfer_mode.hpp"

namespace plumb {

// What is known about the messages of a program before anything runs: orders, batches and queues of each mode.

/// The transfers of every channel in the order in which it serves them.
IndexLists service_order(const Program& program, TransferMode mode);

/// The instr whose end offers the message.
constexpr InstrIndex offered_by(const Transfer& transfer, TransferMode mode) {
  return rules_of(mode).in_issue_order ? transfer.issue : transfer.producer;
}

/// Messages by the instr whose end offers them.
const IndexLists& offered(const ProgramIndex& indexed, TransferMode mode);

/// The batches of batched mode. Empty in all other modes.
struct Batches {
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  std::vector<std::uint32_t> of_send;     ///< by transfer: the batch that it is a send of, or kNone
  std::vector<std::uint32_t> of_receive;  ///< by transfer: the batch that it is a receive of, or kNone
  std::vector<std::uint32_t> size;        ///< by batch: sends and receives together
};

Batches batches_of(const Program& program, TransferMode mode);

/// What must be done before a message starts in pair-fifo mode. Empty in all other modes.
struct PairQueues {
  static constexpr std::uint32_t kNone = 0xFFFFFFFFU;

  std::vector<std::uint32_t> before_send;     ///< by transfer: the one in front of it at its sender, or kNone
  std::vector<std::uint32_t> before_receive;  ///< by transfer: the one in front of it at its receiver, or kNone
};

PairQueues pair_queues_of(const Program& program, TransferMode mode);

}  // namespace plumb
