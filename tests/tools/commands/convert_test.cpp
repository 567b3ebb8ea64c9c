#include <algorithm>
#include <string>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb::testing;

bool mentions(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// DeepSpeed's instruction lists of 1F1B, step by step, from the description of its TrainSchedule.
std::string deepspeed_text(int stages, int microbatches) {
  std::string text;
  const auto valid = [&](int m) { return 0 <= m && m < microbatches; };
  for (int s = 0; s < stages; ++s) {
    const int buffers = std::max(2, std::min(stages - s, microbatches));
    const auto call = [&](const std::string& name, int m) {
      text += name + "(buffer_id=" + std::to_string(m % buffers) + ") ";
    };
    const auto microbatch = [&](int t) {
      if (t % 2 == s % 2) return (t % 2 == 0 ? t / 2 : (t - 1) / 2) - s / 2;
      return t % 2 == 0 ? t / 2 - stages + (s + 1) / 2 : (t - 1) / 2 - stages + 1 + s / 2;
    };
    text += "stage " + std::to_string(s) + ":\n";
    for (int t = 0; t < 2 * (microbatches + stages - 1); ++t) {
      const int now = microbatch(t);
      const int before = t > 0 ? microbatch(t - 1) : -1;
      if (t % 2 == s % 2) {
        if (valid(before) && s > 0) call("SendGrad", before);
        if (valid(now) && s > 0) call("RecvActivation", now);
        if (valid(now) && (s == 0 || s == stages - 1)) call("LoadMicroBatch", now);
        if (valid(now)) call("ForwardPass", now);
      } else {
        if (valid(now) && s < stages - 1) call("RecvGrad", now);
        if (valid(before) && s < stages - 1) call("SendActivation", before);
        if (valid(now)) call("BackwardPass", now);
      }
      text += "\n";
    }
    text += "ReduceTiedGrads ReduceGrads OptimizerStep\n";
  }
  return text;
}

/// The compute part of a schedule in the directory, as text.
std::string compute_text(const ScratchDirectory& scratch, const std::string& file) {
  return run_command("plumbline convert " + file + " - --to torch-csv", scratch.path()).out;
}

}  // namespace

TEST_CASE("every format that is read is simulated and trained") {
  const ScratchDirectory scratch;
  scratch.write("ds.deepspeed", deepspeed_text(2, 4));
  scratch.write("old.csv", "0F0,0F1,0B0,0W0,0B1,0W1\n1F0,1BW0,1F1,1BW1\n");
  REQUIRE(run_command("plumbline schedule torch-dualpipev -p 2 -m 4 -o pairs.csv && "
                      "plumbline schedule torch-zbv -p 2 -m 4 --format torch-comms -o comms.csv && "
                      "plumbline schedule torch-1f1b -p 2 -m 4 --format torch-comms-late -o late.csv && "
                      "plumbline schedule zb-v -p 2 -m 4 --format zero-bubble -o table.py && "
                      "plumbline schedule interleaved -p 2 -m 4 -o options.megatron && "
                      "plumbline schedule 1f1b -p 2 -m 4 -o text.txt && "
                      "plumbline schedule 1f1b -p 2 -m 4 -o own.json",
                      scratch.path())
              .status == 0);
  for (const std::string file : {"ds.deepspeed", "old.csv", "pairs.csv", "comms.csv", "late.csv", "table.py",
                                 "options.megatron", "text.txt", "own.json"}) {
    CAPTURE(file);
    const CommandResult simulated =
        run_command("plumbline simulate " + file + " --cost F=1,B=2 --summary", scratch.path());
    CHECK(simulated.status == 0);
    CHECK(mentions(simulated.out, "bubble "));
    const CommandResult trained =
        run_command("plumbline train " + file + " --network gpt-tiny --executor serial", scratch.path());
    CHECK(trained.status == 0);
    CHECK(mentions(trained.out, "loss"));
  }
}

TEST_CASE("transfers in a file decide the transfers of its simulation") {
  const ScratchDirectory scratch;
  REQUIRE(
      run_command("plumbline schedule torch-zbv -p 2 -m 4 --format torch-comms -o comms.csv", scratch.path()).status ==
      0);
  const CommandResult result = run_command(
      "plumbline simulate comms.csv --network gpt2-small --cluster a100 --runtime pytorch --summary", scratch.path());
  CHECK(result.status == 0);
  CHECK(result.err == "");
}

