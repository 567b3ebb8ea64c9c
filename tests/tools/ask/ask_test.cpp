#include "tools/ask/ask.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "models/ground/error.hpp"
#include "schedules/catalogue/registry.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/reports/report_png.hpp"

TEST_SUITE_BEGIN("tools");

namespace {

using nlohmann::json;
using plumb::ask;
using plumb::Error;
using plumb::testing::CommandResult;
using plumb::testing::run_command;
using plumb::testing::ScratchDirectory;

/// What the program would print to standard error for the error that `ask` throws; empty: it answers.
std::string refusal(const std::string& request) {
  try {
    ask(request);
  } catch (const Error& error) {
    return std::string("plumbline: error: ") + error.what() + "\n";
  }
  return "";
}

struct Shape {
  std::string options;
  json fields;
};

}  // namespace

TEST_CASE("program and library agree over the whole catalogue, on answers and on refusals") {
  const ScratchDirectory scratch;
  const Shape shapes[] = {
      {"--devices 4 --microbatches 8 --cost F=1,I=1,W=1",
       {{"devices", 4}, {"microbatches", 8}, {"cost", "F=1,I=1,W=1"}}},
      {"--devices 4 --microbatches 8 --chunks 2", {{"devices", "4"}, {"microbatches", 8}, {"chunks", 2}}},
      {"--devices 2 --microbatches 4 --network gpt2-small --cluster a100 --memory-limit 1GiB --summary",
       {{"devices", 2},
        {"microbatches", 4},
        {"network", "gpt2-small"},
        {"cluster", "a100"},
        {"memory-limit", "1GiB"}}}};
  int answered = 0;
  int refused = 0;
  for (const plumb::ScheduleSpec& spec : plumb::schedule_catalogue()) {
    for (const Shape& shape : shapes) {
      const std::string line = "plumbline simulate " + std::string(spec.name) + " " + shape.options;
      CAPTURE(line);
      const bool summary = line.ends_with("--summary");
      const CommandResult printed = run_command(line + " --json -", scratch.path());
      json request = shape.fields;
      request["ask"] = "simulate";
      request["schedule"] = spec.name;
      request["want"] = {summary ? "summary" : "timeline"};
      const std::string text = request.dump();
      if (printed.status == 2) {
        CHECK(refusal(text) == printed.err);
        ++refused;
        continue;
      }
      const json answer = json::parse(ask(text));
      CHECK(answer.at(summary ? "summary" : "timeline") == json::parse(printed.out));
      CHECK(answer.at("status") == printed.status);
      std::string said;
      for (const std::string list : {"notes", "findings"}) {
        for (const json& each : answer.at(list)) said += each.get<std::string>() + "\n";
      }
      CHECK(said == printed.err);
      ++answered;
    }
  }
  CHECK(answered > 100);
  CHECK(refused > 10);
}

TEST_CASE("schedule and validate agree with their commands over the whole catalogue") {
  const ScratchDirectory scratch;
  int answered = 0;
  int refused = 0;
  for (const plumb::ScheduleSpec& spec : plumb::schedule_catalogue()) {
    for (const auto& [devices, microbatches] : {std::pair{4, 8}, std::pair{3, 5}}) {
      const json request = {
          {"ask", "schedule"}, {"schedule", spec.name}, {"devices", devices}, {"microbatches", microbatches}};
      const std::string size =
          " --devices " + std::to_string(devices) + " --microbatches " + std::to_string(microbatches);
      const std::string name(spec.name);
      CAPTURE(name + size);
      const CommandResult printed = run_command("plumbline schedule " + name + size, scratch.path());
      if (printed.status == 2) {
        CHECK(refusal(request.dump()) == printed.err);
        ++refused;
        continue;
      }
      const json answer = json::parse(ask(request.dump()));
      CHECK(answer.at("document") == printed.out);
      CHECK(answer.at("status") == printed.status);
      json check = request;
      check["ask"] = "validate";
      const CommandResult valid = run_command("plumbline validate " + name + size, scratch.path());
      const json checked = json::parse(ask(check.dump()));
      CHECK(checked.at("text") == valid.out);
      CHECK(checked.at("status") == valid.status);
      ++answered;
    }
  }
  CHECK(answered > 80);
  CHECK(refused > 10);
}

