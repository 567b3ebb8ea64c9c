#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using namespace plumb::testing;
using nlohmann::json;

CommandResult train_result(const std::string& command) {
  const ScratchDirectory scratch;
  return run_command(command, scratch.path());
}

bool text_has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("training writes a measured timeline that compare lays over the prediction, byte for byte in memory") {
  const ScratchDirectory scratch;
  const std::string size = " 1f1b -p 2 -m 4 --updates 2 ";
  REQUIRE(run_command("plumbline profile --network gpt-tiny --stages 2 --rounds 1 -o profile.json", scratch.path())
              .status == 0);
  REQUIRE(run_command("plumbline simulate" + size + "--profile profile.json --json predicted.json", scratch.path())
              .status == 0);
  const CommandResult trained = run_command(
      "plumbline train" + size + "--network gpt-tiny --json measured.json --losses losses.csv", scratch.path());
  REQUIRE(trained.status == 0);
  CHECK(text_has(trained.out, "1f1b          measured"));
  const json measured = json::parse(file_text(scratch.path() / "measured.json"));
  CHECK(measured.at("kind") == "measured");
  CHECK(measured.at("updates") == 2);
  CHECK(file_text(scratch.path() / "losses.csv").starts_with("update,loss\n0,5."));
  const CommandResult compared =
      run_command("plumbline compare predicted.json measured.json --memory-exact --html page.html", scratch.path());
  CAPTURE(compared.err);
  CHECK(compared.status == 0);
}

TEST_CASE("a schedule of inference is not trained, and losses are written with all digits") {
  const ScratchDirectory scratch;
  const CommandResult refused =
      run_command("plumbline train pipeedge -p 2 -m 2 --network gpt-tiny --losses l.csv", scratch.path());
  CHECK(refused.status == 2);
  CHECK(refused.err ==
        "plumbline: error: pipeedge: is a schedule of inference (mode forward) and trains nothing; expected one with "
        "backwards, or `plumbline simulate pipeedge`\n");
  CHECK_FALSE(std::filesystem::exists(scratch.path() / "l.csv"));
  const std::string train = "plumbline train 1f1b -p 2 -m 2 --network gpt-tiny --steps 3 --sequence 8 ";
  const CommandResult run = run_command(train + "--losses l.csv --json m.json", scratch.path());
  CAPTURE(run.err);
  CHECK(run.status == 0);
  CHECK(text_has(run.out, "all 3 runs of the schedule: median "));
  CHECK(text_has(run.out, "\nd0 | "));
  CHECK_FALSE(text_has(run_command(train + "--summary", scratch.path()).out, "\nd0 | "));
  const json losses = json::parse(file_text(scratch.path() / "m.json")).at("training").at("losses");
  std::istringstream rows(file_text(scratch.path() / "l.csv"));
  std::string row;
  std::getline(rows, row);
  for (std::size_t k = 0; k < losses.size(); ++k) {
    REQUIRE(std::getline(rows, row));
    CHECK(std::stod(row.substr(row.find(',') + 1)) == losses[k].get<double>());
  }
}

TEST_CASE("methods of a short run say that their delays depend on it, where the document does not tell its timing") {
  const ScratchDirectory scratch;
  const std::string options = " --network gpt-tiny --sequence 8 --steps 2 --method t1 --summary";
  const CommandResult known = run_command("plumbline train pipemare -p 2 -m 2" + options, scratch.path());
  CHECK(known.status == 0);
  CHECK(!text_has(known.err, "too short to become steady"));
  REQUIRE(
      run_command("plumbline schedule pipemare -p 2 -m 2 --updates 2 --format json -o s.json", scratch.path()).status ==
      0);
  json document = json::parse(file_text(scratch.path() / "s.json"));
  CHECK(document.at("parameters").erase("timing") == 1);
  std::ofstream(scratch.path() / "s.json") << document.dump();
  const CommandResult unknown = run_command("plumbline train s.json" + options, scratch.path());
  CAPTURE(unknown.err);
  CHECK(unknown.status == 0);
  CHECK(text_has(unknown.err, "too short to become steady"));
}

TEST_CASE("weights go out and in again") {
  const ScratchDirectory scratch;
  const std::string train =
      "plumbline train pipemare -p 2 -m 2 --network gpt-tiny --sequence 8 --steps 2 --seed 3 --t1 --summary ";
  const CommandResult plain = run_command(train + "--json plain.json", scratch.path());
  CHECK(plain.status == 0);
  CHECK(run_command("plumbline weights export --network gpt-tiny --seed 3 -o w.safetensors", scratch.path()).status ==
        0);
  const CommandResult given = run_command(train + "--weights w.safetensors --json given.json", scratch.path());
  CAPTURE(given.err);
  CHECK(given.status == 0);
  const auto hash = [&](const char* name) {
    return json::parse(file_text(scratch.path() / name)).at("training").at("weights_hash").get<std::string>();
  };
  CHECK(hash("given.json") == hash("plain.json"));
  const CommandResult wrong =
      run_command("plumbline train 1f1b -p 2 -m 2 --network llama-tiny --weights w.safetensors", scratch.path());
  CHECK(wrong.status == 2);
  CHECK(text_has(wrong.err, "the tensors are not those of network 'llama-tiny': missing"));
  const CommandResult list = run_command("plumbline weights list --network resnet-20", scratch.path());
  CHECK(text_has(list.out, "layer2.0.downsample.0.weight"));
  CHECK(text_has(list.out, "32 x 16 x 1 x 1"));
}

