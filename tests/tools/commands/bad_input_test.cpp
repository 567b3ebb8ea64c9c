#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb::testing;

/// A command, its exit status, and what its one line must say.
struct BadInput {
  std::string command;
  std::vector<std::string> says;
  int status = 2;
};

/// Runs every case in `scratch`: one line on standard error, nothing on standard output, no file left behind.
void check_all(const std::vector<BadInput>& cases, const ScratchDirectory& scratch) {
  const std::string before = scratch.listing();
  for (const BadInput& bad : cases) {
    CAPTURE(bad.command);
    const CommandResult result = run_command(bad.command, scratch.path());
    CAPTURE(result.err);
    CHECK(result.status == bad.status);
    CHECK(result.err.starts_with("plumbline: error: "));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(result.out == "");
    for (const std::string& text : bad.says) {
      CAPTURE(text);
      CHECK(result.err.find(text) != std::string::npos);
    }
    CHECK(scratch.listing() == before);
  }
}

const std::string kSimulate = "plumbline simulate 1f1b -p 4 -m 8 --cost F=1,B=2 ";

/// A valid document with two devices and two microbatches; parts are replaced to break it.
std::string document(const std::string& from = "", const std::string& to = "") {
  std::string text =
      "{\n"
      "  \"format\": \"plumbline-schedule\", \"version\": 1,\n"
      "  \"name\": \"mine\", \"parameters\": {},\n"
      "  \"num_devices\": 2, \"num_stages\": 2, \"num_microbatches\": 2, \"microbatches_per_update\": 2,\n"
      "  \"placement\": [[[0], [1]]],\n"
      "  \"weights\": {\"policy\": \"flush\"},\n"
      "  \"devices\": [[\"0F0\", \"0F1\", \"0B0\", \"0B1\", \"0U0\"], [\"1F0\", \"1B0\", \"1F1\", \"1B1\", \"1U0\"]]\n"
      "}\n";
  if (const std::size_t at = text.find(from); !from.empty() && at != std::string::npos) {
    text.replace(at, from.size(), to);
  }
  return text;
}

}  // namespace

TEST_CASE("unknown names come with the nearest known one") {
  const ScratchDirectory scratch;
  check_all(
      {
          {"plumbline simulte", {"'simulte'", "did you mean 'simulate'?"}},
          {"plumbline simulate 1f1c -p 4 -m 8 --cost F=1", {"'1f1c'", "did you mean '1f1b'?"}},
          {"plumbline simulate 1f1c", {"'1f1c'", "did you mean '1f1b'?"}},  // before what is missing
          {"plumbline sweep 1f1c", {"'1f1c'", "did you mean '1f1b'?"}},
          {"plumbline schedules interleaved1f1c", {"did you mean 'interleaved'?"}},
          {"plumbline schedules zb", {"expected one of", "zb-v", "zb-h1", "v-zb"}},
          {"plumbline validate 1f1b -p 2 -m 4 --runtime pytorh", {"'pytorh'", "'pytorch'"}},
          {kSimulate + "--jsn -", {"'--jsn'", "did you mean '--json'?"}},
          {kSimulate + "--transfers bufered", {"'bufered'", "did you mean 'buffered'?"}},
          {kSimulate + "--engine evnt", {"'evnt'", "did you mean 'event'?"}},
          {"plumbline simulate 1f1b -p 4 -m 8 --cost F=1,WQ=2", {"'WQ'"}},
          {"plumbline simulate 1f1b -p 4 -m 8 --network gpt-tny --cluster a100", {"'gpt-tny'", "'gpt-tiny'"}},
          {"plumbline simulate 1f1b -p 4 -m 8 --network gpt-tiny --cluster a10", {"'a10'", "'a100'"}},
          {"plumbline schedule 1f1b -p 4 -m 8 --format jsn", {"'jsn'", "did you mean 'json'?"}},
          {"plumbline schedule 1f1b -p 4 -m 8 --opt speed=1", {"speed"}},
          {kSimulate + "--what-if Z=0.5", {"unknown kind of action 'Z'", "B F"}},
          {"plumbline plan --network llama2-7b --cluster h100-1x8 --batch 8 --planners dapple,alpaca",
           {"'alpaca'", "did you mean 'alpa'?"}},
          {"plumbline plan --method pipedream --network bert-48 --cluster a100 --opt x=1", {"'x'; expected none"}},
      },
      scratch);
}