TEST_CASE("pictures that are asked for have the width and the caption of those that the command writes") {
  const ScratchDirectory scratch;
  const json answer = json::parse(ask(
      R"({"ask": "simulate", "schedule": "1f1b", "devices": 2, "microbatches": 2, "width": 8.5, "caption": "Two.", "want": ["svg", "pdf"]})"));
  const std::string size = "plumbline simulate 1f1b -p 2 -m 2 --width 8.5 --caption Two. ";
  CHECK(answer.at("svg") == run_command(size + "--svg -", scratch.path()).out);
  CHECK(answer.at("pdf") == run_command(size + "--pdf -", scratch.path()).out);
  CHECK(answer.at("command") == "plumbline simulate 1f1b --caption Two. --devices 2 --microbatches 2 --width 8.5");
}

TEST_CASE("costs are those of a p-th of the model, where every device holds all of it, too") {
  const auto makespan_ms = [](const std::string& schedule) {
    const json answer = json::parse(ask(
        json({{"ask", "simulate"}, {"schedule", schedule}, {"devices", 4}, {"microbatches", 8}, {"cost", "F=1,B=2"}})
            .dump()));
    return answer.at("summary").at("makespan_ns").get<double>() / 1e6;
  };
  CHECK(makespan_ms("1f1b") == 33);     // (m + p - 1)(F + B)
  CHECK(makespan_ms("weipipe") == 33);  // its lock step takes as long
  CHECK(makespan_ms("tawpipe") == 24);  // m (F + B): no bubble
  CHECK(makespan_ms("cyclic-dp") >= 24);
  CHECK(makespan_ms("interleaved") == doctest::Approx(28.5));  // (m + (p - 1)/v)(F + B), v = 2
}

TEST_CASE("a text with typos is refused with them and with the order errors among the rest, by line") {
  const ScratchDirectory scratch;
  std::ofstream(scratch.path() / "mine.txt") << "# mine\nd0: 0F0 0Q0 0B\n\nd1: 1B0 1F0 1F1\n";
  const CommandResult printed = run_command("plumbline validate mine.txt", scratch.path());
  CHECK(printed.status == 2);
  CHECK(printed.err ==
        "plumbline: error: mine.txt:2:9: '0Q0': expected an op such as F, B, I, W or U after the stage\n"
        "plumbline: error: mine.txt:2:13: '0B': expected a number after the op, as in 0F1\n"
        "plumbline: error: mine.txt:4: 1B0: runs before 1F0\n");
}

TEST_CASE("a real run that is asked for is the one that the command reads") {
  const ScratchDirectory scratch;
  json request = {{"ask", "trace"}, {"want", {"text", "profile", "page", "schedule"}}};
  for (int rank = 0; rank < 4; ++rank) {
    request["traces"].push_back(
        plumb::testing::in_source("tests/sim/traces/data/zb-h1/rank" + std::to_string(rank) + ".json.gz"));
  }
  const json answer = json::parse(ask(request.dump()));
  const std::string command = answer.at("command");
  CHECK(answer.at("text") == run_command(command + " --summary", scratch.path()).out);
  CHECK(answer.at("schedule") == "zb-h1");
  CHECK(answer.at("profile") == json::parse(run_command(command + " --profile -", scratch.path()).out));
  CHECK(answer.at("page").at("sections").at(0).at("runs").at(0).at("kind") == "measured");
  const json predicted = json::parse(ask(json({{"ask", "simulate"},
                                               {"schedule", "zb-h1"},
                                               {"devices", 4},
                                               {"microbatches", 8},
                                               {"profile", "run.json"},
                                               {"files", {{"run.json", answer.at("profile").dump()}}}})
                                             .dump()));
  const double measured = answer.at("page").at("sections").at(0).at("runs").at(0).at("stepTime");
  CHECK(predicted.at("summary").at("step_time_ns").get<double>() == doctest::Approx(measured).epsilon(0.05));
}

