#include "schedules/document/action_text.hpp"

#include <doctest/doctest.h>

#include <string>

#include "schedules/document/schedule_io.hpp"
#include "tests/support/error_message.hpp"

TEST_SUITE_BEGIN("schedules");

namespace plumb::testing {

TEST_CASE("an action's text says replica, stage, op, microbatches, slice and place") {
  const Action action = parse_action("3:12SEND_F4+5+6.2>7", "here");
  CHECK(action.replica == ReplicaId{3});
  CHECK(action.stage == StageId{12});
  CHECK(action.op == Op::kSendF);
  CHECK(action.microbatch == MicrobatchId{4});
  CHECK(action.merged == 2);
  CHECK(action.slice == 2);
  CHECK(action.where == 7);
}

TEST_CASE("every kind of action comes back from its text") {
  for (const std::string text : {"0F0",           "2147483647F2147483647",
                                 "7:1B2",         "1I3.4",
                                 "1W3",           "1R3",
                                 "2U9",           "2V9",
                                 "2X1",           "0SEND_F5",
                                 "0SEND_F5>2",    "0RECV_F5",
                                 "0SEND_B5",      "0RECV_B5",
                                 "0SEND_R5",      "0RECV_R5",
                                 "0REDUCE_GRAD",  "1:3REDUCE_GRAD",
                                 "0UNSHARD",      "0RESHARD",
                                 "0SYNC_WEIGHTS", "0EVICT5@3",
                                 "0EVICT5@host",  "0EVICT@host",
                                 "0LOAD5",        "0LOAD",
                                 "0F4+5",         "0F4+5.1"}) {
    CHECK(to_string(parse_action(text, "here")) == text);
  }
  CHECK(to_string(parse_action("007F003", "here")) == "7F3");
}

TEST_CASE("what is not an action is refused with what was expected") {
  const auto message = [](std::string_view text) { return error_message([&] { parse_action(text, "here"); }); };
  CHECK(message("") == "here: action '': expected a stage number, as in 0F1");
  CHECK(message("F0") == "here: action 'F0': expected a stage number, as in 0F1");
  CHECK(message("-1F0") == "here: action '-1F0': expected a stage number, as in 0F1");
  CHECK(message("0") == "here: action '0': expected an op such as F, B, I, W or U after the stage");
  CHECK(message("0f0") == "here: action '0f0': expected an op such as F, B, I, W or U after the stage");
  CHECK(message("0G0") == "here: action '0G0': expected an op such as F, B, I, W or U after the stage");
  CHECK(message("0F") == "here: action '0F': expected a number after the op, as in 0F1");
  CHECK(message("0F0x") == "here: action '0F0x': expected the end of the action");
  CHECK(message("0F0 ") == "here: action '0F0 ': expected the end of the action");
  CHECK(message("0F2147483648") == "here: action '0F2147483648': expected a number of at most 2147483647");
  CHECK(message("99999:0F0") == "here: action '99999:0F0': expected a replica of at most 32767 before ':'");
  CHECK(message("0F4+6") == "here: action '0F4+6': expected the next microbatch after '+', as in 0F4+5");
  CHECK(message("0REDUCE_GRAD1") ==
        "here: action '0REDUCE_GRAD1': expected no number: a collective names no microbatch");
  CHECK(message("0F1>2") == "here: action '0F1>2': expected the end of the action");
  CHECK(message("0SEND_F1@2") == "here: action '0SEND_F1@2': expected the end of the action");
  CHECK(message("0EVICT1@40000") == "here: action '0EVICT1@40000': expected a device of at most 32767, or @host");
  CHECK(message("0U1.2") == "here: action '0U1.2': expected the end of the action");
}

TEST_CASE("at most 128 microbatches merge into one action") {
  std::string text = "0F0";
  for (int i = 1; i < 128; ++i) text += "+" + std::to_string(i);
  CHECK(parse_action(text, "here").merged == 127);
  CHECK(error_message([&] { parse_action(text + "+128", "here"); }).find("at most 128 microbatches") !=
        std::string::npos);
}

TEST_CASE("an item is an action or an overlapped pair, and comes back from its text") {
  std::vector<Action> actions;
  CHECK(read_item("(0F1;3B0)OVERLAP_F_B", actions).empty());
  CHECK(read_item("0B1", actions).empty());
  REQUIRE(actions.size() == 3);
  CHECK((actions[0].overlaps_next == 1));
  std::string text;
  CHECK(append_item(text, actions, 0) == 2);
  CHECK(append_item(text, actions, 2) == 3);
  CHECK(text == "(0F1;3B0)OVERLAP_F_B0B1");
  for (const char* text_of_pair :
       {"(0F1;3F0)OVERLAP", "(0F1;3W0)OVERLAP", "(3B0;0F1)OVERLAP", "(0I1.2;1:0W0+1)OVERLAP", "(0R1;0X7)OVERLAP"}) {
    std::vector<Action> pair;
    CHECK(read_item(text_of_pair, pair).empty());
    REQUIRE(pair.size() == 2);
    CHECK((pair[0].overlaps_next == 1));
    std::string again;
    append_item(again, pair, 0);
    CHECK(again == text_of_pair);
  }
  std::vector<Action> plain;
  CHECK(read_item("(0F1;3I0)OVERLAP", plain).empty());
  std::string torch;
  append_item(torch, plain, 0);
  CHECK(torch == "(0F1;3I0)OVERLAP_F_B");
  for (const char* broken : {"(0F1;3F0)OVERLAP_F_B", "(3B0;0F1)OVERLAP_F_B", "(0F1;3W0)OVERLAP_F_W", "(0F1;3F0)",
                             "(0F1;3B0)", "(0F1)OVERLAP_F_B", "(0F1;3B0;4B0)OVERLAP_F_B", "()OVERLAP_F_B",
                             "(;)OVERLAP_F_B", "(0F1;3B0)OVERLAP_F_B ", "((0F1;3B0)OVERLAP_F_B;1B0)OVERLAP_F_B", "("}) {
    CAPTURE(broken);
    CHECK(!read_item(broken, actions).empty());
    CHECK(actions.size() == 3);
  }
}

}  // namespace plumb::testing

TEST_SUITE_END();