TEST_CASE("an unknown name among hundreds is reported with a few that are like it") {
  const ScratchDirectory scratch;
  const CommandResult result = run_command("plumbline reproduce zb-h1-bubble-8-24", scratch.path());
  CHECK(result.status == 2);
  CAPTURE(result.err);
  CHECK(result.err.find(", such as: ") != std::string::npos);
  CHECK(result.err.size() < 300);
}

TEST_CASE("an unknown option of a command with many is reported with where they are listed") {
  const ScratchDirectory scratch;
  const CommandResult result = run_command("plumbline simulate 1f1b -p 4 -m 8 --qwxyzk 3", scratch.path());
  CHECK(result.status == 2);
  CAPTURE(result.err);
  CHECK(result.err.find("unknown simulate option '--qwxyzk'; `plumbline simulate --help` lists") != std::string::npos);
  CHECK(std::ranges::count(result.err, '\n') == 1);
  CHECK(result.err.size() < 200);
}

TEST_CASE("numbers out of range are refused with the range") {
  const ScratchDirectory scratch;
  const std::string train = "plumbline train 1f1b -p 2 -m 2 --network gpt-tiny ";
  check_all(
      {
          {kSimulate + "--jitter -1", {"--jitter: '-1' is out of range, expected 0 to 1"}},
          {kSimulate + "--recompute all,x", {"--recompute", "'all,x'", "expected all, 2 or 1-2"}},
          {train + "--learning-rate -1", {"--learning-rate: '-1' is out of range, expected 0 or more"}},
          {train + "--optimizer sgd --momentum 2", {"--momentum: '2' is out of range, expected 0 to 1"}},
          {train + "--clip-norm 0", {"--clip-norm", "expected a norm above 0"}},
          {"plumbline stability --rate -1", {"--rate: '-1' is out of range"}},
          {"plumbline stability t1+t1", {"'t1+t1'", "t1 is named twice"}},
          {"plumbline plan --network gpt-tiny --cluster a100 --batch 4 --memory-limit 80XB",
           {"'80XB' is not a size", "80GiB"}},
      },
      scratch);
}

TEST_CASE("a paced run wants times, and refuses what needs arithmetic; other runs refuse its options") {
  const ScratchDirectory scratch;
  const std::string paced = "plumbline train 1f1b -p 2 -m 2 --backend paced ";
  check_all(
      {
          {paced, {"--backend paced", "the times are missing, expected --cost LIST"}},
          {paced + "--network gpt-tiny", {"--backend paced", "the times are missing"}},
          {paced + "--cost F=1,B=2 --losses losses.csv", {"--losses", "the back end paced computes none"}},
          {paced + "--cost F=1,B=2 --evaluate-every 1", {"--evaluate-every", "the back end paced computes nothing"}},
          {paced + "--cost F=1,B=2 --held-out 9", {"--held-out", "the back end paced computes nothing"}},
          {paced + "--cost F=1,B=2 --translate 9", {"--translate", "the back end paced computes nothing"}},
          {paced + "--cost F=1,B=2 --executor serial", {"runs in real time", "expected the executor threads"}},
          {"plumbline train 1f1b -p 2 -m 2 --network gpt-tiny --transfers fifo",
           {"--transfers", "expected --backend paced with it"}},
          {"plumbline profile --network gpt-tiny --backend paced", {"has no times of its own"}},
      },
      scratch);
}