TEST_CASE("stable learning rates that are asked for are those of the command, on answers and on refusals") {
  const ScratchDirectory scratch;
  json request = {{"ask", "stability"},
                  {"methods", {"delay", "t1+t2"}},
                  {"tau", "3,7"},
                  {"sensitivity", 3},
                  {"want", {"text", "study", "csv"}}};
  const json answer = json::parse(ask(request.dump()));
  const std::string command = answer.at("command");
  CHECK(answer.at("text") == run_command(command, scratch.path()).out);
  CHECK(answer.at("study") == json::parse(run_command(command + " --json -", scratch.path()).out));
  CHECK(answer.at("csv") == run_command(command + " --csv -", scratch.path()).out);
  // Delayed gradient descent on lambda w^2 / 2: alpha = 2 sin(pi / (4 tau + 2)) / lambda (PipeMare, lemma 1).
  CHECK(answer.at("study").dump().find("0.4450") != std::string::npos);  // tau = 3
  request["momentum"] = 2;
  CHECK(refusal(request.dump()) == run_command(command + " --momentum 2", scratch.path()).err);
}

TEST_CASE("the command of an answer asks the same") {
  const ScratchDirectory scratch;
  const json answer = json::parse(ask(R"({"ask": "simulate", "schedule": "interleaved", "devices": 2, "microbatches": 4,
      "chunks": 2, "opt": ["group=2"], "critical-path": true, "want": ["summary", "text"]})"));
  const std::string command = answer.at("command");
  CHECK(command.starts_with("plumbline simulate interleaved "));
  const json printed = json::parse(run_command(command + " --summary --json -", scratch.path()).out);
  CHECK(printed.at("makespan_ns") == answer.at("summary").at("makespan_ns"));
}

TEST_CASE("the text of an answer is what the command prints") {
  const ScratchDirectory scratch;
  const char* requests[] = {
      R"({"ask": "simulate", "schedule": "pipemare", "devices": 4, "microbatches": 4, "delays": true, "critical-path": true,
          "what-if": ["F=0.9"]})",
      R"({"ask": "simulate", "schedule": "1f1b", "devices": 4, "microbatches": 8, "network": "llama3-8b", "tp": 1,
          "cluster": "a100-1x8", "peak": true})",
      R"({"ask": "sweep", "schedules": ["1f1b", "zb-h1"], "devices": "2,4", "microbatches": 8})",
      R"({"ask": "search", "devices": 3, "microbatches": 6, "memory-limit": "2", "simulations": 50, "nodes": 500})",
      R"({"ask": "campaign", "trace": "bamboo-g4dn", "layouts": "bamboo-vgg", "price": 0.91})",
      R"({"ask": "campaign", "trace": "bamboo-g4dn", "layouts": "bamboo-vgg", "hours": "2,4", "rules": "swarm,petals"})",
      R"({"ask": "schedule", "schedule": "interleaved", "devices": 4, "microbatches": 8, "explain": true})"};
  for (const char* text : requests) {
    json request = json::parse(text);
    request["want"] = {"text"};
    const json answer = json::parse(ask(request.dump()));
    const CommandResult printed = run_command(answer.at("command"), scratch.path());
    CAPTURE(answer.at("command"));
    CHECK(answer.at("text") == printed.out);
    CHECK(answer.at("status") == printed.status);
  }
}

TEST_CASE("an answer is written into the memory of the last one, with the same bytes") {
  const std::string large =
      R"({"ask": "simulate", "schedule": "1f1b", "devices": 8, "microbatches": 64, "want": ["timeline"]})";
  const std::string noted = R"({"ask": "simulate", "schedule": "zb-h1", "devices": 4, "microbatches": 8,
      "network": "gpt2-small", "cluster": "a100", "memory-limit": "1GiB", "want": ["timeline", "text"]})";
  std::string answer;
  CHECK(ask(large, answer) == plumb::ExitStatus::kDone);
  CHECK(answer == ask(large));
  CHECK(json::parse(answer).at("timeline").at("spans").size() == 8 * (2 * 64 + 1));
  const char* const memory = answer.data();
  CHECK(ask(noted, answer) == plumb::ExitStatus::kNo);  // findings make the beginning longer than was expected
  CHECK(answer == ask(noted));
  CHECK(!json::parse(answer).at("findings").empty());
  ask(large, answer);
  CHECK(answer.data() == memory);
  CHECK_THROWS_AS(ask(R"({"ask": "simulate"})", answer), Error);
  CHECK(answer.empty());
}

