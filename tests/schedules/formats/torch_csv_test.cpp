#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "models/ground/text_file.hpp"
#include "schedules/catalogue/registry.hpp"
#include "schedules/checks/validate.hpp"
#include "schedules/document/schedule_io.hpp"
#include "schedules/formats/torch_lowering.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/replay.hpp"
#include "tests/support/source_directory.hpp"
#include "tests/support/written_schedule.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {
namespace {

Schedule example(const std::string& stem) {
  const std::string path = plumb::testing::in_source("tests/schedules/data/torch/") + stem + ".csv";
  return schedule_from_torch_csv(read_text_file(path), path);
}

std::string csv_refusal(std::string_view text) {
  return error_message([&] { schedule_from_torch_csv(text, "x.csv"); });
}

/// F, B, I and W of every device in order.
std::vector<std::vector<Action>> compute_lists(const Schedule& schedule) {
  std::vector<std::vector<Action>> lists;
  for (const DeviceList& list : schedule.devices) {
    auto& compute = lists.emplace_back();
    for (const Action& action : expand(list)) {
      if (action.op <= Op::kW) compute.push_back(action);
    }
  }
  return lists;
}

}  // namespace

TEST_CASE("schedules that PyTorch wrote are valid and have the makespans and peaks known for them") {
  struct Known {
    std::string stem;
    std::int64_t makespan;
    std::vector<std::int64_t> peaks;
  };
  for (const Known& known :
       {Known{"1F1B_P4_V1_M8", 33, {4, 3, 2, 1}}, Known{"Interleaved1F1B_P4_V2_M8", 57, {11, 9, 7, 5}},
        Known{"InterleavedZeroBubble_P4_V2_M8", 51, {8, 8, 8, 8}}, Known{"ZBVZeroBubble_P4_V2_M8", 51, {8, 8, 8, 8}}}) {
    CAPTURE(known.stem);
    const Schedule schedule = example(known.stem);
    CHECK(schedule.name == known.stem);
    CHECK(schedule.num_devices == 4);
    CHECK(schedule.num_microbatches == 8);
    CHECK(validate(schedule).empty());
    const Replay run = replay(schedule, {});
    CHECK(run.finished);
    CHECK(run.makespan == known.makespan);
    CHECK(peak_stashes(schedule) == known.peaks);
  }
}

TEST_CASE("our 1f1b and interleaved orders are PyTorch's") {
  CHECK(compute_lists(generate("1f1b", {.num_devices = 4, .num_microbatches = 8})) ==
        compute_lists(example("1F1B_P4_V1_M8")));
  CHECK(compute_lists(generate("interleaved", {.num_devices = 4, .num_microbatches = 8, .chunks = 2})) ==
        compute_lists(example("Interleaved1F1B_P4_V2_M8")));
}

TEST_CASE("CSV is one line per device with CR LF, without updates and bubbles") {
  CHECK(schedule_to_torch_csv(generate("1f1b", {.num_devices = 2, .num_microbatches = 2})) ==
        "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n");
}

TEST_CASE("what is written as CSV comes back with the same lists") {
  for (const char* name : {"gpipe", "1f1b", "interleaved", "zb-h1"}) {
    CAPTURE(name);
    const Schedule schedule = generate(name, {.num_devices = 3, .num_microbatches = 6});
    const Schedule back = schedule_from_torch_csv(schedule_to_torch_csv(schedule), "x.csv");
    CHECK(compute_lists(back) == compute_lists(schedule));
    CHECK(back.placement == schedule.placement);
  }
}

TEST_CASE("lines end in LF or CR LF, cells may have blanks and quotes, empty cells are dropped") {
  const Schedule schedule = schedule_from_torch_csv("\"\", 0F0 ,,000B0\n1F0,1B0\r\n2F0,2B0", "x.csv");
  CHECK(lists_to_text(schedule).substr(0, 12) == "d0: 0F0 0B0\n");
}

TEST_CASE("overlapped pairs are read and written") {
  const std::string text = "0F0,(0F1;0B0)OVERLAP_F_B,0B1\r\n";
  const Schedule schedule = schedule_from_torch_csv(text, "x.csv");
  REQUIRE(schedule.devices[0].actions.size() == 4);
  CHECK(schedule.devices[0].actions[1].overlaps_next == 1);
  CHECK(schedule_to_torch_csv(schedule) == text);
}

TEST_CASE("pairs that PyTorch has no word for are refused") {
  const auto message = [](const char* list) {
    const Schedule schedule = written_schedule({list}, 3);
    return error_message([&] { schedule_to_torch_csv(schedule); });
  };
  CHECK(message("(0F0;0F1)OVERLAP (0F2;0B0)OVERLAP_F_B 0B1 0B2") ==
        "schedule 'written' cannot be written as PyTorch CSV: PyTorch overlaps only a forward with a backward after "
        "it, found (0F0;0F1)");
  CHECK(message("0F0 0I0 (0F1;0W0)OVERLAP 0F2 0B1 0B2").find("found (0F1;0W0)") != std::string::npos);
  CHECK(message("0F0 (0B0;0F1)OVERLAP 0F2 0B1 0B2").find("found (0B0;0F1)") != std::string::npos);
  CHECK(message("0F0 0F1 0F2 0B0 0B1 0B2").empty());
}