TEST_CASE("impossible sizes name the rule") {
  const ScratchDirectory scratch;
  check_all(
      {
          {"plumbline schedule 1f1b -m 8", {"1f1b", "-p N"}},
          {"plumbline schedule 1f1b -p 4", {"1f1b", "-m N"}},
          {"plumbline schedule 1f1b -p 0 -m 8", {"--devices", "'0'", "expected 1"}},
          {"plumbline schedule 1f1b -p -4 -m 8", {"--devices", "'-4'", "expected 1"}},
          {"plumbline schedule 1f1b -p four -m 8", {"--devices", "'four'", "expected 1"}},
          {"plumbline schedule 1f1b -p 4 -m 2.5", {"--microbatches", "'2.5'"}},
          {"plumbline schedule chimera -p 3 -m 4", {"chimera", "3"}},
          {"plumbline schedule interleaved -p 4 -m 6 -v 2", {"interleaved", "6"}},
          {"plumbline simulate 1f1b -p 1000000000 -m 8 --cost F=1,B=2", {"1f1b", "1000000000"}},
          {"plumbline schedule 1f1b -p 1000000000 -m 8", {"1f1b", "1000000000"}},
          {"plumbline schedule 1f1b -p 99999999999 -m 8", {"out of range"}},
      },
      scratch);
}

TEST_CASE("costs that are missing or contradict each other are refused") {
  const ScratchDirectory scratch;
  const std::string simulate = "plumbline simulate 1f1b -p 4 -m 8 ";
  check_all(
      {
          {simulate + "--cluster a100", {"the costs are missing", "--cost"}},
          {simulate + "--cost F=1,B=3,I=1,W=1", {"B"}},
          {simulate + "--cost F=-1", {"F"}},
          {simulate + "--cost F=x", {"x"}},
          {simulate + "--cost F=1,B=2 --memory F=1,I=0,W=0", {"0"}},
          {simulate + "--cost F=1,B=2 --network gpt-tiny", {"--network"}},
          {simulate + "--network gpt-tiny --cluster a100 --memory F=1,W=-1", {"--memory", "--cost"}},
          {simulate + "--network gpt-tiny --cluster a100 --partition 1,2", {"1,2"}},
          {"plumbline simulate 1f1b -p 16 -m 8 --network gpt2-small --cluster a100-1x8", {"8 devices", "needs 16"}},
          {"plumbline networks meta-llama/Llama-3.1-70B", {"config.json", "'llama3-70b' has the nearest name"}},
          {simulate + "--svg a.png", {"--svg: writes .svg files, found 'a.png'", "or --png a.png"}},
          {"plumbline stability --png a.png", {"--png: diagrams are written as SVG", "rsvg-convert"}},
          {simulate + "--svg a.svg --width 2", {"--width", "expected 6 to 120"}},
          {simulate + "--profile nothing.json", {"nothing.json", "No such file"}},
          {simulate + "--cost F=1,B=2 --memory-limit lots", {"--memory-limit", "'lots'"}},
      },
      scratch);
}