TEST_CASE("a picture that is no text is answered in base64, with the bytes of the file") {
  const ScratchDirectory scratch;
  const std::string request =
      R"({"ask": "simulate", "schedule": "1f1b", "devices": 2, "microbatches": 3, "want": ["png"]})";
  if (!plumb::why_no_png().empty()) {
    CHECK(refusal(request).find("libagg-dev") != std::string::npos);
    return;
  }
  const std::string text = json::parse(ask(request)).at("png");
  std::ofstream(scratch.path() / "picture.txt") << text;
  const CommandResult same = run_command(
      "plumbline simulate 1f1b -p 2 -m 3 --png p.png && base64 -d picture.txt | cmp - p.png", scratch.path());
  CHECK(same.status == 0);
}

TEST_CASE("texts stand in for files, and mistakes in them are named") {
  const std::string head = R"({"ask": "validate", "schedule": "mine.txt", "files": {"mine.txt": )";
  const json right = json::parse(ask(head + R"("d0: 0F0 0B0\n"}})"));
  CHECK(right.at("status") == 0);
  CHECK(right.at("text") ==
        "mine.txt: valid: 1 devices, 1 stages, 1 microbatches, 2 actions\n\nnext:\n  plumbline simulate mine.txt\n");
  const json wrong = json::parse(ask(head + R"("d0: 0B0 0F0\n"}})"));
  CHECK(wrong.at("status") == 3);
  CHECK(wrong.at("violations").at(0).at("action") == "0B0");
  CHECK(refusal(head + R"("d0: 0Q0\n"}})").find("mine.txt:1") != std::string::npos);
}

TEST_CASE("a request with only_files reads no other file, whatever names it") {
  const ScratchDirectory scratch;
  const std::string folder = std::filesystem::path(scratch.path()).string() + "/";
  scratch.write("job.sh", "source ../other.sh\n");
  scratch.write("mine.txt", "d0: 0F0 0B0\n");
  scratch.write("list.json", "{}");
  for (const json& fields :
       {json{{"ask", "validate"}, {"schedule", folder + "mine.txt"}},
        json{{"ask", "simulate"}, {"job", folder + "job.sh"}},
        json{{"ask", "simulate"}, {"schedule", "1f1b"}, {"network", folder + "list.json"}, {"cluster", "h100"}},
        json{{"ask", "simulate"}, {"schedule", "1f1b"}, {"profile", folder + "list.json"}},
        json{{"ask", "plan"}, {"network", "gpt-tiny"}, {"cluster", folder + "list.json"}, {"batch", 4}},
        json{{"ask", "trace"}, {"traces", folder}},
        json{{"ask", "compare"}, {"a", folder + "list.json"}, {"b", folder + "list.json"}},
        json{{"ask", "convert"}, {"in", folder + "mine.txt"}, {"to", "text"}},
        json{{"ask", "sweep"}, {"schedules", {folder + "mine.txt"}}, {"devices", 1}, {"microbatches", 1}}}) {
    json request = fields;
    CAPTURE(request.dump());
    request["only_files"] = true;
    CHECK(refusal(request.dump()).find("is no text of the request, expected one of its 'files'") != std::string::npos);
  }
  const json own = {
      {"ask", "validate"}, {"schedule", "mine.txt"}, {"only_files", true}, {"files", {{"mine.txt", "d0: 0F0 0B0\n"}}}};
  CHECK(json::parse(ask(own.dump())).at("status") == 0);
  const json sourced = {{"ask", "simulate"},
                        {"job", "job.sh"},
                        {"cluster", "h100"},
                        {"only_files", true},
                        {"files", {{"job.sh", "source " + folder + "job.sh\n"}}}};
  CHECK(refusal(sourced.dump()).find("other.sh") == std::string::npos);
  CHECK(refusal(R"({"ask": "clusters", "only_files": 1})").find("expected true or false") != std::string::npos);
}