TEST_CASE("the letters of old files are translated: BW is the whole backward, B the input gradient") {
  const Schedule schedule = schedule_from_torch_csv("0F0,0F1,0BW0,0B1,0W1\n", "x.csv");
  CHECK(lists_to_text(schedule) == "d0: 0F0 0F1 0B0 0I1 0W1\n");
  const Schedule without = schedule_from_torch_csv("0F0,0B0,0W0\n", "x.csv");
  CHECK(lists_to_text(without) == "d0: 0F0 0I0 0W0\n");
}

TEST_CASE("files with transfers and collectives keep them") {
  const Schedule schedule = schedule_from_torch_csv(
      "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n1RECV_F0,1F0,1B0,1SEND_B0\n", "x");
  CHECK(validate(schedule).empty());
  CHECK(lists_to_text(schedule) ==
        "d0: 0UNSHARD 0F0 0SEND_F0 0RECV_B0 0B0 0REDUCE_GRAD 0RESHARD\nd1: 1RECV_F0 1F0 1B0 1SEND_B0\n");
  CHECK(schedule_to_torch_csv(schedule) == "0F0,0B0\r\n1F0,1B0\r\n");
}

TEST_CASE("with communication a file comes back as it was written, byte for byte") {
  const std::string text =
      "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\r\n1UNSHARD,1RECV_F0,1F0,1B0,1SEND_B0,1REDUCE_GRAD,"
      "1RESHARD\r\n";
  CHECK(schedule_to_torch_comms_csv(schedule_from_torch_csv(text, "x.csv")) == text);
  const Schedule plain = schedule_from_torch_csv("0F0,0B0\n1F0,1B0\n", "x.csv");
  CHECK(schedule_to_torch_comms_csv(torch_lowered(plain)) == text);
}

TEST_CASE("every action of a file knows its cell, the two of a pair the same") {
  CHECK(torch_csv_cells(",0F0, ,(0F1;0B0)OVERLAP_F_B,0B1\r\n\"\",1F0\n1B0") ==
        std::vector<std::vector<std::size_t>>{{2, 4, 4, 5}, {2}, {1}});
}

TEST_CASE("the list of 1F1B that PyTorch shows is refused by its fault") {
  CHECK(csv_refusal("0F0,0F1,0B0,0B1\n1F1,1B0,1F2,1B1\n") ==
        "x.csv:2: forwards are numbered 1 to 2, expected 0 to 1 (the list of 1F1B that PyTorch prints has this fault, "
        "the one that it runs does not)");
}

TEST_CASE("what PyTorch's reader lets pass is refused with line and cell") {
  CHECK(csv_refusal("0F0,0F0xyz\n") == "x.csv:1: cell 2: '0F0xyz': expected the end of the action");
  CHECK(csv_refusal("0F0\n0FWD0\n") ==
        "x.csv:2: cell 1: '0FWD0': expected an op such as F, B, I, W or U after the stage");
  CHECK(csv_refusal("0F0,(0F1;0B0)W\n") ==
        "x.csv:1: cell 2: '(0F1;0B0)W': expected an overlapped pair such as (0F1;0B0)OVERLAP_F_B or "
        "(0F1;1F0)OVERLAP");
  CHECK(csv_refusal("0F0,(0B1;0F0)OVERLAP_F_B\n") ==
        "x.csv:1: cell 2: '(0B1;0F0)OVERLAP_F_B': expected a forward, then a backward; other pairs are "
        "written with OVERLAP");
  CHECK(csv_refusal("0F0,(0F1;0F2)OVERLAP\n") ==
        "x.csv:1: cell 2: '(0F1;0F2)OVERLAP': expected a forward, then a backward");
  CHECK(csv_refusal("0F0,0U0\n") == "x.csv:1: cell 2: '0U0': is not an action of PyTorch's files, such as 2F0");
  CHECK(csv_refusal("0F0\n\n") == "x.csv:2: has no actions; expected those of device 1");
  CHECK(csv_refusal("") == "x.csv: is empty; expected one line of actions per device");
  CHECK(csv_refusal("0F0\n0B0\n") == "x.csv: stage 0 is on lines 1 and 2; expected one device per stage");
  CHECK(csv_refusal("0F0,0B0\n2F0,2B0\n") == "x.csv: no line names stage 1");
  CHECK(csv_refusal("4294967296F0\n") == "x.csv:1: cell 1: '4294967296F0': expected a stage number, as in 0F1");
  CHECK(csv_refusal("2000000000F0\n") == "x.csv:1: cell 1: '2000000000F0': stage out of range");
}