TEST_CASE("broken documents are refused with line, column and path") {
  const ScratchDirectory scratch;
  scratch.write("torn.json", document().substr(0, 150));
  scratch.write("comma.json", document("\"version\": 1,", "\"version\": 1"));
  scratch.write("type.json", document("\"num_devices\": 2", "\"num_devices\": \"two\""));
  scratch.write("key.json", document("\"parameters\": {}", "\"parametres\": {}"));
  scratch.write("action.json", document("\"0F1\"", "\"0Q1\""));
  scratch.write("format.json", document("plumbline-schedule", "something-else"));
  scratch.write("timeline.json", "{\"format\": \"plumbline-timeline\", \"kind\": \"simulated\"}");
  scratch.write("version.json", document("\"version\": 1", "\"version\": 99"));
  scratch.write("repeat.json", document("\"0F1\"", "{\"repeat\": 0, \"advance\": 1, \"actions\": [\"0F1\"]}"));
  scratch.write("huge.json", document("\"num_devices\": 2", "\"num_devices\": 1000000000"));
  scratch.write("device.json", document("[[[0], [1]]]", "[[[0], [7]]]"));
  scratch.write("name.txt", "d0: 0F0 0B0\nd2: 1F0 1B0\n");
  scratch.write("updates.txt", "d0: 0F0 0B0 0U0\nupdates: many\n");
  check_all(
      {
          {"plumbline validate name.txt", {"name.txt:2:", "'d1:'"}},
          {"plumbline validate updates.txt", {"updates.txt:2:", "key: value"}},
          {"plumbline validate device.json", {"device.json:5:", "placement", "0 to 1", "7"}},
          {"plumbline validate torn.json", {"torn.json:"}},
          {"plumbline validate comma.json", {"comma.json:3:"}},
          {"plumbline validate type.json", {"type.json:4:", "num_devices", "two"}},
          {"plumbline validate key.json", {"key.json:3:", "parametres", "parameters"}},
          {"plumbline validate action.json", {"action.json:7:", "0Q1"}},
          {"plumbline validate format.json", {"format.json:2:"}},
          {"plumbline validate timeline.json", {"expected \"plumbline-schedule\", found \"plumbline-timeline\""}},
          {"plumbline validate version.json", {"version.json:2:", "99"}},
          {"plumbline validate repeat.json", {"repeat.json:7:", "repeat"}},
          {"plumbline validate huge.json", {"huge.json:"}},
          {"plumbline validate nothing.json", {"nothing.json", "No such file"}},
          {"plumbline validate .", {"directory"}},
          {"plumbline simulate ./key.json --cost F=1,B=2", {"key.json:3:"}},
          {"plumbline simulate nothing.json -p 4 --cost F=1,B=2", {"expected no -p"}},
      },
      scratch);
}

TEST_CASE("a file of another kind is told as what it is, with what was expected") {
  const ScratchDirectory scratch;
  REQUIRE(
      run_command("plumbline simulate 1f1b -p 2 -m 2 --json p.json --csv p.csv --trace t.json --svg p.svg --summary",
                  scratch.path())
          .status == 0);
  scratch.write("d.txt", "d0: 0F0 0B0\n");
  scratch.write("rank0.json.gz", std::string("\x1f\x8b\x08\x00", 4));
  scratch.write("empty.json", "\n");
  scratch.write("train.sh", "#!/bin/bash\ntorchrun pretrain_gpt.py --num-layers 2\n");
  check_all(
      {
          {"plumbline compare p.json p.csv",
           {"p.csv: is the table of a timeline that --csv writes", "`simulate --json`"}},
          {"plumbline compare p.csv p.csv", {"p.csv: is the table of a timeline", "expected a timeline"}},
          {"plumbline compare p.json t.json", {"t.json: is the picture of a timeline that --trace writes"}},
          {"plumbline compare p.json d.txt --max-error 5%",
           {"d.txt is a schedule", "apply to a run and its prediction"}},
          {"plumbline compare p.json p.json --svg a.svg --memory-exact", {"expected no picture with them"}},
          {"plumbline compare gpipe 1f1b -p 2 -m 2 --names a", {"found 1 titles of 2 runs"}},
          {"plumbline compare gpipe 1f2b", {"unknown schedule '1f2b'", "1f1b"}},
          {"plumbline compare p.json p.svg", {"p.svg: is a page or a picture"}},
          {"plumbline compare p.json empty.json", {"empty.json: is empty, expected a timeline"}},
          {"plumbline trace gpipe", {"gpipe"}},
          {"plumbline compare --ranking gpipe 1f1b", {"gpipe: is a schedule, expected the file of a timeline"}},
          {"plumbline trace train.sh", {"train.sh: is a script, expected the traces of a run"}},
          {"plumbline trace p.csv", {"p.csv: is the table of a timeline", "traces of a run"}},
          {"plumbline simulate p.csv", {"p.csv: is the table of a timeline", "expected a schedule"}},
          {"plumbline simulate rank0.json.gz", {"rank0.json.gz: is packed by gzip, expected a schedule"}},
          {"plumbline simulate 1f1b -p 2 -m 2 --profile rank0.json.gz",
           {"is packed by gzip, expected a profile", "trace"}},
          {"plumbline simulate 1f1b -p 2 -m 2 --network rank0.json.gz --cluster a100", {"rank0.json.gz: is a file"}},
          {"plumbline validate train.sh", {"exec:train.sh would run it", "simulate --job train.sh"}},
          {"plumbline schedule 1f1b -p 2 -m 2 -o s.svg", {"'.svg'", "pictures are made by `plumbline simulate`"}},
      },
      scratch);
}

