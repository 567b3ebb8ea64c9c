#include "models/launches/command_line_settings.hpp"

#include <string>

#include <doctest/doctest.h>

#include "models/ground/error.hpp"

TEST_SUITE_BEGIN("models");

namespace plumb {
namespace {

LaunchCommand launched(const std::string& script) { return launch_command(script, "x.sh", {}); }

std::string value_of_option(const LaunchCommand& launch, const std::string& name) {
  const auto found = launch.settings.all().find(name);
  if (found == launch.settings.all().end()) return "missing";
  std::string text;
  for (const std::string& value : found->second.values) text += (text.empty() ? "" : " ") + value;
  return text;
}

const std::string kThree = " --a 1 --b 2 --c 3";

}  // namespace

TEST_CASE("the training program is the script that is started, or the module behind -m that starts nothing itself") {
  CHECK(launched("torchrun pretrain.py" + kThree).program == "pretrain.py");
  CHECK(launched("python -m own.train" + kThree).program == "own.train");
  CHECK(launched("python -m torch.distributed.run --nproc 8 pretrain.py" + kThree).program == "pretrain.py");
  CHECK(launched("python -m own.launch pretrain.py" + kThree).program == "pretrain.py");
  CHECK(launched("run --config x.py pretrain.py" + kThree).program == "pretrain.py");  // x.py is a value
  CHECK(launched("run --x.py" + kThree).program.empty());
  CHECK(launched("pretrain.py" + kThree).program == "pretrain.py");
  CHECK(launched("run" + kThree + " -m").program.empty());
}

TEST_CASE("options take the words up to the next option; one letter behind a dash is an option, a number is not") {
  const LaunchCommand launch = launched("torchrun --nproc_per_node=8 t.py --a 1 2 --b=x=y -c 3 -Z 4 -a -7 --flag -y 5");
  CHECK(value_of_option(launch, "nproc_per_node") == "8");
  CHECK(value_of_option(launch, "a") == "-7");  // the later one
  CHECK(value_of_option(launch, "b") == "x=y");
  CHECK(value_of_option(launch, "c") == "3");
  CHECK(value_of_option(launch, "z") == "4");
  CHECK(value_of_option(launched("t.py -A 6 -z 7" + kThree), "a") == "1");  // the later one, whatever its case
  CHECK(value_of_option(launched("t.py --x 1 --y 2 --w 3 -A 6"), "a") == "6");
  CHECK(value_of_option(launch, "flag").empty());
  CHECK(value_of_option(launched("t.py" + kThree + " x.y=8 +v.w=7 /no=6 {no=5"), "x.y") == "missing");  // values of c
  CHECK(value_of_option(launched("t.py x.y=8 +v.w=7" + kThree), "x.y") == "8");
  CHECK(value_of_option(launched("t.py x.y=8 +v.w=7" + kThree), "v.w") == "7");
  CHECK(value_of_option(launched("t.py a/b=8" + kThree), "a/b") == "missing");
}

TEST_CASE("the launch with the most options counts, the first of several, and what prints or copies is none") {
  CHECK(value_of_option(launched("a.py --x 1 --y 2 --z 3\nb.py --x 9 --y 2 --z 3 --w 4"), "x") == "9");
  CHECK(value_of_option(launched("a.py --x 1 --y 2 --z 3\nb.py --x 9 --y 2 --z 3"), "x") == "1");
  CHECK(launched("a.py --x 1 --y 2 --z 3\nb.py --x 9 --y 2 --z 3").notes.size() == 1);
  CHECK(launched("a.py --x 1 --y 2 --z 3\n").notes.empty());
  CHECK(value_of_option(launched("echo a.py --x 5 --y 2 --z 3 --w 4\na.py --x 1 --y 2 --z 3"), "x") == "1");
  CHECK(value_of_option(launched("git clone --x 5 --y 2 --z 3 --w 4\na.py --x 1 --y 2 --z 3"), "x") == "1");
  CHECK_THROWS_AS(launched("a.py --x 1 --y 2"), Error);  // three options make a launch
  CHECK(value_of_option(launched("srun bash -c \"a.py --x 1 --y 2 --z 3\""), "x") == "1");
  // Options of variables that no launch uses count once they are more than twice as many.
  CHECK(value_of_option(launched("ARGS='--x 1 --y 2 --z 3 --w 4 --v 5 --u 6 --t 7'\na.py --p 1 --q 2 --r 3"), "x") ==
        "1");
  CHECK(value_of_option(launched("ARGS='--x 1 --y 2 --z 3 --w 4 --v 5 --u 6'\na.py --p 1 --q 2 --r 3"), "x") ==
        "missing");
}

TEST_CASE("directives of a batch job say nodes and devices where the launch does not") {
  const std::string run = "\na.py" + kThree;
  CHECK(value_of_option(launched("#SBATCH --nodes=4" + run), "nnodes") == "4");
  CHECK(value_of_option(launched("#SBATCH -N 5 # five" + run), "nnodes") == "5");
  CHECK(value_of_option(launched("#SBATCH --gres=gpu:a100:8" + run), "gpus_per_node") == "8");
  CHECK(value_of_option(launched("#SBATCH --gpus-per-node 6" + run), "gpus_per_node") == "6");
  CHECK(value_of_option(launched("#SBATCH --ntasks-per-node=2\n#SBATCH --gres=gpu:3" + run), "gpus_per_node") == "2");
  CHECK(value_of_option(launched("#SBATCH -n 5" + run), "nnodes") == "missing");
  CHECK(value_of_option(launched("# SBATCH --nodes=4" + run), "nnodes") == "missing");
  CHECK(value_of_option(launched("#SBATCH --nodes=4" + run + " --nnodes 2"), "nnodes") == "2");
}

TEST_CASE("a launch whose host waits for every kernel is found by its variable") {
  CHECK(launched("export CUDA_LAUNCH_BLOCKING=1\na.py" + kThree).blocking_launches);
  CHECK_FALSE(launched("export CUDA_LAUNCH_BLOCKING=0\na.py" + kThree).blocking_launches);
  CHECK_FALSE(launched("a.py" + kThree).blocking_launches);
}

}  // namespace plumb

TEST_SUITE_END();