TEST_CASE("plumbline ask holds a stranger's request to its files, its time and its memory") {
  const ScratchDirectory scratch;
  scratch.write("mine.txt", "d0: 0F0 0B0\n");
  scratch.write("file.json", R"({"ask": "validate", "schedule": "mine.txt", "only_files": false})");
  scratch.write("long.json",
                R"({"ask": "sweep", "schedules": ["1f1b"], "devices": "2:200", "microbatches": "2:2000"})");
  const auto answer = [&](const std::string& options) {
    return run_command("plumbline ask " + options, scratch.path());
  };
  CHECK(answer("file.json").status == 0);
  const CommandResult closed = answer("--only-files file.json");
  CHECK(closed.status == 2);
  CHECK(closed.err.find("mine.txt: is no text of the request") != std::string::npos);
  const CommandResult late = answer("--time-limit 1 long.json");
  CHECK(late.status == 2);
  CHECK(late.err ==
        "plumbline: error: this input takes more processor time than it was given; expected a smaller one\n");
  if (plumb::testing::kSanitized) return;  // the sanitizer takes terabytes of address space for itself
  const CommandResult large = answer("--memory-limit 300MiB long.json");
  CHECK(large.status == 2);
  CHECK(large.err.find("needs more memory than this process can get") != std::string::npos);
}

TEST_CASE("a request that cannot be understood is refused in one line") {
  CHECK(refusal("{").find("request:1:2: broken JSON: ") != std::string::npos);
  CHECK(refusal(R"({"ask": "simulate", "devices": 1e999})") ==
        "plumbline: error: request:1:36: broken JSON: number overflow parsing '1e999'\n");
  CHECK(refusal(R"({"ask": "simulate", "devices": 4, "devices": 8})") ==
        "plumbline: error: request:1:35: repeated key 'devices'\n");
  CHECK(refusal("[]") == "plumbline: error: request: expected an object\n");
  CHECK(refusal("{}").find("'ask' is missing") != std::string::npos);
  CHECK(refusal(R"({"ask": "simulte"})").find("did you mean 'simulate'?") != std::string::npos);
  CHECK(refusal(R"({"ask": "simulate", "schedule": "1f1b", "devicse": 4})").find("did you mean 'devices'?") !=
        std::string::npos);
  CHECK(refusal(R"({"ask": "simulate", "schedule": "1f1b", "peak": 1})").find("expected true or false") !=
        std::string::npos);
  CHECK(refusal(R"({"ask": "simulate", "schedule": "1f1b", "devices": [2, 4]})")
            .find("simulate: devices: an array of 2 values, expected a single value") != std::string::npos);
  CHECK(refusal(R"({"ask": "simulate", "schedule": "1f1b", "devices": []})").find("an array of 0 values") !=
        std::string::npos);
  CHECK(refusal(R"({"ask": "simulate", "schedule": "1f1b", "want": ["figures"]})").find("part of the answer") !=
        std::string::npos);
  CHECK(refusal(R"({"ask": "sweep", "schedules": ["exec:ls"], "devices": 2, "microbatches": 2})")
            .find("runs no programs") != std::string::npos);
}

TEST_CASE("plumbline ask answers a file, with the exit status of the command") {
  const ScratchDirectory scratch;
  scratch.write("yes.json", R"({"ask": "sweep", "schedules": ["1f1b", "gpipe"], "devices": "2,4", "microbatches": 8})");
  const CommandResult yes = run_command("plumbline ask yes.json", scratch.path());
  CHECK(yes.status == 0);
  CHECK(json::parse(yes.out).at("csv").get<std::string>().find("gpipe") != std::string::npos);
  scratch.write("no.json",
                R"({"ask": "simulate", "schedule": "gpipe", "devices": 4, "microbatches": 8, "memory-limit": "2"})");
  const CommandResult no = run_command("plumbline ask no.json", scratch.path());
  CHECK(no.status == 3);
  CHECK(json::parse(no.out).at("findings").size() == 4);
  scratch.write("bad.json", R"({"ask": "simulate"})");
  CHECK(run_command("plumbline ask bad.json", scratch.path()).status == 2);
}

TEST_CASE("a request reads no standard input, neither for a schedule nor for a run") {
  const std::string refused =
      "plumbline: error: -: a request has no standard input, expected the name of a file, or of a text in 'files'\n";
  for (const char* request :
       {R"({"ask": "simulate", "schedule": "-", "cost": "F=1,B=2"})", R"({"ask": "validate", "schedule": "-"})",
        R"({"ask": "schedule", "schedule": "-"})", R"({"ask": "convert", "in": "-", "to": "text"})",
        R"({"ask": "compare", "a": "-", "b": "-"})"}) {
    CAPTURE(request);
    CHECK(refusal(request) == refused);
  }
}

