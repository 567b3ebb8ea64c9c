#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "models/cluster/cluster_io.hpp"
#include "models/ground/file_kinds.hpp"
#include "models/ground/text_file.hpp"
#include "models/network/network_io.hpp"
#include "models/sources/profile.hpp"
#include "models/sources/run_profile.hpp"
#include "models/stages/network_costs.hpp"
#include "sim/timeline/timeline_io.hpp"
#include "tests/support/error_message.hpp"
#include "tests/support/run_command.hpp"
#include "tests/support/scratch_directory.hpp"
#include "tests/support/source_directory.hpp"
#include "tools/claims/claims.hpp"

// Documents of earlier commits, which data/ keeps as they were (README.md says of which).

TEST_SUITE_BEGIN("tools");

namespace plumb::testing {
namespace {

std::string kept(const std::string& name) { return in_source("tests/tools/documents/data/" + name); }

std::string text_of(const std::string& name) { return read_text_file(kept(name), kScheduleFile); }

/// The text of a packed one.
std::string unpacked(const ScratchDirectory& scratch, const std::string& name) {
  const CommandResult result = run_command("gzip -dc '" + kept(name) + "'", scratch.path());
  REQUIRE(result.status == 0);
  return result.out;
}

}  // namespace

TEST_CASE("schedules of the first days run as long as their papers say") {
  const ScratchDirectory scratch;
  struct Expected {
    const char* name;
    const char* makespan;
  };
  // F=1, B=2. 1F1B: (p - 1 + m) x 3; interleaved with v = 2: (p - 1 + v m) x 3; Chimera on 2 devices: no bubble.
  for (const Expected& one : {Expected{"schedule-1f1b.json", "15"}, Expected{"schedule-interleaved.json", "27"},
                              Expected{"schedule-chimera.json", "12"}}) {
    CAPTURE(one.name);
    const CommandResult valid = run_command("plumbline validate '" + kept(one.name) + "'", scratch.path());
    CHECK(valid.status == 0);
    const CommandResult run =
        run_command("plumbline simulate '" + kept(one.name) + "' --cost F=1,B=2 --per-stage --summary", scratch.path());
    CHECK(run.status == 0);
    CHECK(run.out.find(": " + std::string(one.makespan) + " units a step; ") != std::string::npos);
  }
}

TEST_CASE("the first networks and clusters have the sizes that they had") {
  const Network network = network_from_json(text_of("network-llama-tiny.json"), "n.json");
  // Embedding and head 256 x 64; 4 blocks of two norms of 64, Q and output 64 x 64, K and V 64 x 32, MLP 3 x 64 x 176;
  // a norm of 64.
  CHECK(parameter_count(network) == 2 * 256 * 64 + 4 * (2 * 64 + 2 * 64 * 64 + 2 * 64 * 32 + 3 * 64 * 176) + 64);
  CHECK(network.sequence == 64);
  CHECK(network.samples == 2);
  const Cluster cluster = cluster_from_json(text_of("cluster-megatron.json"), "c.json");
  REQUIRE(cluster.devices.size() == 384 * 8);
  CHECK(cluster.devices.front().flops_per_s == 312e12);
  CHECK(cluster.devices.front().memory_bytes == 80'000'000'000);
  CHECK(cluster.intra_node.bytes_per_s == 195e9);
  CHECK(cluster.inter_node.latency_ns == 20'000);
}

TEST_CASE("from the first profile the first prediction is made again, to the nanosecond") {
  const ScratchDirectory scratch;
  const Profile profile = profile_from_json(text_of("profile.json"), "p.json");
  REQUIRE(profile.stages.size() == 2);
  CHECK(profile.stages[1].b.median_ns == 9'061'646);
  const Timeline then = timeline_from_json(unpacked(scratch, "timeline-1f1b.json.gz"), "t.json");
  CHECK(then.makespan == 1'934'576'412);
  CHECK(then.step_time == 161'214'701);
  const CommandResult run = run_command(
      "plumbline simulate 1f1b -p 2 -m 8 --updates 12 --profile '" + kept("profile.json") + "' --json now.json",
      scratch.path());
  REQUIRE(run.status == 0);
  const Timeline now = timeline_from_json(file_text(scratch.path() / "now.json"), "now.json");
  CHECK(now.makespan == then.makespan);
  CHECK(now.step_time == then.step_time);
  CHECK(now.bubble_fraction == doctest::Approx(then.bubble_fraction).epsilon(1e-14));
  REQUIRE(now.devices.size() == then.devices.size());
  for (std::size_t device = 0; device < now.devices.size(); ++device) {
    CHECK(now.devices[device].busy == then.devices[device].busy);
    CHECK(now.devices[device].peak_memory_bytes == then.devices[device].peak_memory_bytes);
  }
  CHECK(now.spans.size() == then.spans.size());
}

TEST_CASE("run profiles from before messages had sizes are read as profiles of one size") {
  const RunProfile first = run_profile_from_json(text_of("run-profile-every-key.json"), "r.json");
  REQUIRE(first.stages.size() == 2);
  CHECK(first.stages[0].f.mean_ns == 905);
  REQUIRE(first.messages.size() == 1);
  CHECK(first.messages[0].bytes == 0);
  CHECK(first.messages[0].send.median_ns == 100);
  CHECK(first.messages[0].send_posted.median_ns == 300);
  CHECK(first.messages[0].receive.median_ns == 70);
  CHECK(first.messages[0].message.median_ns == 400);
  CHECK(first.messages[0].capacity == 1.5);
  const std::string written = run_profile_to_json(first);
  CHECK(run_profile_from_json(written, "w.json") == first);
  std::string both = text_of("run-profile-every-key.json");
  both.replace(both.find("\"host_ns\""), 0, "\"messages\": [], ");
  CHECK(error_message([&] {
          run_profile_from_json(both, "r.json");
        }).ends_with("messages: stand beside times of messages without a size; expected one of the two"));
  const RunProfile second = run_profile_from_json(text_of("run-profile-zb-h1.json"), "r.json");
  REQUIRE(second.messages.size() == 1);
  CHECK(second.stages[1].w.median_ns == 52'554'272);
  CHECK(second.messages[0].message.median_ns == 927'828);
}

TEST_CASE("documents of claims that an earlier program wrote are refused as such, in one line") {
  const ScratchDirectory scratch;
  CHECK(error_message([] { claims_from_json(text_of("claims-version-1.json"), "c.json"); }) ==
        "c.json:2:44: version: 1 is written by an earlier program than this one, which reads version 2 of "
        "plumbline-claims");
  CHECK(error_message([&] { claims_from_json(unpacked(scratch, "claims-version-2.json.gz"), "c.json"); })
            .ends_with("claims[23].expected: is how an earlier program wrote a closed form; expected its 'formula' "
                       "instead"));
}

TEST_CASE("a document of a later program is refused as such") {
  std::string later = text_of("network-llama-tiny.json");
  later.replace(later.find("\"version\": 1"), 12, "\"version\": 7");
  CHECK(error_message([&] { network_from_json(later, "n.json"); }) ==
        "n.json:2:45: version: 7 is written by a later program than this one, which reads version 1 of "
        "plumbline-network");
}

}  // namespace plumb::testing

TEST_SUITE_END();
