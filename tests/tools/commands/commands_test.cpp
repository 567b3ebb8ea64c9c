#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/commands/command.hpp"
#include "tools/terminal/text_table.hpp"
#include "tools/terminal/words.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb::testing;
using nlohmann::json;

CommandResult run(const std::string& command) {
  const ScratchDirectory scratch;
  return run_command(command, scratch.path());
}

/// An answer without the command that comes next, which repeats the words of the question.
std::string figures_of(const std::string& answer) { return answer.substr(0, answer.find("\nnext:\n")); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("help lists every command, and every command explains itself") {
  const CommandResult help = run("plumbline --help");
  CHECK(help.status == 0);
  for (const plumb::Command& command : plumb::command_table({})) {
    CAPTURE(command.name);
    const std::string name(command.name);
    CHECK(has(help.out, "  " + name + " "));
    const CommandResult own = run("plumbline " + name + " --help");
    CHECK(own.status == 0);
    CHECK(own.err == "");
    CHECK(own.out.starts_with("usage: plumbline " + name));
    CHECK(own.out == run("plumbline help " + name).out);
    CHECK((has(own.out, "\n\nexamples:\n") && has(own.out, "\n  plumbline " + name)));
  }
}

TEST_CASE(
    "the short help of every command has at most 25 lines of 80 columns, two examples and the way to all options") {
  for (const plumb::Command& command : plumb::command_table({})) {
    CAPTURE(command.name);
    const std::string name(command.name);
    const CommandResult brief = run("plumbline " + name + " -h");
    CAPTURE(brief.out);
    CHECK(brief.status == 0);
    CHECK(brief.out.starts_with("usage: plumbline " + name));
    const std::vector<std::string> lines = plumb::split(brief.out, '\n');
    CHECK(lines.size() <= 26);  // the last one is empty
    for (const std::string& line : lines) {
      CAPTURE(line);
      CHECK(line.size() <= 80);
    }
    CHECK(has(brief.out, "examples:\n  plumbline " + name));
    const CommandResult full = run("plumbline " + name + " --help");
    CHECK(full.out.size() > brief.out.size());
    if (has(full.out, "--json")) CHECK(has(brief.out, "--help"));
  }
}

TEST_CASE("a closed group only names its options, and --help GROUP, --help OPTION and --help all explain them") {
  const std::string meaning = "tensor-parallel degree of every pipeline rank";
  CHECK(has(run("plumbline simulate --help").out, "--tp-by-rank"));
  CHECK(!has(run("plumbline simulate --help").out, meaning));
  for (const std::string word : {"parallelism", "tp-by-rank", "all"}) {
    CAPTURE(word);
    CHECK(has(run("plumbline simulate --help " + word).out, meaning));
    CHECK(run("plumbline help simulate " + word).out == run("plumbline simulate --help " + word).out);
  }
  const CommandResult wrong = run("plumbline simulate --help paralelism");
  CHECK(wrong.status == 2);
  CHECK(has(wrong.err, "unknown group of the help of simulate 'paralelism' (did you mean 'parallelism'?)"));
}

TEST_CASE("`list` shows what the command of each kind shows, and only what a system runs where one is named") {
  CHECK(run("plumbline list schedules").out == run("plumbline schedules").out);
  CHECK(run("plumbline list models gpt2-small").out == run("plumbline networks gpt2-small").out);
  CHECK(run("plumbline list clusters").out == run("plumbline clusters").out);
  const std::string megatron = run("plumbline list schedules --names --runs-in megatron").out;
  CHECK(has(megatron, "interleaved\n"));
  CHECK(!has(megatron, "dualpipev\n"));
  CHECK(has(run("plumbline list schedules --names --runs-in pytorch").out, "dualpipev\n"));
  CHECK(run("plumbline list schedules --runs-in horovod").status == 2);
  CHECK(has(run("plumbline list scedules").err, "unknown list 'scedules' (did you mean 'schedules'?)"));
}

TEST_CASE("the program without the trainer lists the same commands and says in one line what it cannot do") {
  CHECK(run("plumbline-simulator --help").out == run("plumbline --help").out);
  const std::string simulation = " simulate zb-h1 -p 4 -m 8 --cost F=1,I=1,W=1";
  CHECK(run("plumbline-simulator" + simulation).out == run("plumbline" + simulation).out);
  for (const std::string name : {"profile", "train", "weights", "reproduce", "demo"}) {
    CAPTURE(name);
    const CommandResult result = run("plumbline-simulator " + name + " --help");
    CHECK(result.status == 2);
    CHECK(has(result.err, "plumbline: error: " + name + ": this program was built without the trainer"));
    CHECK(has(result.err, "`./plumbline " + name + "`"));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
  CHECK(has(run("plumbline-simulator version").out, "trainer    not in this program"));
}

TEST_CASE("a study is a script, which the error names") {
  for (const std::string study : {"pipemare", "planners", "public"}) {
    CAPTURE(study);
    const CommandResult result = run("plumbline reproduce " + study);
    CHECK(result.status == 2);
    CHECK(has(result.err, "results/" + study + "/study.py"));
    CHECK(has(result.err, "`./plumbline reproduce " + study + "`"));
  }
}

TEST_CASE("without a command the help is printed, and the status says that something is missing") {
  const CommandResult result = run("plumbline");
  CHECK(result.status == 2);
  CHECK(has(result.out, "usage: plumbline COMMAND"));
  CHECK(result.out == run("plumbline -h").out);
  CHECK(has(result.out, "\n  compare "));
  CHECK(!has(result.out, "\n  stability "));
}

TEST_CASE("names of schedules are one per line and those of the JSON catalogue") {
  const CommandResult names = run("plumbline schedules --names");
  std::string expected;
  for (const json& row : json::parse(run("plumbline schedules --json").out)) {
    expected += row.at("name").get<std::string>() + "\n";
  }
  CHECK(names.out == expected);
  CHECK(has(names.out, "1f1b\n"));
}

TEST_CASE("JSON on standard output stands alone and has the closed form's figures") {
  const CommandResult result = run("plumbline simulate 1f1b -p 4 -m 8 --cost F=1,B=2 --json -");
  CHECK(result.status == 0);
  CHECK(result.err == "");
  const json timeline = json::parse(result.out);
  CHECK(timeline.at("kind") == "simulated");
  CHECK(timeline.at("makespan_ns") == 33'000'000);
  CHECK(timeline.at("bubble_fraction").get<double>() == doctest::Approx(3.0 / 11).epsilon(1e-12));
  CHECK(timeline.at("spans").size() == 4 * (8 + 8 + 1));
  std::vector<double> peaks;
  for (const json& device : timeline.at("devices")) peaks.push_back(device.at("peak_activations"));
  CHECK(peaks == std::vector<double>{4, 3, 2, 1});
}

TEST_CASE("a schedule without costs is simulated with those of textbooks, and the answer says so") {
  const CommandResult assumed = run("plumbline simulate 1f1b -p 4 -m 8 --summary");
  CHECK(assumed.status == 0);
  CHECK(has(assumed.out, "F=1,B=2, assumed"));
  CHECK(has(assumed.out, "--cost or --network"));
  CHECK_FALSE(has(run("plumbline simulate 1f1b -p 4 -m 8 --cost F=1,B=2 --summary").out, "assumed"));
}

TEST_CASE("rates are told per device, and tokens only of networks that have them") {
  const CommandResult text =
      run("plumbline simulate 1f1b -p 2 -m 8 --network llama3-8b --cluster h100-1x8 --tp 4 --sequence-parallel "
          "--microbatch-size 1 --summary");
  CHECK(has(text.out, "tokens/s"));
  CHECK(has(text.out, "TFLOP/s per device"));
  const json timeline =
      json::parse(run("plumbline simulate 1f1b -p 2 -m 8 --network llama3-8b --cluster h100-1x8 --tp 4 "
                      "--sequence-parallel --microbatch-size 1 --summary --json -")
                      .out);
  // Of 989 TFLOP/s; six FLOPs per weight of a product and token, and twelve per token that attention sees and feature.
  const double tflops = timeline.at("tflops_per_device");
  CHECK(tflops == doctest::Approx(989.4 * timeline.at("model_flops_utilization").get<double>()).epsilon(0.001));
  const double per_token = tflops * 1e12 * 8 / timeline.at("tokens_per_s").get<double>();
  CHECK(per_token == doctest::Approx(6 * 7.505e9 + 12.0 * 32 * 8192 * 4096).epsilon(0.001));
  const CommandResult images = run("plumbline simulate 1f1b -p 2 -m 4 --network vgg-16 --cluster a100 --summary");
  CHECK(has(images.out, "samples/s"));
  CHECK_FALSE(has(images.out, "tokens/s"));
}

TEST_CASE(
    "a searched order comes with a bound, in the table, in JSON and in its document; an order from a file without") {
  const std::string problem = " -p 4 -m 8 --cost F=5,I=6,W=4 --memory F=2,I=-1,W=-1 --memory-limit 16 ";
  const CommandResult proved = run("COLUMNS=200 plumbline simulate zb-auto" + problem + "--opt proof=1 --summary");
  CHECK(has(proved.out, "longest device span 125, proved to be the shortest"));
  const CommandResult found = run("COLUMNS=200 plumbline simulate zb-auto" + problem + "--opt improve=no --summary");
  CHECK(has(found.out, "longest device span 126, proved at least 125 (gap 0.80 %)"));
  const json timeline =
      json::parse(run("COLUMNS=200 plumbline simulate zb-auto" + problem + "--opt improve=no --json -").out);
  CHECK(timeline["search"] == json{{"span_ns", 126'000'000}, {"bound_ns", 125'000'000}});
  const ScratchDirectory scratch;
  const std::string schedule = "plumbline schedule zb-auto" + problem + "--opt improve=no -o order.json";
  CHECK(run_command(schedule, scratch.path()).status == 0);
  const std::string simulate = "plumbline simulate order.json --cost F=6,I=6,W=6 --summary";
  CHECK_FALSE(has(run_command(simulate, scratch.path()).out, "proved"));
  const json document = json::parse(run("plumbline schedule zb-auto" + problem + "--opt improve=no").out);
  CHECK(document["parameters"]["search_bound_ms"] == 125);
}

TEST_CASE("a summary has no spans and the same figures") {
  const json full = json::parse(run("plumbline simulate zb-h1 -p 4 -m 8 --cost F=1,I=1,W=1 --json -").out);
  json summary = json::parse(run("plumbline simulate zb-h1 -p 4 -m 8 --cost F=1,I=1,W=1 --summary --json -").out);
  CHECK(!summary.contains("spans"));
  CHECK(!summary.contains("memory"));
  for (const char* key : {"makespan_ns", "step_time_ns", "bubble_fraction", "bubble_rate", "utilization", "devices"}) {
    CAPTURE(key);
    CHECK(summary.at(key) == full.at(key));
  }
}

TEST_CASE("a billion microbatches are answered, from the catalogue and from a document") {
  const ScratchDirectory scratch;
  const std::string end = " --cost F=1,B=2 --summary --json -";
  const CommandResult named = run_command("plumbline simulate 1f1b -p 4 -m 1000000000" + end, scratch.path());
  CHECK(json::parse(named.out).at("makespan_ns") == 3'000'000 * (1'000'000'000LL + 3));
  REQUIRE(run_command("plumbline schedule 1f1b -p 4 -m 1000000000 -o long.json", scratch.path()).status == 0);
  CHECK(std::filesystem::file_size(scratch.path() / "long.json") < 100'000);
  CHECK(run_command("plumbline validate long.json", scratch.path()).status == 0);
  CHECK(run_command("plumbline simulate long.json" + end, scratch.path()).out == named.out);
}

TEST_CASE("a document gives the same timeline as the name it was made from, in every format") {
  const ScratchDirectory scratch;
  const std::string end = " --cost F=1,I=2,W=1 --json -";
  const json named = json::parse(run_command("plumbline simulate zb-h1 -p 3 -m 5" + end, scratch.path()).out);
  for (const std::string file : {"made.json", "made.csv", "made.txt"}) {
    CAPTURE(file);
    REQUIRE(run_command("plumbline schedule zb-h1 -p 3 -m 5 -o " + file, scratch.path()).status == 0);
    const json made = json::parse(run_command("plumbline simulate " + file + end, scratch.path()).out);
    CHECK(made.at("makespan_ns") == named.at("makespan_ns"));
  }
  CHECK(run_command("plumbline convert made.json - --to torch-csv | cmp - made.csv", scratch.path()).status == 0);
  CHECK(run_command("plumbline convert made.txt - --to torch-csv | cmp - made.csv", scratch.path()).status == 0);
}

TEST_CASE("a document is read from standard input, and - is standard output") {
  const CommandResult result =
      run("plumbline schedule gpipe -p 2 -m 2 | plumbline simulate - --cost F=1,B=1 --summary --json -");
  CHECK(result.status == 0);
  CHECK(json::parse(result.out).at("makespan_ns") == 6'000'000);
}

TEST_CASE("every report format is written by its option and says nothing on standard output but the table") {
  const ScratchDirectory scratch;
  const CommandResult result = run_command(
      "plumbline simulate 1f1b -p 2 -m 4 --cost F=1,B=2 --json a.json --trace t.json --html p.html --svg p.svg --csv "
      "s.csv --tikz p.tikz --pdf p.pdf",
      scratch.path());
  CHECK(result.status == 0);
  CHECK(result.err == "");
  CHECK(scratch.listing() == "a.json p.html p.pdf p.svg p.tikz s.csv t.json");
  CHECK(has(result.out, "d0 | F0 F1"));
  CHECK(!has(result.out, "\033"));
}

TEST_CASE("answers begin with what was found, end with a command, and have at most 80 columns in a pipe") {
  const ScratchDirectory scratch;
  scratch.write("mine.txt", "d0: 0F0 0F1 0B0 0B1\nd1: 1F0 1B0 1F1 1B1\n");
  const std::string traces = std::string(in_source("tests/sim/traces/data/zb-h1/rank"));
  struct Typical {
    std::string command;
    bool has_next = true;
  };
  const std::vector<Typical> all{
      {"simulate 1f1b -p 4 -m 8"},
      {"simulate interleaved -p 4 -m 8 -v 2"},
      {"simulate dualpipe -p 8 -m 20 --cost F=1,I=1,W=1"},
      {"simulate 1f1b -p 64 -m 128"},
      {"simulate pipemare -p 4 -m 8"},
      {"simulate 1f1b -p 8 -m 64 --network llama3-8b --cluster h100-1x8"},
      {"simulate 1f1b -p 4 -m 8 --network gpt2-small --cluster a100 --peak --critical-path --what-if F=0.9"},
      {"sweep 1f1b zb-h1 zb-v -p 4,8 -m 8:32:8"},
      {"sweep all -p 8 -m 32"},
      {"sweep 1f1b zb-v -p 8 -m 32 --network llama3-8b --cluster h100 --tp 1,2"},
      {"plan --network gpt2-small --cluster a100-1x2 --batch 4"},
      {"plan --network llama3-8b --cluster h100-1x8 --batch 64 --simulations 20 --guide"},
      {"search -p 4 -m 8 --simulations 50 --nodes 200"},
      {"validate mine.txt"},
      {"trace " + traces + "{0,1,2,3}.json.gz"},
      {"advise " + traces + "{0,1,2,3}.json.gz"},
      {"campaign --trace bamboo-p3 --layouts bamboo-gpt2 --price 0.91"},
      {"campaign --list", false},
      {"schedules", false},
      {"schedules zb-v", false},
      {"schedules interleaved", false},
      {"networks", false},
      {"clusters", false},
      {"plan --list", false},
      {"plan --method pipedream --network gpt2-small --cluster a100-1x4", false},
      {"schedule 1f1b -p 4 -m 8 --explain", false},
      {"stability delay naive t2 --tau 3,7", false},
      {"version", false},
      {"--help", false},
      {"simulate --help all", false},
      {"device -h", false},
  };
  for (const auto& [command, has_next] : all) {
    CAPTURE(command);
    const CommandResult result = run_command("COLUMNS= plumbline " + command, scratch.path());
    CAPTURE(result.err);
    CHECK(result.status == 0);
    for (const std::string& line : plumb::split(result.out, '\n')) {
      CAPTURE(line);
      const bool is_path = line.find(traces) != std::string::npos;
      CHECK((is_path || plumb::display_width(line) <= 80));
    }
    CHECK((result.out.find("\nnext:\n  plumbline ") != std::string::npos) == has_next);
  }
}

TEST_CASE("the memory limit is printed in bytes for networks") {
  const CommandResult result = run(
      "plumbline simulate gpipe -p 4 -m 8 --network gpt2-small --cluster a100 --memory-limit 0.1GiB --summary --json "
      "out.json");
  CHECK(result.status == 3);
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 4);
  CHECK(has(result.err, "gpipe: device 0: does not fit: "));
  CHECK(has(result.err, " of 102.4 MiB"));
}

TEST_CASE("what-if answers are those of simulating the changed costs") {
  const CommandResult result =
      run("plumbline simulate zb-h1 -p 4 -m 8 --cost F=1,I=1,W=1 --critical-path --what-if W=0.5");
  const json changed =
      json::parse(run("plumbline simulate zb-h1 -p 4 -m 8 --cost F=1,I=1,W=0.5 --summary --json -").out);
  CHECK(changed.at("makespan_ns") == 24'500'000);
  CHECK(has(result.out, "W takes 0.5 of its time      24.5"));
  CHECK(has(result.out, "critical path"));
}

TEST_CASE("recompute costs another forward on its stages and lowers their peak") {
  const std::string simulate =
      "plumbline simulate gpipe -p 2 -m 4 --network gpt-tiny --cluster a100 --summary --json - ";
  const json plain = json::parse(run(simulate).out);
  const json again = json::parse(run(simulate + "--recompute 0").out);
  const auto device = [](const json& timeline, std::size_t d) { return timeline.at("devices").at(d); };
  CHECK(device(again, 0).at("busy_ns") > device(plain, 0).at("busy_ns"));
  CHECK(device(again, 0).at("useful_ns") == device(plain, 0).at("useful_ns"));
  CHECK(device(again, 0).at("peak_memory_bytes") < device(plain, 0).at("peak_memory_bytes"));
  CHECK(device(again, 1).at("busy_ns") == device(plain, 1).at("busy_ns"));
  CHECK(run(simulate + "--recompute 1-2").status == 2);
}

TEST_CASE("a sweep tells impossible points apart and fails only when all are impossible") {
  const CommandResult some = run("plumbline sweep 1f1b chimera -p 3,4 -m 4 --cost F=1,B=2 --csv -");
  CHECK(some.status == 0);
  CHECK(std::count(some.out.begin(), some.out.end(), '\n') == 5);
  CHECK(has(some.out, "1f1b,4,4,1,\"F=1,B=2\",,,,,,,,,1,21000000,21000000,"));
  CHECK(has(some.out, "chimera,3,4,"));
  const CommandResult none = run("plumbline sweep chimera -p 3 -m 4 --cost F=1,B=2");
  CHECK(none.status == 2);
  CHECK(has(none.err, "chimera"));
}

TEST_CASE("no sweep prints a step time below the work of an update, whether or not updates overlap") {
  const std::string table = run("plumbline sweep pipemare acco pipedream 1f1b -p 4 -m 4 --cost F=1,B=2 --csv -").out;
  for (const std::string name : {"pipemare", "pipedream"}) CHECK(has(table, name + ",4,4,1,\"F=1,B=2\""));
  const std::string steps = run("plumbline sweep pipemare -p 4 -m 4 --cost F=1,B=2").out;
  CHECK(has(steps, ": 12 units a step, "));  // four microbatches of F and B on each device
  CHECK_FALSE(has(steps, "less than"));
}

TEST_CASE("a sweep takes rules in every size") {
  const ScratchDirectory scratch;
  const std::string rules = (scratch.path() / "own.rules").string();
  std::ofstream(rules) << "m: F0\nm: B0\n";
  const CommandResult own = run("plumbline sweep " + rules + " -p 2,3 -m 2,4 --cost F=1,B=2 --csv -");
  const CommandResult gpipe = run("plumbline sweep gpipe -p 2,3 -m 2,4 --cost F=1,B=2 --csv -");
  CHECK(own.status == 0);
  const auto figures = [](const std::string& csv) {
    std::istringstream lines(csv);
    std::string all;
    for (std::string line; std::getline(lines, line);) all += line.substr(line.find(',')) + "\n";
    return all;
  };
  CHECK(figures(own.out) == figures(gpipe.out));
  CHECK(std::count(own.out.begin(), own.out.end(), '\n') == 5);
}

TEST_CASE("a sweep's rows are the single simulations") {
  const CommandResult sweep = run("plumbline sweep gpipe zb-h1 -p 2,4 -m 4:8:4 --cost F=1,I=2,W=1 --csv -");
  CHECK(run("plumbline sweep gpipe,zb-h1 -p 2,4 -m 4:8:4 --cost F=1,I=2,W=1 --csv -").out == sweep.out);
  std::vector<std::string> rows;
  for (std::size_t at = sweep.out.find('\n') + 1; at < sweep.out.size(); at = sweep.out.find('\n', at) + 1) {
    rows.push_back(sweep.out.substr(at, sweep.out.find('\n', at) - at));
  }
  REQUIRE(rows.size() == 8);
  std::size_t row = 0;
  for (const char* name : {"gpipe", "zb-h1"}) {
    for (const int p : {2, 4}) {
      for (const int m : {4, 8}) {
        const std::string size = " -p " + std::to_string(p) + " -m " + std::to_string(m);
        const json one = json::parse(
            run("plumbline simulate " + std::string(name) + size + " --cost F=1,I=2,W=1 --summary --json -").out);
        const std::string& line = rows[row++];
        CAPTURE(line);
        const std::string begin = std::string(name) + "," + std::to_string(p) + "," + std::to_string(m) +
                                  ",1,\"F=1,I=2,W=1\",,,,,,,,,1," +
                                  std::to_string(one.at("makespan_ns").get<std::int64_t>()) + ",";
        CHECK(line.starts_with(begin));
      }
    }
  }
}

TEST_CASE("compare is 3 above the bound and 0 below, with the same table") {
  const ScratchDirectory scratch;
  REQUIRE(run_command("plumbline simulate 1f1b -p 2 -m 4 --cost F=1,B=2 --json a.json", scratch.path()).status == 0);
  REQUIRE(run_command("plumbline simulate 1f1b -p 2 -m 4 --cost F=1,B=2.2 --json b.json", scratch.path()).status == 0);
  const CommandResult loose = run_command("plumbline compare a.json b.json --max-error 10%", scratch.path());
  const CommandResult tight = run_command("plumbline compare a.json b.json --max-error 5%", scratch.path());
  CHECK(loose.status == 0);
  CHECK(loose.err == "");
  CHECK(tight.status == 3);
  CHECK(has(tight.err, "step time"));
  CHECK(tight.out == loose.out);
  CHECK(run_command("plumbline compare a.json a.json --max-error 0", scratch.path()).status == 0);
  CHECK(run_command("plumbline compare a.json c.json", scratch.path()).status == 2);
}

TEST_CASE("compare says which timeline has no actions, and which two have different ones") {
  const ScratchDirectory scratch;
  const std::string cost = " -p 2 -m 4 --cost F=1,B=2 --json ";
  REQUIRE(run_command("plumbline simulate 1f1b" + cost + "a.json", scratch.path()).status == 0);
  REQUIRE(run_command("plumbline simulate 1f1b --summary" + cost + "short.json", scratch.path()).status == 0);
  REQUIRE(run_command("plumbline simulate interleaved" + cost + "other.json", scratch.path()).status == 0);
  CHECK(has(run_command("COLUMNS=200 plumbline compare short.json a.json", scratch.path()).out,
            "\nthe first timeline has no actions, as those written with --summary; expected one with all of them\n"));
  CHECK(has(run_command("plumbline compare a.json short.json", scratch.path()).out,
            "\nthe second timeline has no actions"));
  CHECK(has(run_command("COLUMNS=200 plumbline compare a.json other.json --max-noise 90%", scratch.path()).out,
            "\nthe timelines have different actions: 0 occur only in the first, 18 only in the second\n"));
}

TEST_CASE("plan takes the network or the launch file as its argument, and a number of chips for its cluster") {
  const ScratchDirectory scratch;
  const std::string end = " --batch 4 --schedule 1f1b --simulations 5 --json -";
  const auto plan = [&](const std::string& words) {
    return run_command("plumbline plan " + words + end, scratch.path());
  };
  const CommandResult named = plan("--network gpt2-small --cluster a100 --devices 2");
  CAPTURE(named.err);
  REQUIRE(named.status == 0);
  CHECK(plan("gpt2-small --gpus 2xa100").out == named.out);
  CHECK(plan("gpt2-small --cluster a100 --gpus 2").out == named.out);
  CHECK(has(plan("gpt2-small --gpus 2xa1000").err, "'a1000' is no known chip, expected one of a100, a800, b200"));
  CHECK(has(plan("gpt2-small --gpus 2xa100 --devices 2").err, "expected one of them"));
  CHECK(has(plan("gpt2-small --network gpt2-small --gpus 2xa100").err, "--network says what is trained, too"));
  CHECK(has(plan("gpt2-small gpt2-medium --gpus 2xa100").err, "'gpt2-medium' is one argument too many"));
  const std::string script = in_source("tests/models/launches/data/gpt3_175b.sh");
  const std::string few = " --cluster h100 --simulations 3 --json -";
  const CommandResult from = run_command("plumbline plan --from " + script + few, scratch.path());
  CHECK(from.status == 0);
  CHECK(run_command("plumbline plan " + script + few, scratch.path()).out == from.out);
}

TEST_CASE("compare draws schedules, documents of them and runs on one time axis, the fastest first") {
  const ScratchDirectory scratch;
  REQUIRE(run_command("plumbline simulate gpipe -p 2 -m 4 --cost F=1,B=2 --json run.json", scratch.path()).status == 0);
  scratch.write("mine.txt", "d0: 0F0 0F1 0B0 0B1 0F2 0F3 0B2 0B3\nd1: 1F0 1F1 1B0 1B1 1F2 1F3 1B2 1B3\n");
  const CommandResult result = run_command(
      "plumbline compare mine.txt run.json zb-h1 --svg a.svg --pdf a.pdf --html a.html --width 8.5cm", scratch.path());
  CAPTURE(result.err);
  REQUIRE(result.status == 0);  // the size of zb-h1 is that of the others
  const std::size_t zb = result.out.find("\nzb-h1");
  const std::size_t gpipe = result.out.find("\ngpipe");
  const std::size_t mine = result.out.find("\nmine");
  CHECK(zb < gpipe);
  CHECK(gpipe < mine);
  CHECK(mine != std::string::npos);
  CHECK(has(file_text(scratch.path() / "a.svg"), "width=\"8.5cm\""));
  CHECK(file_text(scratch.path() / "a.pdf").starts_with("%PDF"));
  CHECK(has(file_text(scratch.path() / "a.html"), "\"card\":\"\\u003csvg"));
}

TEST_CASE("compare draws traced runs, each folder or each folder's files as one, and refuses schedules without costs") {
  const ScratchDirectory scratch;
  const std::string traces = in_source("tests/sim/traces/data");
  const CommandResult both = run_command("plumbline compare " + traces + "/class-1f1b " + traces +
                                             "/zb-h1/rank0.json.gz " + traces + "/zb-h1/rank[1-3].json.gz --svg a.svg",
                                         scratch.path());
  CAPTURE(both.err);
  REQUIRE(both.status == 0);
  const std::size_t faster = both.out.find("\ntraced run in zb-h1\n");
  CHECK(faster != std::string::npos);
  CHECK(faster < both.out.find("\ntraced run in class-1f1b   1."));
  const CommandResult bare = run_command("plumbline compare zb-v " + traces + "/class-1f1b", scratch.path());
  CHECK(bare.status == 2);
  CHECK(has(bare.err, "zb-v: costs are missing next to a measured run"));
}

TEST_CASE("the page of a sweep shows a few simulations on one time axis, and many only in its diagram") {
  const ScratchDirectory scratch;
  const std::string sweep = "plumbline sweep 1f1b zb-h1 -p 2 -m ";
  REQUIRE(run_command(sweep + "4 --html few.html", scratch.path()).status == 0);
  CHECK(has(file_text(scratch.path() / "few.html"), "\"card\":\"\\u003csvg"));
  REQUIRE(run_command(sweep + "4,5,6,7,8 --html many.html", scratch.path()).status == 0);
  CHECK_FALSE(has(file_text(scratch.path() / "many.html"), "\"card\":"));
}

TEST_CASE("two runs of one schedule are compared action by action, and of two schedules on one time axis") {
  const ScratchDirectory scratch;
  const std::string run = "plumbline simulate ";
  REQUIRE(run_command(run + "1f1b -p 2 -m 4 --cost F=1,B=2 --json a.json", scratch.path()).status == 0);
  REQUIRE(run_command(run + "1f1b -p 2 -m 4 --cost F=1,B=3 --json b.json", scratch.path()).status == 0);
  REQUIRE(run_command(run + "gpipe -p 2 -m 4 --cost F=1,B=2 --json c.json", scratch.path()).status == 0);
  CHECK(has(run_command("plumbline compare a.json b.json", scratch.path()).out, "makespan"));
  CHECK(has(run_command("plumbline compare a.json c.json", scratch.path()).out, "gpipe   as long"));
  const auto json = nlohmann::json::parse(run_command("plumbline compare a.json c.json --json -", scratch.path()).out);
  CHECK(json.at("runs").at(1).at("times_as_long") == 1.0);
  CHECK(has(run_command("plumbline compare a.json b.json --svg -", scratch.path()).out, "<svg"));
}

TEST_CASE("the page of a comparison names every run by its own files, and the table splits the error") {
  const ScratchDirectory scratch;
  const std::string zb = "plumbline simulate zb-h1 -p 4 -m 8 --cost F=10,I=10,W=10,comm=";
  REQUIRE(run_command(zb + "0.1 --json a.json", scratch.path()).status == 0);
  REQUIRE(run_command(zb + "0.3 --json b.json", scratch.path()).status == 0);
  std::string traces;
  for (const char rank : {'0', '1', '2', '3'}) {
    traces += " " + in_source("tests/sim/traces/data/zb-h1/rank" + std::string(1, rank) + ".json.gz");
  }
  const CommandResult result =
      run_command("plumbline compare a.json" + traces + " b.json --html page.html", scratch.path());
  CAPTURE(result.err);
  REQUIRE(result.status == 0);
  const std::string page = file_text(scratch.path() / "page.html");
  CHECK(has(page, "rank0.json.gz and 3 more, step 0\""));
  CHECK(has(page, "rank0.json.gz and 3 more, step 1\""));
  CHECK(has(page, "\"choice\":\"step 1\""));
  CHECK(has(page, "\"a.json and b.json\""));
  CHECK(has(result.out, "error of the step time"));
  CHECK(has(result.out, "\nhost time "));
  CHECK(has(result.out, "\ntogether "));
  CHECK(has(result.out, "largest in each part"));
  const CommandResult noisy = run_command("plumbline compare a.json" + traces + " --max-noise 1%", scratch.path());
  CHECK(noisy.status == 4);
  CHECK(has(noisy.err, "noisy: noise "));
}

TEST_CASE("a run that trace wrote to a file is compared as the traces are: the median of its steps, ranks, clocks") {
  const ScratchDirectory scratch;
  REQUIRE(run_command("plumbline simulate zb-h1 -p 4 -m 8 --cost F=10.3,I=10.3,W=10.3,comm=0.1 --json a.json",
                      scratch.path())
              .status == 0);
  const std::string traces = in_source("tests/sim/traces/data/zb-h1") + "/rank*.json.gz";
  const CommandResult traced = run_command("plumbline trace " + traces + " --summary -o run.json", scratch.path());
  CHECK(traced.status == 0);
  CHECK(has(traced.out, "traced steps  305.5 ms (shown), 307.7 ms"));
  const std::string run = file_text(scratch.path() / "run.json");
  CHECK(has(run, "\"traced\":{\"step_ns\":[30"));
  REQUIRE(run_command("plumbline trace " + traces + " --json same.json", scratch.path()).status == 0);
  REQUIRE(run_command("plumbline trace " + traces + " --output run.json", scratch.path()).status == 0);
  CHECK(file_text(scratch.path() / "run.json") == file_text(scratch.path() / "same.json"));
  const auto json = [&](const std::string& measured) {
    const CommandResult result = run_command("plumbline compare a.json " + measured + " --json -", scratch.path());
    CHECK(result.status == 0);
    return nlohmann::json::parse(result.out);
  };
  const auto from_file = json("run.json");
  const auto from_traces = json(traces);
  for (const char* key : {"runs", "spread", "step_time_ns", "makespan_ns", "bubble_fraction", "kinds", "idle_causes"}) {
    CAPTURE(key);
    CHECK(from_file.at(key) == from_traces.at(key));
  }
  CHECK(from_file.at("runs") == 2);
  const CommandResult both = run_command("plumbline trace " + traces + " -o a2.json --json b2.json", scratch.path());
  CHECK(both.status == 2);
  CHECK(has(both.err, "--output: writes the same file as --json, expected one of them"));
}

TEST_CASE("a schedule is written in the format of its extension, and in no other one") {
  const ScratchDirectory scratch;
  const std::string schedule = "plumbline schedule 1f1b -p 2 -m 2 -o ";
  const std::string refused = run_command(schedule + "x.yaml", scratch.path()).err;
  CHECK(refused.starts_with(
      "plumbline: error: x.yaml: no format has the extension '.yaml', expected --format FORMAT or one of .json"));
  CHECK(scratch.listing() == "");
  CHECK(run_command(schedule + "x.yaml --format json", scratch.path()).status == 0);
  CHECK(run_command(schedule + "x", scratch.path()).status == 0);
}

TEST_CASE("first tries in the words of other systems are answered, each with a note of ours") {
  const auto same = [](const std::string& tried, const std::string& meant, const std::string& noted) {
    CAPTURE(tried);
    const CommandResult result = run("plumbline " + tried);
    CAPTURE(result.err);
    CHECK(result.status == 0);
    CHECK(has(result.err, "plumbline: note: " + noted));
    CHECK(figures_of(result.out) == figures_of(run("plumbline " + meant).out));
  };
  same("simulate 1F1B --pp 4 --num-microbatches 8", "simulate 1f1b -p 4 -m 8", "--pp is read as --devices");
  same("run interleaved -p 4 -m 8 --vpp 2 --summary", "simulate interleaved -p 4 -m 8 -v 2 --summary",
       "'run' is read as 'simulate'");
  same("models gpt2-xl", "networks gpt2-xl", "'models' is read as 'networks'");
  same("list --names", "schedules --names", "'list' is read as 'list schedules'");
  same("simulate 1f1b -p 2 -m 4 --summary --network openai-community/gpt2 --cluster a100",
       "simulate 1f1b -p 2 -m 4 --summary --network gpt2-small --cluster a100", "openai-community/gpt2 is read as");
  CHECK(has(run("plumbline simulate 1f1b -p 2 -m 4 --cost fwd=1ms,bwd=2ms").out, ": 15 ms a step"));
  CHECK(run("plumbline sweep -p 4 -m 8").out == run("plumbline sweep all -p 4 -m 8").out);
}

TEST_CASE("sweep all has what trains the same model and runs somewhere, and says where; --all has the rest, too") {
  const std::string some = run("plumbline sweep all -p 4 -m 8 --csv -").out;
  const std::string every = run("plumbline sweep all --all -p 4 -m 8 --csv -").out;
  const auto lists = [](const std::string& csv, const std::string& name) { return has(csv, "\n" + name + ","); };
  for (const char* name : {"1f1b", "gpipe", "interleaved", "zb-h1", "zb-v", "v-half", "dualpipev"}) {
    CAPTURE(name);
    CHECK(lists(some, name));
    CHECK(lists(every, name));
  }
  for (const char* name : {"pipemare", "petra", "pipeedge", "gems", "torch-1f1b", "tawpipe"}) {
    CAPTURE(name);
    CHECK_FALSE(lists(some, name));
    CHECK(lists(every, name));
  }
  const std::string megatron = run("plumbline sweep all -p 4 -m 8 --runtime megatron --csv -").out;
  CHECK(lists(megatron, "1f1b"));
  CHECK_FALSE(lists(megatron, "zb-v"));
  CHECK(has(run("plumbline sweep 1f1b zb-h1 -p 4 -m 8").out, "PyTorch, torchtitan"));
}

TEST_CASE("-o writes the report that its name ends as, and convert's file may stand behind it") {
  const ScratchDirectory scratch;
  const CommandResult drawn = run_command("plumbline simulate 1f1b -p 2 -m 2 --summary -o a.svg", scratch.path());
  CHECK(drawn.status == 0);
  CHECK(has(drawn.err, "-o is read as --svg"));
  CHECK(has(file_text(scratch.path() / "a.svg"), "<svg"));
  CHECK(run_command("plumbline schedule 1f1b -p 2 -m 2 -o s.txt && plumbline convert s.txt -o s.csv", scratch.path())
            .status == 0);
  CHECK(has(file_text(scratch.path() / "s.csv"), "0F0"));
}

TEST_CASE("a launch file is simulated without --job") {
  const ScratchDirectory scratch;
  scratch.write(
      "train.sh",
      "torchrun --nproc_per_node 8 pretrain_gpt.py --pipeline-model-parallel-size 4 --num-layers 8 --hidden-size "
      "1024 --num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 "
      "--global-batch-size 16 --vocab-size 50304 --bf16\n");
  const std::string rest = "--cluster a100 --summary";
  const CommandResult tried = run_command("plumbline simulate train.sh " + rest, scratch.path());
  CAPTURE(tried.err);
  CHECK(tried.status == 0);
  CHECK(has(tried.err, "train.sh is read as --job"));
  CHECK(tried.out == run_command("plumbline simulate --job train.sh " + rest, scratch.path()).out);
}

TEST_CASE("a folder stands for the traces in it") {
  const ScratchDirectory scratch;
  const std::string traces = in_source("tests/sim/traces/data/zb-h1");
  std::filesystem::create_directory(scratch.path() / "run");
  for (int rank = 0; rank < 4; ++rank) {
    const std::string name = "rank" + std::to_string(rank) + ".json.gz";
    std::filesystem::copy(std::filesystem::path(traces) / name, scratch.path() / "run" / name);
  }
  const CommandResult folder = run_command("plumbline trace run --summary", scratch.path());
  CAPTURE(folder.err);
  CHECK(folder.status == 0);
  CHECK(figures_of(folder.out) ==
        figures_of(run_command("plumbline trace run/rank*.json.gz --summary", scratch.path()).out));
  std::filesystem::create_directory(scratch.path() / "none");
  CHECK(has(run_command("plumbline trace none", scratch.path()).err,
            "none: is a folder without .json and .json.gz files, expected traces"));
}

TEST_SUITE_END();