TEST_CASE("schedules that the format cannot hold are refused") {
  const auto message = [](std::string_view name, std::int64_t updates) {
    const Schedule schedule = generate(name, {.num_devices = 2, .num_microbatches = 2, .updates = updates});
    return error_message([&] { schedule_to_torch_csv(schedule); });
  };
  CHECK(message("chimera", 1) ==
        "schedule 'chimera' cannot be written as PyTorch CSV: it has several replicas; expected one");
  CHECK(message("1f1b", 3) == "schedule '1f1b' cannot be written as PyTorch CSV: it has 3 updates; expected one");
  CHECK(message("varuna", 1) ==
        "schedule 'varuna' cannot be written as PyTorch CSV: it has recomputation (0R0), for which PyTorch has no "
        "action");
}

TEST_CASE("an asynchronous schedule is refused as PyTorch CSV, also when it covers a single update") {
  for (const char* name : {"pipedream", "pipedream-2bw", "pipemare", "petra", "paci", "xpipe"}) {
    CAPTURE(name);
    const Schedule schedule = generate(name, {.num_devices = 2, .num_microbatches = 2, .updates = 1});
    CHECK(
        error_message([&] { check_torch_writable(schedule); }) ==
        "schedule '" + std::string(name) +
            "' cannot be written as PyTorch CSV: it is asynchronous; expected that all passes of a step read the same "
            "weights");
  }
}

TEST_CASE("what lists do not tell is not lost silently in PyTorch CSV") {
  const auto message = [](auto change) {
    Schedule schedule = generate("1f1b", {.num_devices = 3, .num_microbatches = 3});
    change(schedule);
    return error_message([&] { schedule_to_torch_comms_csv(torch_lowered(schedule)); });
  };
  const auto mentions = [](const std::string& text, std::string_view part) { return text.find(part) != text.npos; };
  CHECK(mentions(message([](Schedule& s) { s.recompute = {{.first_stage = 1, .last_stage = 2, .microbatches = {}}}; }),
                 "it has recomputation, which PyTorch leaves to the modules"));
  CHECK(mentions(message([](Schedule& s) { s.microbatch_sizes = {1, 2, 1}; }), "microbatches of several sizes"));
  CHECK(mentions(message([](Schedule& s) {
                   s.extra_edges = {{action_of(0, Op::kF, 0), action_of(0, Op::kF, 2)}};
                 }),
                 "it has waits between actions beside those for data"));
  CHECK(mentions(message([](Schedule& s) { s.policy = RunTimePolicy{}; }), "it has a run-time policy"));
  CHECK(mentions(message([](Schedule& s) {
                   s.stage_edges = {{StageId{0}, StageId{1}}, {StageId{0}, StageId{2}}};
                 }),
                 "it has stages that are not a chain"));
  CHECK(message([](Schedule& s) { s.stage_edges = {{StageId{0}, StageId{1}}, {StageId{1}, StageId{2}}}; }).empty());
}

TEST_CASE(
    "the lists of PyTorch's GPipe and 1F1B end with a reduction, which only the form with communication may hold") {
  // torch.distributed.pipelining 2.14: `_get_pipeline_order` ends in `_add_reduce_grad`; `_load_csv(compute_only)`
  // refuses it.
  const auto computed = [](const std::string& csv) {
    std::string kept;
    for (std::size_t begin = 0; begin < csv.size();) {
      const std::size_t end = std::min(csv.find_first_of(",\n", begin), csv.size());
      const std::string cell = csv.substr(begin, end - begin);
      const bool travels =
          cell.find("SEND") != cell.npos || cell.find("RECV") != cell.npos || cell.find("SHARD") != cell.npos;
      if (!travels) kept += cell + ' ';
      begin = end + 1;
    }
    return kept;
  };
  const Schedule gpipe = generate("torch-gpipe", {.num_devices = 2, .num_microbatches = 2});
  const Schedule one_f_one_b = generate("torch-1f1b", {.num_devices = 2, .num_microbatches = 2});
  CHECK(schedule_to_torch_csv(gpipe) == "0F0,0F1,0B0,0B1\r\n1F0,1F1,1B0,1B1\r\n");
  // RESHARD stands after the last action of a line, so that its line end goes with it.
  CHECK(computed(schedule_to_torch_comms_csv(torch_lowered(gpipe))) ==
        "0F0 0F1 0B0 0B1 0REDUCE_GRAD 1F0 1F1 1B0 1B1 1REDUCE_GRAD ");
  CHECK(computed(schedule_to_torch_comms_csv(torch_lowered(one_f_one_b))) ==
        "0F0 0F1 0B0 0B1 0REDUCE_GRAD 1F0 1B0 1F1 1B1 1REDUCE_GRAD ");
}

}  // namespace plumb::testing

TEST_SUITE_END();