TEST_CASE("DeepSpeed's instruction lists hold the order of 1f1b") {
  for (const int stages : {2, 3, 4}) {
    const ScratchDirectory scratch;
    scratch.write("ds.deepspeed", deepspeed_text(stages, 6));
    const std::string size = " -p " + std::to_string(stages) + " -m 6";
    CHECK(compute_text(scratch, "ds.deepspeed") ==
          run_command("plumbline schedule 1f1b" + size + " --format torch-csv", scratch.path()).out);
    CHECK(run_command("plumbline validate ds.deepspeed --transfers buffered,rendezvous --torch-transfers buffered",
                      scratch.path())
              .status == 0);
  }
}

TEST_CASE("faulty instruction lists are refused with their line") {
  const ScratchDirectory scratch;
  const auto refusal = [&](const std::string& text) {
    scratch.write("ds.deepspeed", text);
    const CommandResult result = run_command("plumbline validate ds.deepspeed", scratch.path());
    CHECK(result.status == 2);
    return result.err;
  };
  CHECK(refusal("stage 1:\n") == "plumbline: error: ds.deepspeed:1: expected 'stage 0:'\n");
  CHECK(refusal("stage 0:\nForwardPas(buffer_id=0)\n") ==
        "plumbline: error: ds.deepspeed:2: unknown instruction 'ForwardPas' (did you mean 'ForwardPass'?)\n");
  CHECK(refusal("ForwardPass(buffer_id=0)\nBackwardPass(buffer_id=1)\n") ==
        "plumbline: error: ds.deepspeed:2: microbatch 0 was in buffer 0, found buffer 1\n");
  CHECK(refusal("ForwardPass\n") ==
        "plumbline: error: ds.deepspeed:1: ForwardPass: expected a buffer, (buffer_id=0)\n");
}

TEST_CASE("older letters are translated with a notice") {
  const ScratchDirectory scratch;
  scratch.write("old.csv", "0F0,0BW0\n1F0,1B0,1W0\n");
  const CommandResult result = run_command("plumbline convert old.csv -  --to torch-csv", scratch.path());
  CHECK(result.status == 0);
  CHECK(result.out == "0F0,0B0\r\n1F0,1I0,1W0\r\n");
  CHECK(result.err == "old.csv: old action letters were translated: B is I, BW is B (before 2025)\n");
}

TEST_CASE("what PyTorch lets pass is reported with line and cell") {
  const ScratchDirectory scratch;
  scratch.write("x.csv", "0F0,,0F0,0B0\n1B0,1F0\n");
  const CommandResult result = run_command("plumbline convert x.csv y.json", scratch.path());
  CHECK(result.status == 3);
  CHECK(mentions(result.err, "x.csv:1: cell 3: 0F0: "));
  CHECK(mentions(result.err, "x.csv:2: cell 1: 1B0: "));
  CHECK(scratch.listing() == "x.csv");
  scratch.write("late.csv", "0F0,0F1,0B0,0B1\n1F1,1B0,1F2,1B1\n");
  CHECK(run_command("plumbline validate late.csv", scratch.path()).err ==
        "plumbline: error: late.csv:2: forwards are numbered 1 to 2, expected 0 to 1 (the list of 1F1B that "
        "PyTorch prints has this fault, the one that it runs does not)\n");
}

TEST_CASE("late receives that would mix up messages are refused, and nothing is written") {
  const ScratchDirectory scratch;
  const CommandResult result =
      run_command("plumbline schedule torch-zbv -p 3 -m 8 --format torch-comms-late -o late.csv", scratch.path());
  CHECK(result.status == 3);
  CHECK(mentions(result.err, "torch-zbv as torch-comms-late: device "));
  CHECK(mentions(result.err, "expected the same order"));
  CHECK(scratch.listing() == "");
}