TEST_CASE("what a first try leaves open is taken, and a note says what") {
  const ScratchDirectory scratch;
  struct Try {
    std::string command;
    std::string noted;
    std::string same;  ///< the command that says everything
  };
  for (const Try& each : std::vector<Try>{
           {"simulate 1f1b", "1f1b: -p 4 -m 8 are taken", "simulate 1f1b -p 4 -m 8"},
           {"simulate zb-auto -p 2", "zb-auto: -p 2 -m 4 are taken", "simulate zb-auto -p 2 -m 4"},
           {"simulate gpipe -m 3", "gpipe: -p 4 -m 3 are taken", "simulate gpipe -p 4 -m 3"},
           {"simulate 1f1b -p 4 -m 8 --network gpt2-small", "--cluster h100 is taken",
            "simulate 1f1b -p 4 -m 8 --network gpt2-small --cluster h100"},
           {"simulate 1f1b -p 8 -m 8 --network gpt2-small --cluster H100 --tp 2",
            "16 devices are needed and --cluster H100 has 8: H100-2x8 is taken",
            "simulate 1f1b -p 8 -m 8 --network gpt2-small --cluster h100-2x8 --tp 2"},
           {"simulate 1f1b -p 12 -m 12 --network gpt2-small --cluster h100-16", "",
            "simulate 1f1b -p 12 -m 12 --network gpt2-small --cluster h100-2x8"},
       }) {
    CAPTURE(each.command);
    const CommandResult tried = run_command("plumbline " + each.command + " --summary", scratch.path());
    const CommandResult said = run_command("plumbline " + each.same + " --summary", scratch.path());
    CHECK(tried.status == said.status);
    CHECK(tried.status != 2);
    CHECK(tried.out.substr(0, tried.out.find("\nnext:")) == said.out.substr(0, said.out.find("\nnext:")));
    CHECK(tried.err.find(each.noted) != std::string::npos);
    CHECK(std::ranges::count(tried.err, '\n') - std::ranges::count(said.err, '\n') == (each.noted.empty() ? 0 : 1));
  }
}

