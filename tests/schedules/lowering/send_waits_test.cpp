#include "schedules/lowering/send_waits.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "schedules/lowering/lower_state.hpp"
#include "schedules/program/waits.hpp"
#include "tests/support/program_builder.hpp"
#include "tests/support/random_program.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

using Place = ProgramBuilder::Place;

std::size_t lane_of(const Program& program, InstrIndex at) {
  std::size_t lane = 0;
  while (program.lane_begin[lane + 1] <= at) ++lane;
  return lane;
}

InstrIndex behind_unit(const Program& program, InstrIndex at) {
  return at + (program.instrs[at].action.overlaps_next != 0 ? 2 : 1);
}

/// What an instr waits for, as instrs that must have been run: the issue of a message, all members of a collective.
std::vector<InstrIndex> sources_of(const Program& program, const Wait& wait) {
  if (is_for_transfer(wait)) return {program.transfers[wait.via].issue};
  if (is_for_collective(wait)) return program.collectives[collective_of(wait)].members;
  return {wait.source};
}

/// Lanes that take a step whenever they can, by rendezvous.
bool plainly_ends(const Program& program) {
  std::vector<InstrIndex> at(program.lane_begin.begin(), program.lane_begin.end() - 1);
  std::vector<bool> has_posted(at.size(), false);
  const auto ended = [&](InstrIndex instr) { return at[lane_of(program, instr)] > instr; };
  const auto posted = [&](InstrIndex instr) {
    const std::size_t lane = lane_of(program, instr);
    return ended(instr) || (has_posted[lane] && instr < behind_unit(program, at[lane]));
  };
  const auto may_post = [&](std::size_t lane, InstrIndex end) {
    return std::ranges::all_of(program.transfers, [&](const Transfer& transfer) {
      const bool waits =
          lane_of(program, transfer.producer) == lane && at[lane] <= transfer.sent && transfer.sent < end;
      return !waits || posted(transfer.post);
    });
  };
  const auto may_run = [&](InstrIndex begin, InstrIndex end) {
    for (std::uint32_t w = program.instrs[begin].first_wait; w < program.instrs[end].first_wait; ++w) {
      if (!std::ranges::all_of(sources_of(program, program.waits[w]), ended)) return false;
    }
    return true;
  };
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t lane = 0; lane < at.size(); ++lane) {
      if (at[lane] == program.lane_begin[lane + 1]) continue;
      const InstrIndex end = behind_unit(program, at[lane]);
      if (!has_posted[lane] && may_post(lane, end)) has_posted[lane] = moved = true;
      if (!has_posted[lane] || !may_run(at[lane], end)) continue;
      at[lane] = end;
      has_posted[lane] = false;
      moved = true;
    }
  }
  for (std::size_t lane = 0; lane < at.size(); ++lane) {
    if (at[lane] != program.lane_begin[lane + 1]) return false;
  }
  return true;
}

/// Ranks by raising them until nothing changes.
std::vector<std::uint32_t> plain_ranks(const Program& program) {
  std::vector<std::uint32_t> rank(program.size(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (InstrIndex at = 0; at < program.size(); ++at) {
      std::uint32_t least = 0;
      if (at != program.lane_begin[lane_of(program, at)]) least = rank[at - 1] + 1;
      for (std::uint32_t w = program.instrs[at].first_wait; w < program.instrs[at + 1].first_wait; ++w) {
        for (const InstrIndex source : sources_of(program, program.waits[w])) least = std::max(least, rank[source] + 1);
      }
      changed = changed || least != rank[at];
      rank[at] = least;
    }
  }
  return rank;
}

std::int32_t plainly_most_buffers(const Program& program) {
  std::int32_t most = 0;
  for (std::uint32_t channel = 0; channel < program.channels.size(); ++channel) {
    for (InstrIndex at = 0; at < program.size(); ++at) {
      most = std::max(most, static_cast<std::int32_t>(std::ranges::count_if(program.transfers, [&](const Transfer& t) {
                        return t.channel == channel && unit_begin(program, t.producer) <= at && at < t.sent;
                      })));
    }
  }
  return most;
}

/// Small programs of many shapes.
std::vector<Program> programs() {
  std::vector<Program> all;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    RandomProgram shape;
    shape.devices = 2 + static_cast<std::int32_t>(seed % 3);
    shape.per_device = 3 + static_cast<std::int32_t>(seed % 7);
    shape.edges = 10 + static_cast<std::int32_t>(seed % 20);
    shape.pairs = seed % 4 != 0;
    shape.max_ahead = static_cast<std::int32_t>(seed % 3);
    all.push_back(random_program(shape, seed));
  }
  return all;
}

}  // namespace