TEST_CASE("Megatron's options are printed for its own orders, and for others the reason why there are none") {
  const ScratchDirectory scratch;
  const CommandResult options =
      run_command("plumbline schedule interleaved -p 4 -m 12 -v 2 --opt group=6 --format megatron", scratch.path());
  CHECK(options.out ==
        "--pipeline-model-parallel-size 4\n--num-virtual-stages-per-pipeline-rank 2\n"
        "--microbatch-group-size-per-virtual-pipeline-stage 6\n--micro-batch-size 1\n"
        "--global-batch-size 12  # 12 x micro-batch-size x data-parallel size\n");
  const CommandResult other = run_command("plumbline schedule gpipe -p 2 -m 4 --format megatron", scratch.path());
  CHECK(other.status == 2);
  CHECK(other.err ==
        "plumbline: error: schedule 'gpipe' cannot be run by Megatron-LM: on device 0 its order has 0B0 where this one "
        "has 0F2\n");
}

TEST_CASE("Megatron's options come back as the schedule that they were written from") {
  const ScratchDirectory scratch;
  const std::string name = "interleaved -p 2 -m 6 -v 2 --opt group=3";
  REQUIRE(run_command("plumbline schedule " + name + " -o x.megatron", scratch.path()).status == 0);
  CHECK(compute_text(scratch, "x.megatron") ==
        run_command("plumbline schedule " + name + " --format torch-csv", scratch.path()).out);
}

TEST_CASE("the table for the zero-bubble fork speaks its letters and chunks") {
  const ScratchDirectory scratch;
  const CommandResult result =
      run_command("plumbline schedule torch-zbv -p 1 -m 1 --format zero-bubble", scratch.path());
  CHECK(
      result.out ==
      "# 1 ranks, 2 chunks, 1 microbatches. By rank: (type, microbatch, chunk); B is the input gradient, BW the whole "
      "backward.\nSCHEDULE = [\n    [(\"F\", 0, 0), (\"F\", 0, 1), (\"B\", 0, 1), (\"W\", 0, 1), (\"B\", 0, 0), "
      "(\"W\", 0, 0)],\n]\n# By rank: the stage (layer group) of every chunk.\nSTAGES = [[0, 1]]\n");
}

TEST_CASE("a table of the zero-bubble fork comes back as it was, its stages named or found out") {
  const ScratchDirectory scratch;
  for (const std::string name : {"zb-h1 -p 3 -m 4", "v-half -p 3 -m 4", "torch-interleaved-zb -p 2 -m 4"}) {
    CAPTURE(name);
    const std::string list = run_command("plumbline schedule " + name + " --format torch-csv", scratch.path()).out;
    REQUIRE(run_command("plumbline schedule " + name + " --format zero-bubble -o table", scratch.path()).status == 0);
    CHECK(compute_text(scratch, "table") == list);
    REQUIRE(run_command("sed -i /STAGES/d table", scratch.path()).status == 0);
    CHECK(compute_text(scratch, "table") == list);
  }
}

TEST_CASE("hangs of transfers are found by validate") {
  const ScratchDirectory scratch;
  scratch.write("x.csv",
                "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n"
                "1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n");
  CHECK(run_command("plumbline validate x.csv --torch-transfers buffered", scratch.path()).status == 0);
  const CommandResult result = run_command("plumbline validate x.csv --torch-transfers all", scratch.path());
  CHECK(result.status == 3);
  CHECK(mentions(result.out,
                 "x.csv:1: cell 4: 0SEND_F1: hang (rendezvous): 0SEND_F1 [F0.1] of device 0 waits for 1RECV_F1 "
                 "of device 1, which is at 1SEND_B0; 1SEND_B0 [B1.0] of device 1 waits for 0RECV_B0 of "
                 "device 0, which is at 0SEND_F1\n"));
  CHECK(mentions(result.out, "x.csv:1: cell 4: 0SEND_F1: hang (pair-fifo): "));
  CHECK(run_command("plumbline validate torch-zbv -p 4 -m 8 --torch-transfers all", scratch.path()).status == 0);
}

TEST_CASE("a schedule that PyTorch's files cannot hold is refused for the same reason in both of their forms") {
  const ScratchDirectory scratch;
  for (const std::string size : {"seq1f1b -p 4 -m 8", "hetpipe -p 4 -m 8", "avgpipe -p 4 -m 8", "chimera -p 4 -m 4"}) {
    CAPTURE(size);
    const std::string command = "plumbline schedule " + size + " --format torch-";
    const CommandResult plain = run_command(command + "csv", scratch.path());
    CHECK(plain.status == 2);
    CHECK(mentions(plain.err, "cannot be written as PyTorch CSV: it has "));
    for (const char* form : {"comms", "comms-late"}) {
      const CommandResult lowered = run_command(command + form, scratch.path());
      CHECK(lowered.status == 2);
      CHECK(lowered.err == plain.err);
    }
  }
  CHECK(mentions(run_command("plumbline schedule seq1f1b -p 4 -m 8 --format torch-comms", scratch.path()).err,
                 "it has slices; expected whole microbatches"));
}