TEST_CASE("the JSON of a training run has its losses and evaluations, and augmented images change what is learnt") {
  const std::string run_of_images =
      "plumbline train pipemare -p 2 -m 2 --network revnet-tiny --partition 5,14 --samples 1 --steps 4 "
      "--executor serial --evaluate-every 2 --evaluate-samples 8 --summary --json -";
  const json plain = json::parse(train_result(run_of_images).out);
  const json& training = plain.at("training");
  CHECK(training.at("losses").size() == 4);
  REQUIRE(training.at("evaluations").size() == 2);
  CHECK(training.at("evaluations").at(1).at("updates") == 4);
  CHECK(training.at("evaluations").at(1).at("targets") == 8);
  CHECK(training.at("evaluations").at(1).at("loss").get<double>() > 0);
  const json augmented = json::parse(train_result(run_of_images + " --augment 2").out).at("training");
  CHECK(augmented.at("losses") != training.at("losses"));
  CHECK(augmented == json::parse(train_result(run_of_images + " --augment 2").out).at("training"));
  const CommandResult text = train_result("plumbline train gpipe -p 2 -m 2 --network gpt-tiny --augment 2");
  CHECK(text.status == 2);
  CHECK(text_has(text.err, "--augment: network 'gpt-tiny' does not read images, expected one that does"));
}

TEST_CASE("stages are balanced by default, so that interleaving gains over 1f1b on a network") {
  const auto makespan = [](const std::string& schedule, const std::string& partition) {
    const std::string job = " -p 8 -m 32 --network zb-6.2b --cluster h100 --samples 3 --summary --json - ";
    return json::parse(train_result("plumbline simulate " + schedule + job + partition).out)
        .at("makespan_ns")
        .get<double>();
  };
  const double interleaved = makespan("interleaved -v 4", "");
  CHECK(interleaved == makespan("interleaved -v 4", "--partition balanced"));
  CHECK(interleaved < makespan("1f1b", "") / 1.05);
  CHECK(interleaved < makespan("interleaved -v 4", "--partition equal") / 1.1);
}

TEST_CASE("training stops before it starts when the model cannot be trained") {
  const ScratchDirectory scratch;
  const std::string train = "plumbline train 1f1b -p 2 -m 2 ";
  for (const std::string options :
       {"", "--network gpt-tyni", "--network gpt-tiny --backend cdua", "--network gpt-tiny --executor serail",
        "--network gpt-tiny --data nothing.txt", "--network gpt-tiny --optimizer adan", "--network gpt-tiny --resume",
        "--network gpt-tiny --sequence 1000000000000000"}) {
    CAPTURE(options);
    const CommandResult result = run_command(train + options + " --json out.json", scratch.path());
    CAPTURE(result.err);
    CHECK(result.status == 2);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(scratch.listing() == "");
  }
}

TEST_CASE("an option for GPUs or streams says nothing to threads, and is refused") {
  const ScratchDirectory scratch;
  for (const std::string option :
       {"--gpus 2", "--device-sms 8", "--device-mode accuracy", "--link-latency 1", "--link-bandwidth 1GB",
        "--product-table t.txt", "--product-trials 5", "--attention cudnn", "--attention-table t.txt",
        "--convolutions cudnn", "--convolution-table t.txt"}) {
    CAPTURE(option);
    const std::string expected = "plumbline: error: " + option.substr(0, option.find(' ')) +
                                 ": the back end is cpu, expected --backend cuda with it\n";
    CHECK(run_command("plumbline train 1f1b -p 2 -m 2 --network gpt-tiny " + option, scratch.path()).err == expected);
    CHECK(run_command("plumbline profile --network gpt-tiny --stages 2 " + option, scratch.path()).err == expected);
  }
  for (const std::string option : {"--watchdog 5", "--no-graphs"}) {
    CAPTURE(option);
    const std::string train = "plumbline train 1f1b -p 2 -m 2 --network gpt-tiny --steps 1 " + option;
    CHECK(run_command(train, scratch.path()).err ==
          "plumbline: error: " + option.substr(0, option.find(' ')) +
              ": the back end is cpu with executor threads, expected --backend cuda or --executor streams with it\n");
    CHECK(run_command(train + " --executor streams", scratch.path()).status == 0);
  }
}

