#include "schedules/catalogue/list_builder.hpp"

#include <doctest/doctest.h>

#include <string>

#include "schedules/catalogue/registry.hpp"
#include "schedules/document/list_cursor.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/document/walk.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

std::string texts(const std::vector<Action>& actions) {
  std::string text;
  for (const Action& action : actions) text += (text.empty() ? "" : " ") + to_string(action);
  return text;
}

}  // namespace

TEST_CASE("a loop becomes a repeat block, a short one is written out") {
  ListBuilder list;
  list.each(4, [&] { list.add(StageId{0}, Op::kF, 0); });
  list.each(5, [&] { list.add(StageId{0}, Op::kB, 0); });
  const DeviceList made = list.take();
  CHECK(texts(made.actions) == "0F0 0F1 0F2 0F3 0B0");
  REQUIRE(made.repeats.size() == 1);
  CHECK(made.repeats[0] == Repeat{4, 5, 5, {.microbatch = 1}});
  CHECK(texts(expand(made)) == "0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3 0B4");
}

TEST_CASE("loops nest, outer blocks come first, and empty or single ones leave no block") {
  ListBuilder list;
  list.repeat(2, {.microbatch = 10, .update = 1}, [&] {
    list.each(1, [&] { list.add(StageId{0}, Op::kF, 0); });
    list.each(6, [&] { list.add(StageId{0}, Op::kB, 0); });
    list.each(0, [&] { list.add(StageId{0}, Op::kW, 0); });
    list.add_collective(StageId{0}, Op::kReduceGrad);
    list.add(StageId{0}, Op::kU, 0);
  });
  const DeviceList made = list.take();
  REQUIRE(made.repeats.size() == 2);
  CHECK(made.repeats[0] == Repeat{0, 4, 2, {.microbatch = 10, .update = 1}});
  CHECK(made.repeats[1] == Repeat{1, 2, 6, {.microbatch = 1}});
  CHECK(texts(expand(made)) ==
        "0F0 0B0 0B1 0B2 0B3 0B4 0B5 0REDUCE_GRAD 0U0 0F10 0B10 0B11 0B12 0B13 0B14 0B15 0REDUCE_GRAD 0U1");
}

TEST_CASE("a pair is any two actions, of any stages and replicas, and a loop repeats it whole") {
  ListBuilder list;
  list.repeat(5, {.microbatch = 2}, [&] {
    list.add_pair(ListBuilder::action(StageId{0}, Op::kF, 1, ReplicaId{1}), ListBuilder::action(StageId{3}, Op::kW, 0));
  });
  const DeviceList made = list.take();
  CHECK(made.repeats == std::vector{Repeat{0, 2, 5, {.microbatch = 2}}});
  const std::vector<Action> all = expand(made);
  CHECK(texts(all) == "1:0F1 3W0 1:0F3 3W2 1:0F5 3W4 1:0F7 3W6 1:0F9 3W8");
  for (std::size_t at = 0; at < all.size(); ++at) CHECK(all[at].overlaps_next == (at + 1) % 2);
}

TEST_CASE("expanding, walking and stepping through a list give the same actions") {
  for (const ScheduleSpec& spec : schedule_catalogue()) {
    CAPTURE(spec.name);
    const Schedule schedule = generate(spec.name, {.num_devices = 4, .num_microbatches = 12, .updates = 3});
    for (const DeviceList& list : schedule.devices) {
      const std::vector<Action> expanded = expand(list);
      CHECK(expanded_size(list) == static_cast<std::int64_t>(expanded.size()));
      std::vector<Action> walked;
      walk(list, [&](const Action& action) { walked.push_back(action); });
      CHECK(walked == expanded);
      std::vector<Action> stepped;
      for (ListCursor at(list); !at.at_end(); at.step()) {
        CHECK(at.position() == static_cast<std::int64_t>(stepped.size()));
        stepped.push_back(at.action());
      }
      CHECK(stepped == expanded);
    }
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