TEST_CASE("the schema of requests has every question, and every field that a request may have") {
  const json schema = json::parse(plumb::schema_of_requests());
  CHECK(schema.at("oneOf").size() == plumb::questions().size());
  for (const std::string_view question : plumb::questions()) {
    const json& of = schema.at("$defs").at(std::string(question));
    CHECK(of.at("properties").at("ask").at("const") == question);
    CHECK(of.at("additionalProperties") == false);
  }
  const json& simulate = schema.at("$defs").at("simulate").at("properties");
  CHECK(simulate.at("devices").at("type") == json({"integer", "string"}));
  CHECK(simulate.at("critical-path").at("type") == json({"boolean", "null"}));
  CHECK(simulate.at("want").at("items").at("enum").front() == "summary");
  CHECK(schema.at("$defs").at("compare").at("required") == json({"ask", "a", "b"}));
  CHECK(json::parse(ask(R"({"ask": "schema"})")).at("schema") == schema);
}

TEST_CASE("a conversion, a published planner and a comparison are answered as the commands do") {
  const ScratchDirectory scratch;
  const std::string text = "d0: 0F0 0F1 0B0 0B1\nd1: 1F0 1B0 1F1 1B1\n";
  json request = {{"ask", "convert"}, {"in", "mine.txt"}, {"to", "torch-csv"}, {"files", {{"mine.txt", text}}}};
  const json converted = json::parse(ask(request.dump()));
  CHECK(converted.at("document") == "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n");
  CHECK(converted.at("command") == "plumbline convert mine.txt --to torch-csv -");

  request = {{"ask", "planner"},
             {"method", "pipedream"},
             {"network", "gpt2-small"},
             {"cluster", "a100-1x8"},
             {"want", {"text"}}};
  const json planned = json::parse(ask(request.dump()));
  CHECK(planned.at("text") == run_command(planned.at("command"), scratch.path()).out);

  const auto timeline = [](const char* schedule) {
    const json asked = {
        {"ask", "simulate"}, {"schedule", schedule}, {"devices", 4}, {"microbatches", 8}, {"want", "timeline"}};
    return json::parse(ask(asked.dump())).at("timeline").dump();
  };
  request = {{"ask", "compare"},
             {"a", "gpipe.json"},
             {"b", "zb-h1.json"},
             {"want", {"comparison", "text"}},
             {"files", {{"gpipe.json", timeline("gpipe")}, {"zb-h1.json", timeline("zb-h1")}}}};
  const json compared = json::parse(ask(request.dump()));
  CHECK(compared.at("status") == 0);
  CHECK(compared.at("comparison").is_object());
  for (const auto& [name, document] : request.at("files").items()) {
    std::ofstream(std::filesystem::path(scratch.path()) / name) << document.get<std::string>();
  }
  const CommandResult printed = run_command("plumbline compare gpipe.json zb-h1.json", scratch.path());
  CHECK(compared.at("text") == printed.out);
  request["max-error"] = "0.1%";
  CHECK(json::parse(ask(request.dump())).at("status") == 3);
}

TEST_CASE("a plan that is asked for is the plan of the command, and nothing fits is an answer") {
  const ScratchDirectory scratch;
  json request = {
      {"ask", "plan"}, {"network", "gpt2-small"}, {"cluster", "a100-1x8"}, {"batch", 32}, {"want", {"plan", "text"}}};
  const json planned = json::parse(ask(request.dump()));
  CHECK(planned.at("status") == 0);
  const CommandResult printed = run_command(planned.at("command"), scratch.path());
  const std::string text = planned.at("text");
  CHECK(text.substr(0, text.find('\n')) == printed.out.substr(0, printed.out.find('\n')));
  request["memory-limit"] = "10MiB";
  const json none = json::parse(ask(request.dump()));
  CHECK(none.at("status") == 3);
  CHECK(none.at("findings").size() == 1);
}

TEST_SUITE_END();