TEST_CASE("a program runs by rendezvous exactly where lanes that step whenever they can come to their ends") {
  int hanging = 0;
  for (const Program& program : programs()) {
    const bool ends = plainly_ends(program);
    CHECK(lowering::runs_by_rendezvous(program) == ends);
    hanging += ends ? 0 : 1;
  }
  CHECK(hanging > 10);
  CHECK(hanging < 110);
}

TEST_CASE("an instr ranks one behind the last of what it waits for and of its own lane") {
  for (const Program& program : programs()) CHECK(lowering::asap_ranks(program) == plain_ranks(program));
}

TEST_CASE("a channel needs as many send buffers as values of it are made and not yet waited for") {
  for (const Program& program : programs()) {
    CHECK(lowering::most_send_buffers(program) == plainly_most_buffers(program));
  }
}

TEST_CASE("sends that are waited for behind the posts of their receives never hang, and nothing else is moved") {
  for (const Program& before : programs()) {
    Program program = before;
    lowering::put_off_send_waits(program);
    CHECK(program.waits_by_rank);
    CHECK(plainly_ends(program));
    const std::vector<std::uint32_t> rank = plain_ranks(before);
    std::int64_t waits_moved = 0;
    std::int64_t receives_moved = 0;
    for (std::size_t t = 0; t < program.transfers.size(); ++t) {
      const Transfer& was = before.transfers[t];
      const Transfer& is = program.transfers[t];
      const InstrIndex end = program.lane_begin[lane_of(program, was.producer) + 1];
      InstrIndex first = was.sent;
      while (first < end && rank[first] <= rank[is.post]) first = behind_unit(program, first);
      CHECK(is.sent == first);
      CHECK(is.post <= was.post);
      CHECK(is.issue == was.issue);
      waits_moved += is.sent != was.sent ? 1 : 0;
      receives_moved += is.post != was.post ? 1 : 0;
    }
    CHECK(program.send_buffers.waits_moved == waits_moved);
    CHECK(program.send_buffers.receives_moved == receives_moved);
  }
}

TEST_CASE("a receive is posted before what is received where its send is issued is needed") {
  // Device 0 sends 0 and receives 1 behind its first instr, and device 1 the other way round: a batch each. What device
  // 1 sends there is needed by the instr behind, whose receive must be posted before.
  ProgramBuilder builder(ProgramBuilder::Lanes{{1, 1, 1}, {1, 1, 1}});
  Transfer& first = builder.message(Place{0, 0}, Place{1, 2}, 10);
  first.post = builder.at(Place{1, 2});
  Transfer& second = builder.message(Place{1, 0}, Place{0, 1}, 10);
  second.post = builder.at(Place{0, 1});
  Program program = builder.build();
  lowering::put_off_send_waits(program);
  const std::vector<std::uint32_t> rank = lowering::asap_ranks(program);
  CHECK(rank[program.transfers[0].post] < rank[program.transfers[1].consumer]);
  CHECK(program.transfers[1].post == builder.at(Place{0, 1}));
}

}  // namespace plumb::testing

TEST_SUITE_END();