TEST_CASE("ages of weights that training read are those that the simulator counts") {
  const ScratchDirectory scratch;
  const std::string size = " pipemare -p 3 -m 2 ";
  const CommandResult trained = run_command(
      "plumbline train" + size + "--network gpt-tiny --samples 1 --sequence 8 --json t.json", scratch.path());
  REQUIRE(trained.status == 0);
  CHECK(text_has(trained.out, "tau fwd"));
  const CommandResult simulated =
      run_command("plumbline simulate" + size + "--cost F=1,B=2 --json s.json", scratch.path());
  REQUIRE(simulated.status == 0);
  const auto ages = [&](const char* file) {
    json delays = json::parse(file_text(scratch.path() / file)).at("delays");
    for (json& holder : delays) holder.erase("bytes");
    return delays;
  };
  CHECK(ages("t.json").size() == 3);
  CHECK(ages("t.json") == ages("s.json"));
}

TEST_CASE("a run that diverges says from which update on") {
  const ScratchDirectory scratch;
  const CommandResult run = run_command(
      "plumbline train 1f1b -p 2 -m 2 --network gpt-tiny --samples 1 --sequence 8 --steps 4 --learning-rate 1e30",
      scratch.path());
  CHECK(run.status == 0);
  CHECK(text_has(run.err, "plumbline: note: the loss of update "));
  CHECK(text_has(run.err, " is not a finite number: the training diverged"));
  CHECK_FALSE(text_has(run.out, "-nan"));
}

TEST_CASE(
    "a synchronous run goes on for more steps, to the bits of the longer run; others are refused by their steps") {
  const ScratchDirectory scratch;
  const auto train = [&](const std::string& schedule, const std::string& more) {
    return run_command("plumbline train " + schedule + " -p 2 -m 2 --network gpt-tiny " + more, scratch.path());
  };
  const auto saved = [](const std::string& schedule, const std::string& steps) {
    return "--checkpoint " + schedule + " --losses - --steps " + steps;
  };
  REQUIRE(train("1f1b", saved("1f1b", "2")).status == 0);
  CHECK(train("1f1b", saved("1f1b", "4 --resume")).out == train("1f1b", "--losses - --steps 4").out);
  const auto resumed = [&](const std::string& schedule, const std::string& more) {
    return train(schedule, saved(schedule, more) + " --resume").err;
  };
  CHECK(text_has(resumed("1f1b", "3"), "run.steps: the checkpoint was saved with '4', this run has '3'"));
  CHECK(text_has(resumed("1f1b", "8 --decay cosine"),
                 "run.learning_rate: the checkpoint was saved with 'constant 0.001, "));
  const std::string wider = "plumbline train 1f1b -p 2 -m 4 --network gpt-tiny --resume " + saved("1f1b", "8");
  CHECK(text_has(run_command(wider, scratch.path()).err,
                 "run.schedule: the checkpoint was saved with '2 microbatches per update ("));
  REQUIRE(train("pipemare", saved("pipemare", "2")).status == 0);
  CHECK(text_has(resumed("pipemare", "4"), "run.steps: the checkpoint was saved with '2', this run has '4'"));
}

TEST_CASE("a run that is to be resumed where nothing was saved says that it starts from the beginning") {
  const ScratchDirectory scratch;
  const std::string train = "plumbline train 1f1b -p 2 -m 2 --network gpt-tiny --checkpoint saved --resume --steps ";
  const std::string note = "plumbline: note: saved has no checkpoint yet, so the run starts from the beginning\n";
  const CommandResult first = run_command(train + "1", scratch.path());
  CHECK(first.status == 0);
  CHECK(text_has(first.err, note));
  CHECK_FALSE(text_has(run_command(train + "1", scratch.path()).err, note));
}

TEST_CASE("the demo leaves a report, a profile and every run") {
  const ScratchDirectory scratch;
  const CommandResult result =
      run_command("plumbline demo -o out --network gpt-tiny -m 2 --updates 2 --rounds 1", scratch.path());
  CAPTURE(result.err);
  CHECK(result.status == 0);
  for (const char* name : {"gpipe", "1f1b", "zb-h1", "pipemare"}) {
    CAPTURE(name);
    CHECK(text_has(result.out, std::string(name) + " "));
    CHECK(json::parse(file_text(scratch.path() / "out" / (std::string(name) + ".measured1.json"))).at("kind") ==
          "measured");
  }
  CHECK(text_has(file_text(scratch.path() / "out" / "report.html"), "<html"));
  CHECK(text_has(result.err, "demo: measuring"));
  CHECK(text_has(result.out, "verdict"));
  CHECK(text_has(result.out, "1 round of measuring the stages and training; all of them count"));
}

TEST_SUITE_END();