TEST_CASE("first tries that cannot be read are told what would be") {
  const ScratchDirectory scratch;
  check_all(
      {
          {"plumbline simulate 1f1b -p 4 -m 8 --devices 16", {"-p and --devices are one option", "--cluster h100-2x8"}},
          {"plumbline schedule 1f1b", {"expected -p N (such as -p 4 -m 8)"}},
          {"plumbline schedule 1f1b -p 4", {"expected -m N (such as -m 8)"}},
          {"plumbline simulate", {"NAME|FILE is missing", "simulate 1f1b -p 4 -m 8"}},
          {"plumbline simulate 1f1b gpipe -p 4 -m 8", {"'gpipe' is one argument too many", "`plumbline sweep`"}},
          {"plumbline simulate 1f1b,gpipe -p 4 -m 8", {"'1f1b,gpipe' is a list", "`plumbline sweep`"}},
          {"plumbline simulate llama3-8b -p 4 -m 8", {"is a network, expected a schedule", "--network llama3-8b"}},
          {"plumbline simulate zero-bubble -p 4 -m 8", {"expected one of: zb-h1"}},
          {"plumbline simulate pipelines -p 4 -m 8", {"`plumbline schedules` lists all"}},
          {"plumbline simulate 1f1b -p 4 --batch 64", {"microbatches are counted, expected -m N"}},
          {"plumbline simulate 1f1b -p 4 -m 8 --plot", {"expected --svg, --png, --pdf or --html FILE"}},
          {"plumbline simulate 1f1b -p 4 -m 8 --cost 1,2", {"expected a list such as F=1,B=2"}},
          {"plumbline simulate 1f1b -p 4 -m 8 --memory-limit 80GB", {"'80GB' is of bytes", "number of stashes"}},
          {"plumbline sweep 1f1b -p 2-8-2 -m 8", {"8-2"}},
          {"plumbline sweep 1f1b -p 2:4:1:1 -m 8", {"'2:4:1:1' is not a range", "2:8"}},
          {"plumbline sweep", {"numbers of devices are missing, expected -p RANGE (such as -p 4,8)"}},
          {"plumbline search -p 4 -m 8 --time-limit 5", {"effort is counted", "--simulations N"}},
          {"plumbline plan",
           {"the model (--network NAME|FILE), the cluster (--cluster NAME|FILE) and the global batch",
            "plan --network llama3-70b --cluster h100-8x8 --batch 128"}},
          {"plumbline plan --network gpt2-xl --cluster a100", {"the global batch size (--batch N) is missing"}},
          {"plumbline plan --network gpt2-xl --cluster gaudi2 --batch 8", {"or a file that describes another one"}},
          {"plumbline plan --network gpt2-xl --cluster a100 --batch 8 --devices 67", {"67", "more than half full"}},
      },
      scratch);
}

TEST_CASE("an invalid schedule gives all findings and exit status 3") {
  struct Case {
    std::string name;
    std::string from;
    std::string to;
    std::vector<std::string> says;
  };
  const std::vector<Case> cases{
      {"duplicate.json", "\"0F1\", ", "\"0F1\", \"0F1\", ", {"0F1", "device 0"}},
      {"missing.json", "\"0F1\", ", "", {"0F1"}},
      {"order.json", "\"1F0\", \"1B0\"", "\"1B0\", \"1F0\"", {"1B0", "device 1"}},
      {"stranger.json", "\"0B1\", ", "\"0B1\", \"1F1\", ", {"1F1", "device 0"}},
  };
  for (const Case& test : cases) {
    CAPTURE(test.name);
    const ScratchDirectory scratch;
    scratch.write(test.name, document(test.from, test.to));
    const CommandResult result = run_command("plumbline validate " + test.name, scratch.path());
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.status == 3);
    for (const std::string& text : test.says) CHECK(result.out.find(text) != std::string::npos);
    const CommandResult simulated =
        run_command("plumbline simulate " + test.name + " --cost F=1,B=2 --json out.json", scratch.path());
    CHECK(simulated.status == 3);
    CHECK(simulated.out == "");
    CHECK(scratch.listing() == test.name);
  }
}

TEST_CASE("a schedule that waits for itself is named with its cycle") {
  const ScratchDirectory scratch;
  // Device 0 runs F1 only after B0, device 1 runs B0 only after F1.
  scratch.write("deadlock.json",
                document("\"0F0\", \"0F1\", \"0B0\", \"0B1\", \"0U0\"], [\"1F0\", \"1B0\", \"1F1\", \"1B1\"",
                         "\"0F0\", \"0B0\", \"0F1\", \"0B1\", \"0U0\"], [\"1F0\", \"1F1\", \"1B0\", \"1B1\""));
  const CommandResult result = run_command("plumbline validate deadlock.json", scratch.path());
  CHECK(result.status == 3);
  CAPTURE(result.out);
  CHECK(result.out.find("deadlock") != std::string::npos);
  CHECK(result.out.find("0B0") != std::string::npos);
  CHECK(result.out.find("1F1") != std::string::npos);
}

