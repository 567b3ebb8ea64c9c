#include "tools/command_line/examples.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "tools/terminal/answer_lines.hpp"
#include "tools/terminal/terminal.hpp"

namespace plumb {
namespace {

struct CommandExamples {
  std::string_view usage;  ///< how the usage of the command begins
  Examples examples;
};

constexpr std::array kCommandExamples{
    CommandExamples{"list",
                    {{{"list schedules --runs-in megatron", "what Megatron-LM can run"},
                      {"list models llama3-8b", "the layers of one model"},
                      {"list clusters", "GPUs and links, a line each"}}}},
    CommandExamples{"schedules",
                    {{{"schedules", "all of them, a line each"},
                      {"schedules zb-v", "what one needs, its options, a drawing, its source"},
                      {"schedules ZBVZeroBubble", "the same by PyTorch's name"}}}},
    CommandExamples{
        "schedule",
        {{{"schedule 1f1b -p 4 -m 8 -o mine.txt", "a text to edit"},
          {"schedule zb-h1 -p 4 -m 8 -o zb.csv", "PyTorch's CSV"},
          {"schedule interleaved -p 4 -m 8 -v 2 --explain --layers 26", "how PyTorch and Megatron-LM run it"}}}},
    CommandExamples{"validate",
                    {{{"validate mine.txt", "an order of your own: mistakes, or the cycle of a deadlock"},
                      {"validate zb.csv --torch-transfers all", "would PyTorch hang?"},
                      {"validate interleaved -p 2 -m 4 -v 2 --runtime megatron", "with the messages of Megatron-LM"}}}},
    CommandExamples{"convert",
                    {{{"convert mine.txt mine.csv", "for PyTorch"},
                      {"convert zb.csv zb.json", "to our document"},
                      {"convert mine.csv - --to text", "to read it"}}}},
    CommandExamples{"simulate",
                    {{{"simulate 1f1b -p 4 -m 8", "a drawing, with forwards of 1 and backwards of 2"},
                      {"simulate zb-h1 -p 4 -m 8 --cost F=1,I=1,W=1 --html zb.html --json predicted.json",
                       "a page, and the timeline"},
                      {"simulate 1f1b -p 8 -m 64 --network llama3-8b --cluster h100-1x8 --summary",
                       "times and memory of a model on GPUs"}}}},
    CommandExamples{
        "search",
        {{{"search -p 4 -m 12 --memory-limit 3 --placement straight -o order.json", "the best order in little memory"},
          {"search -p 4 -m 8 --cost F=2,I=3,W=1,comm=1 --memory-limit 3 --simulations 2000 --json found.json",
           "slow links"},
          {"search -p 4 -m 16 --network gpt2-small --cluster a100-1x4 --simulations 300 --nodes 500",
           "a model on GPUs"}}}},
    CommandExamples{
        "profile",
        {{{"profile --network gpt-tiny --stages 2 --rounds 1 -o times.json", "how long stages take here"},
          {"profile --network gpt-mini --stages 4 --rounds 2 -o times.json", "a larger model in four stages"},
          {"profile --contention --network gpt-tiny --stages 2 --rounds 1 -m 4 -o contention.json",
           "also how stages slow each other"}}}},
    CommandExamples{
        "train",
        {{{"train 1f1b -p 2 -m 4 --network gpt-tiny", "train, and measure the timeline"},
          {"train 1f1b -p 2 -m 4 --updates 3 --network gpt-tiny --json measured.json", "for `plumbline compare`"},
          {"train pipemare -p 2 -m 2 --network gpt-tiny --steps 4 --losses losses.csv", "asynchronous, with losses"}}}},
    CommandExamples{
        "trace",
        {{{"trace rank*.json.gz", "where the bubbles of a run of PyTorch are"},
          {"trace rank*.json.gz -o measured.json", "the run as a timeline, for `compare`"},
          {"trace rank*.json.gz --summary --profile run-profile.json", "its times, for `simulate --profile`"}}}},
    CommandExamples{"advise",
                    {{{"advise rank*.json.gz", "which schedule would be faster"},
                      {"advise rank*.json.gz --memory-limit 4", "with at most four stashes per device"},
                      {"advise rank*.json.gz --save best.csv --html advice.html", "the best order, and a page"}}}},
    CommandExamples{
        "weights",
        {{{"weights list --network llama-tiny", "names and shapes"},
          {"weights export --network gpt-tiny --seed 7 -o gpt-tiny.safetensors", "initial weights for PyTorch"},
          {"weights export --network gpt-tiny --seed 7 --numbers bf16 -o half.safetensors", "in bfloat16"}}}},
    CommandExamples{
        "compare",
        {{{"compare 1f1b zb-h1 zb-v -p 4 -m 8 --pdf figure.pdf", "three schedules on one time axis"},
          {"compare predicted.json measured.json", "does a run agree with its prediction?"},
          {"compare predicted.json rank*.json.gz --html both.html", "a prediction and PyTorch's traces, as a page"}}}},
    CommandExamples{"sweep",
                    {{{"sweep 1f1b zb-h1 zb-v -p 4,8 -m 8:32:8", "three schedules over eight sizes"},
                      {"sweep all -p 8 -m 32 --cost F=1,I=1,W=1 --csv all.csv", "all schedules"},
                      {"sweep 1f1b interleaved -p 8 -m 64 --network llama3-8b --cluster h100-1x8 --html sweep.html",
                       "bubble against memory, as a page"}}}},
    CommandExamples{
        "plan --method",
        {{{"plan --list", "the published planners"},
          {"plan --method pipedream --network gpt2-small --cluster a100-1x4", "cut a model for four devices"},
          {"plan --method dapple --network gpt2-small --cluster a100-1x4", "by another of them"}}}},
    CommandExamples{
        "plan --jobs",
        {{{"plan --jobs tools/examples/jobs.json", "jobs that were measured, on two nodes"},
          {"plan --jobs tools/examples/jobs.json --svg jobs.svg", "a picture"},
          {"plan --jobs tools/examples/tuning_jobs.json --cluster a100-1x4 --simulations 20", "plans are searched"}}}},
    CommandExamples{
        "plan",
        {{{"plan llama3-8b --gpus 8xh100 --batch 64", "the fastest configuration of eight GPUs"},
          {"plan --network gpt2-small --cluster a100-1x2 --batch 4 --schedule 1f1b,zb-h1", "of two schedules"},
          {"plan --network llama3-8b --cluster h100-1x8 --batch 64 --html plans.html", "a page with the best"}}}},
    CommandExamples{"campaign",
                    {{{"campaign --trace bamboo-p3 --layouts bamboo-gpt2 --price 0.91", "published steps, all rules"},
                      {"campaign 1f1b -m 32 --network gpt2-small --cluster v100-8x1 --mtbf 24 --nodes 8 --runs 5",
                       "steps from the simulator, random failures"},
                      {"campaign --trace bamboo-g4dn --layouts bamboo-vgg --rules bamboo --html campaign.html",
                       "nodes and layouts as a page"}}}},
    CommandExamples{"stability",
                    {{{"stability delay naive t2 --tau 3,7", "largest learning rates by delay"},
                      {"stability delay naive t2 --sensitivity 3 --tau 3,7", "where old weights hurt more"},
                      {"stability delay --tau 1,3,7,15", "plain delayed gradient descent"}}}},
    CommandExamples{"reproduce",
                    {{{"reproduce", "all published numbers that take seconds"},
                      {"reproduce dualpipe", "those of one system"},
                      {"reproduce pipemare --model-only", "the PipeMare paper, without training"}}}},
    CommandExamples{
        "device",
        {{{"device measure --network gpt-mini --precision single --script to-measure", "what to run on the machine"},
          {"device import timings.json --network gpt-mini -o device.json", "for --rates device.json"},
          {"device fit --rows steps.csv --cluster h100-8x8 -o device.json", "from measured training steps"}}}},
    CommandExamples{"networks",
                    {{{"networks", "all of them, a line each"},
                      {"networks llama3-70b", "the layers of one"},
                      {"networks llama3-70b > mine.json", "a document to edit, for --network mine.json"}}}},
    CommandExamples{
        "clusters",
        {{{"clusters", "all of them, a line each"},
          {"clusters h100-8x8", "64 devices in nodes of eight"},
          {"clusters h100-8x8 > mine-cluster.json", "a document to edit, for --cluster mine-cluster.json"}}}},
    CommandExamples{"explore",
                    {{{"explore", "writes explorer.html"},
                      {"explore schedules.html", "under another name"},
                      {"explore - > schedules.html", "to standard output"}}}},
    CommandExamples{"completion",
                    {{{"completion bash > plumbline.bash", "to be read by `source` in ~/.bashrc"},
                      {"completion zsh > _plumbline", "into a folder of fpath"},
                      {"completion bash", "to standard output"}}}},
    CommandExamples{"manual",
                    {{{"manual > plumbline.1", "for `man -l plumbline.1`"},
                      {"manual", "to standard output"},
                      {"manual --help", "its options"}}}},
    CommandExamples{"ask",
                    {{{"ask --example > request.json", "a question to start from"},
                      {"ask < request.json", "its answer"},
                      {"ask request.json -o answer.json", "into a file"}}}},
    CommandExamples{"demo",
                    {{{"demo", "predict, train and compare"},
                      {"demo -o demo", "into this folder"},
                      {"demo --network gpt-tiny --rounds 1", "a smaller model, once"}}}},
    CommandExamples{
        "version",
        {{{"version", "version, back ends, executors"}, {"--version", "the same"}, {"version --help", "this text"}}}},
};

}  // namespace

const Examples* examples_of(std::string_view usage) {
  const CommandExamples* best = nullptr;
  for (const CommandExamples& row : kCommandExamples) {
    const bool begins =
        usage.starts_with(row.usage) && (usage.size() == row.usage.size() || usage[row.usage.size()] == ' ');
    if (begins && (best == nullptr || row.usage.size() > best->usage.size())) best = &row;
  }
  return best == nullptr ? nullptr : &best->examples;
}

std::size_t help_columns() {
  constexpr int kWidestHelp = 110;
  return static_cast<std::size_t>(std::min(terminal_columns(), kWidestHelp));
}

std::string examples_text(const Examples* examples) {
  if (examples == nullptr) return "";
  std::string text = "examples:\n";
  for (const Example& example : *examples) {
    const std::string line = "  plumbline " + std::string(example.command);
    const std::string meaning = "  # " + std::string(example.meaning) + "\n";
    const bool fits = line.size() + meaning.size() <= help_columns() + 1;
    text += fits ? line + meaning : meaning + command_lines(line.substr(2), help_columns(), 2);
  }
  return text + "\n";
}

std::string short_examples_text(const Examples& examples) {
  std::string text = "examples:\n";
  for (const Example& example : {examples[0], examples[1]}) {
    const std::string line = "  plumbline " + std::string(example.command);
    const std::string explained = line + "  # " + std::string(example.meaning);
    if (explained.size() <= kShortHelpColumns) {
      text += explained + "\n";
    } else {
      text += command_lines(line.substr(2), kShortHelpColumns, 2);
    }
  }
  return text;
}

}  // namespace plumb