TEST_CASE("a text keeps what only JSON had a place for, and a run-time policy is refused by name") {
  const ScratchDirectory scratch;
  for (const std::string size : {"pipedream -p 2 -m 2", "bpipe -p 4 -m 8", "terapipe -p 4 -m 8", "chimera -p 4 -m 4",
                                 "zb-h1 -p 4 -m 8 --opt validation=post", "1f1b -p 4 -m 8 --updates 3"}) {
    CAPTURE(size);
    const CommandResult converted =
        run_command("plumbline schedule " + size + " -o x.txt && plumbline schedule " + size +
                        " -o x.json && plumbline convert x.txt y.json && "
                        "plumbline simulate x.json --cost F=1,B=2 --summary --json x && "
                        "plumbline simulate y.json --cost F=1,B=2 --summary --json y && cmp x y",
                    scratch.path());
    CAPTURE(converted.err);
    CHECK(converted.status == 0);
  }
  const CommandResult text =
      run_command("plumbline schedule axonn -p 4 -m 8 --opt order=run-time --format text", scratch.path());
  CHECK(text.status == 2);
  CHECK(mentions(text.err, "run-time policy"));
}

TEST_CASE("explain says how to run a schedule in PyTorch and Megatron-LM") {
  const ScratchDirectory scratch;
  const CommandResult looped =
      run_command("plumbline schedule interleaved -p 4 -m 8 -v 2 --explain --layers 26", scratch.path());
  CHECK(looped.status == 0);
  CHECK(mentions(looped.out, "built in: Interleaved1F1B makes this order itself\n"));
  CHECK(mentions(looped.out, "_load_csv(\"schedule.csv\")"));
  CHECK(mentions(looped.out, "0@0 1@1 2@2 3@3 4@0 5@1 6@2 7@3 (stage@rank, style loop)\n"));
  CHECK(mentions(looped.out, "--pipeline-model-parallel-layout \"Etttt|tttt|(ttt|)*5,tttL\"\n"));
  CHECK(mentions(looped.out, "pair-fifo:    runs without a hang\n"));
  const CommandResult vee = run_command("plumbline schedule torch-zbv -p 2 -m 4 --explain", scratch.path());
  CHECK(mentions(vee.out, "pipeline_parallel_schedule ZBVZeroBubble\n"));
  CHECK(mentions(vee.out,
                 "Megatron-LM\n  no: schedule 'torch-zbv' cannot be run by Megatron-LM: stage 2 must be on device 0"));
  const CommandResult both = run_command("plumbline schedule chimera -p 4 -m 8 --explain", scratch.path());
  CHECK(mentions(both.out, "  no: schedule 'chimera' cannot be written as PyTorch CSV: it has several replicas"));
}

TEST_CASE("a runtime sets how messages travel, and an option changes it") {
  const ScratchDirectory scratch;
  const auto makespan = [&](const std::string& options) {
    const CommandResult result = run_command(
        "plumbline simulate interleaved -p 4 -m 8 --network gpt2-small --cluster a100 --summary --json - " + options,
        scratch.path());
    CHECK(result.status == 0);
    const std::size_t at = result.out.find("\"makespan_ns\":");
    return result.out.substr(at, result.out.find(',', at) - at);
  };
  CHECK(makespan("--runtime plumbline") == makespan(""));
  CHECK(makespan("--runtime pytorch") ==
        makespan("--transfers rendezvous --receives on-send --send-buffers 2147483647"));
  CHECK(makespan("--runtime megatron") == makespan("--transfers rendezvous --receives ahead --send-buffers 1"));
  CHECK(makespan("--runtime pytorch --transfers buffered --receives ahead --send-buffers 2") == makespan(""));
  CHECK(mentions(run_command("plumbline simulate 1f1b -p 2 -m 4 --cost F=1 --runtime fax", scratch.path()).err,
                 "unknown runtime 'fax'"));
}

TEST_SUITE_END();