TEST_CASE("a deadlock is exit status 3 in every command, with its cycle") {
  const ScratchDirectory scratch;
  // The device reduces for one replica and updates before it reduces for the other.
  scratch.write(
      "collectives.json",
      R"({"format":"plumbline-schedule","version":1,"name":"two","parameters":{},"num_devices":1,"num_stages":1,
"num_microbatches":2,"microbatches_per_update":2,"placement":[[[0]],[[0]]],"weights":{"policy":"flush"},
"devices":[["0F0","0B0","1:0F1","1:0B1","0REDUCE_GRAD","0U0","1:0REDUCE_GRAD","1:0U0"]]})");
  for (const std::string question : {"simulate", "schedule", "validate"}) {
    scratch.write(question + ".json", R"({"ask": ")" + question + R"(", "schedule": "collectives.json"})");
  }
  scratch.write("sweep.json",
                R"({"ask": "sweep", "schedules": ["collectives.json"], "devices": 1, "microbatches": 2})");
  scratch.write("convert.json", R"({"ask": "convert", "in": "collectives.json", "to": "text"})");
  const std::string cycle = "0U0 on device 0 waits for 1:0REDUCE_GRAD on device 0, which comes after 0U0";
  for (const char* command :
       {"validate collectives.json", "validate collectives.json --transfers all",
        "simulate collectives.json --cost F=1", "convert collectives.json x.json",
        "simulate collectives.json --network gpt2-small --cluster a100", "train collectives.json --network gpt-tiny",
        "schedule collectives.json", "sweep collectives.json -p 1 -m 2 --cost F=1",
        "sweep collectives.json -p 1 -m 2 --cost F=1 --csv -", "ask simulate.json", "ask schedule.json",
        "ask sweep.json", "ask validate.json", "ask convert.json"}) {
    CAPTURE(command);
    const CommandResult result = run_command("plumbline " + std::string(command), scratch.path());
    CAPTURE(result.out);
    CAPTURE(result.err);
    CHECK(result.status == 3);
    CHECK((result.out + result.err).find("deadlock: " + cycle) != std::string::npos);
  }
  const std::string interleaved = "interleaved -p 4 -m 8 -v 2 ";
  const CommandResult simulated = run_command(
      "plumbline simulate " + interleaved + "--network gpt2-small --cluster a100 --transfers blocking", scratch.path());
  CHECK(simulated.status == 3);
  CHECK(simulated.out == "");
  CHECK(simulated.err.starts_with("plumbline: error: transfers blocking: deadlock: 0F7 on device 0 waits for "));
  CHECK(std::count(simulated.err.begin(), simulated.err.end(), '\n') == 1);
  const CommandResult swept = run_command(
      "plumbline sweep interleaved -p 4 -m 8,16 -v 2 --network gpt2-small --cluster a100 --transfers blocking",
      scratch.path());
  CHECK(swept.status == 3);
  CHECK(swept.err == simulated.err);
  const CommandResult validated = run_command("plumbline validate " + interleaved + "--transfers all", scratch.path());
  CHECK(validated.status == 3);
  CHECK(validated.out.find("transfers blocking: deadlock: ") != std::string::npos);
  CHECK(validated.out.find("transfers rendezvous") == std::string::npos);
}

