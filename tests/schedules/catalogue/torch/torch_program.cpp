#include "tests/schedules/catalogue/torch/torch_program.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

namespace plumb::testing {
namespace {

using Cells = std::vector<std::string>;

struct Cell {
  std::int64_t stage = 0;
  std::string kind;
  std::int64_t microbatch = 0;
};

Cell parse_cell(const std::string& text) {
  Cell part;
  std::istringstream in(text);
  in >> part.stage;
  part.kind = text.substr(text.find_first_not_of("0123456789"));
  const std::size_t digits = part.kind.find_last_not_of("0123456789") + 1;
  if (digits < part.kind.size()) part.microbatch = std::stoll(part.kind.substr(digits));
  part.kind.resize(digits);
  return part;
}

/// The one or two parts of a cell.
std::vector<Cell> parts_of(const std::string& cell) {
  if (cell.front() != '(') return {parse_cell(cell)};
  const std::size_t semicolon = cell.find(';');
  return {parse_cell(cell.substr(1, semicolon - 1)),
          parse_cell(cell.substr(semicolon + 1, cell.find(')') - semicolon - 1))};
}

std::string text(std::int64_t stage, const std::string& kind, std::int64_t microbatch) {
  return std::to_string(stage) + kind + std::to_string(microbatch);
}

bool is_backward(const std::string& kind) { return kind == "I" || kind == "B"; }

Cells unshard(const Cells& cells) {
  Cells result;
  std::set<std::int64_t> active;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::vector<std::int64_t> next;
    for (std::size_t j = i; j < cells.size() && next.size() < 3; ++j) {
      for (const Cell& part : parts_of(cells[j])) {
        if (std::find(next.begin(), next.end(), part.stage) == next.end()) next.push_back(part.stage);
      }
    }
    for (const std::int64_t stage : std::set<std::int64_t>(active)) {
      if (std::find(next.begin(), next.end(), stage) != next.end()) continue;
      active.erase(stage);
      result.push_back(std::to_string(stage) + "RESHARD");
    }
    for (const std::int64_t stage : next) {
      if (active.insert(stage).second) result.push_back(std::to_string(stage) + "UNSHARD");
    }
    result.push_back(cells[i]);
  }
  for (const std::int64_t stage : active) result.push_back(std::to_string(stage) + "RESHARD");
  return result;
}

Cells reduce(const Cells& cells, std::int64_t microbatches) {
  Cells result;
  std::map<std::int64_t, std::int64_t> count;
  for (const std::string& cell : cells) {
    result.push_back(cell);
    for (const Cell& part : parts_of(cell)) {
      const bool counts = part.kind == "W" || part.kind == "B";
      if (counts && ++count[part.stage] == microbatches) result.push_back(std::to_string(part.stage) + "REDUCE_GRAD");
    }
  }
  return result;
}

struct Pipeline {
  std::map<std::int64_t, std::size_t> rank_of;  ///< by stage
  std::int64_t stages = 0;
};

Pipeline pipeline_of(const std::vector<Cells>& compute) {
  Pipeline pipeline;
  for (std::size_t rank = 0; rank < compute.size(); ++rank) {
    for (const std::string& cell : compute[rank]) {
      for (const Cell& part : parts_of(cell)) {
        pipeline.rank_of[part.stage] = rank;
        pipeline.stages = std::max(pipeline.stages, part.stage + 1);
      }
    }
  }
  return pipeline;
}

bool is_ready(const Cell& part, const Pipeline& pipeline, const std::set<std::string>& emitted) {
  const auto has = [&](std::int64_t stage, const std::string& kind) {
    return emitted.count(text(stage, kind, part.microbatch)) != 0;
  };
  if (part.kind == "F" && part.stage > 0) return has(part.stage, "RECV_F") || has(part.stage - 1, "F");
  if (is_backward(part.kind) && part.stage < pipeline.stages - 1) {
    return has(part.stage, "RECV_B") || has(part.stage + 1, "I") || has(part.stage + 1, "B");
  }
  return true;
}

std::vector<Cells> send_and_receive(const std::vector<Cells>& lists, const Pipeline& pipeline) {
  std::vector<Cells> result(lists.size());
  std::vector<std::set<std::string>> emitted(lists.size());
  std::vector<std::size_t> at(lists.size(), 0);
  const auto left = [&] {
    for (std::size_t r = 0; r < lists.size(); ++r) {
      if (at[r] < lists[r].size()) return true;
    }
    return false;
  };
  while (left()) {
    bool progress = false;
    for (std::size_t rank = 0; rank < lists.size(); ++rank) {
      if (at[rank] == lists[rank].size()) continue;
      const std::string& cell = lists[rank][at[rank]];
      const std::vector<Cell> parts = parts_of(cell);
      bool ready = true;
      for (const Cell& part : parts) ready = ready && is_ready(part, pipeline, emitted[rank]);
      if (!ready) continue;
      progress = true;
      ++at[rank];
      result[rank].push_back(cell);
      for (const Cell& part : parts) {
        emitted[rank].insert(text(part.stage, part.kind, part.microbatch));
        const bool forward = part.kind == "F";
        if (!forward && !is_backward(part.kind)) continue;
        const std::int64_t other = part.stage + (forward ? 1 : -1);
        if (other < 0 || other == pipeline.stages || pipeline.rank_of.at(other) == rank) continue;
        const std::string letter = forward ? "F" : "B";
        result[rank].push_back(text(part.stage, "SEND_" + letter, part.microbatch));
        const std::string receive = text(other, "RECV_" + letter, part.microbatch);
        result[pipeline.rank_of.at(other)].push_back(receive);
        emitted[pipeline.rank_of.at(other)].insert(receive);
      }
    }
    if (!progress) throw std::runtime_error("Malformed compute schedule");
  }
  return result;
}

/// Receives of one rank moved down.
Cells defer(const Cells& cells, std::size_t rank, const Pipeline& pipeline) {
  Cells result;
  Cells waiting;
  const auto issue = [&](auto chosen) {
    Cells kept;
    for (const std::string& receive : waiting) (chosen(receive) ? result : kept).push_back(receive);
    waiting = kept;
  };
  const auto source = [&](const std::string& receive) {
    const Cell part = parse_cell(receive);
    return pipeline.rank_of.at(part.stage + (part.kind == "RECV_F" ? -1 : 1));
  };
  for (const std::string& cell : cells) {
    const std::vector<Cell> parts = parts_of(cell);
    const std::string& kind = parts.front().kind;
    if (kind == "RECV_F" || kind == "RECV_B") {
      waiting.push_back(cell);
      continue;
    }
    for (const Cell& part : parts) {
      const std::string wanted = text(part.stage, part.kind == "F" ? "RECV_F" : "RECV_B", part.microbatch);
      if (part.kind == "F" || is_backward(part.kind)) issue([&](const std::string& one) { return one == wanted; });
    }
    if (kind == "SEND_F" || kind == "SEND_B") {
      const std::size_t peer = pipeline.rank_of.at(parts.front().stage + (kind == "SEND_F" ? 1 : -1));
      if (peer > rank) issue([&](const std::string& one) { return source(one) == peer; });
    }
    result.push_back(cell);
  }
  return result;
}

}  // namespace

std::vector<Cells> torch_program(const std::vector<Cells>& compute, std::int64_t microbatches, bool late_receives) {
  const Pipeline pipeline = pipeline_of(compute);
  std::vector<Cells> lists;
  for (const Cells& cells : compute) lists.push_back(reduce(unshard(cells), microbatches));
  lists = send_and_receive(lists, pipeline);
  for (std::size_t rank = 0; late_receives && rank < lists.size(); ++rank) {
    lists[rank] = defer(lists[rank], rank, pipeline);
  }
  return lists;
}

}  // namespace plumb::testing