TEST_CASE("what no clock can count is refused with the limit") {
  const ScratchDirectory scratch;
  check_all({{"plumbline simulate 1f1b -p 4 -m 100000 --cost F=1000000000,B=1 --summary --json -",
              {"take 4e+20 ns together; expected at most 2.306e+18 ns"}},
             {"plumbline simulate 1f1b -p 4 -m 2000000000 --cost F=1000000000,B=1 --summary", {"expected at most"}},
             {"plumbline simulate 1f1b -p 4 -m 8 --cost F=4000000000,B=1/3",
              {"4000000000 is too large; expected at most 3002399751.58, because the fractions of all values need a "
               "unit of 1/3 ns"}},
             {"plumbline simulate 1f1b -p 4 -m 8 --cost F=1,B=2 --what-if F=1e300", {"2^61"}},
             {"plumbline schedule zb-auto -p 4 -m 400 --cost F=9000000000,I=1,W=1,comm=9000000000",
              {"zb-auto: the passes of all microbatches take more than 2^61 ticks"}}},
            scratch);
  CHECK(run_command("plumbline simulate 1f1b -p 4 -m 8 --cost F=4000000000,B=1 --summary", scratch.path()).status == 0);
}

TEST_CASE("values of a cluster and of a network are refused by their place, and bytes that are no text as numbers") {
  const ScratchDirectory scratch;
  scratch.write("fast.json", R"({"format": "plumbline-cluster", "version": 1, "name": "fast", "nodes": 1,
"devices_per_node": 2, "device": {"flops_per_s": 1e12, "memory_bytes_per_s": 1e12},
"intra_node": {"latency_ns": 0, "bytes_per_s": 1e24}})");
  check_all({{"plumbline simulate 1f1b -p 2 -m 2 --network gpt2-small --cluster fast.json",
              {"fast.json:3:", "intra_node.bytes_per_s", "8e+18"}},
             {"plumbline simulate $'no\\xff\\xc3such' -p 2 -m 2 --cost F=1", {"no\\xff\\xc3such"}}},
            scratch);
}

TEST_CASE("outputs that cannot be written are one line, and no part of them is left") {
  const ScratchDirectory scratch;
  scratch.write("file", "not a directory");
  check_all(
      {
          {kSimulate + "--json /dev/full", {"/dev/full", "No space left on device"}},
          {kSimulate + "--html /dev/full", {"/dev/full", "No space left on device"}},
          {kSimulate + "--json - >/dev/full", {"standard output", "No space left on device"}},
          {"plumbline schedule 1f1b -p 4 -m 8 >/dev/full", {"standard output", "No space left on device"}},
          {"plumbline schedules >/dev/full", {"standard output", "No space left on device"}},
          {kSimulate + "--svg no/such/place.svg", {"no/such/place.svg", "No such file or directory"}},
          {kSimulate + "--trace file/trace.json", {"file/trace.json", "Not a directory"}},
          {kSimulate + "--csv .", {".: cannot write: Is a directory"}},
          {kSimulate + "--json - --csv -", {"standard output", "expected one"}},
          {kSimulate + "--json out.json --csv ./out.json", {"out.json: two outputs have this name, expected one"}},
          {"plumbline sweep 1f1b -p 2 -m 2 --cost F=1 --csv - --html -", {"standard output: two outputs"}},
          {"plumbline convert file out.xyz", {"out.xyz", "'.xyz'", "--to FORMAT", ".json .csv .txt"}},
          {"plumbline schedule chimera -p 3 -m 4 -o out.json", {"chimera"}},
          {"plumbline convert nothing.json out.csv", {"nothing.json"}},
      },
      scratch);
}

TEST_CASE("what does not fit in memory is exit status 3 with every device at once") {
  const ScratchDirectory scratch;
  const CommandResult result = run_command(kSimulate + "--memory-limit 2.5 --summary", scratch.path());
  CHECK(result.status == 3);
  CHECK(result.err ==
        "1f1b: device 0: does not fit: the peak of 4 stash units is 1.5 above the limit of 2.5\n"
        "1f1b: device 1: does not fit: the peak of 3 stash units is 0.5 above the limit of 2.5\n");
  CHECK(run_command(kSimulate + "--memory-limit 4 --summary", scratch.path()).status == 0);
}
