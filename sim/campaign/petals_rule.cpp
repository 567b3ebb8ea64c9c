#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/ground/error.hpp"
#include "sim/campaign/campaign_rule.hpp"
#include "sim/campaign/campaign_run.hpp"
#include "sim/sharing/block_spans.hpp"

namespace plumb {
namespace {

struct PetalsSettings {
  std::int32_t blocks = 0;    ///< blocks of the network
  std::int32_t held = 0;      ///< by every server
  double quality = 0;         ///< below which a server moves
  std::int64_t load_ns = 0;   ///< the blocks of a server, over the network
  std::int64_t check_ns = 0;  ///< between two looks of the servers at the swarm
  std::int32_t stages() const { return (blocks + held - 1) / held; }
};

/// Throughput of the slowest block of a swarm.
struct SlowestBlock {
  double now = 0;
  double moved = 0;  ///< if servers that move were there
};

/// A swarm of servers, each with some blocks of a network whose weights stay as they are, for inference or to tune
/// prompts. A server that joins takes the blocks where throughput is worst (`petals_start`), and loads them. From time
/// to time each looks whether it should move (`petals_moves`); one that does is gone until it has loaded its new
/// blocks. What the swarm gives is the throughput of its slowest block, in servers of full speed: n of them are worth
/// as much as n pipelines, numbers between two as much as lies between. Requests find their way at run time: when a
/// server goes, one microbatch is done twice and the rest of the step takes longer. While a block has no server nothing
/// goes on, but nothing is lost except the step under way: no weight has changed, and clients keep what they sent.
class PetalsRule final : public CampaignRule {
 public:
  PetalsRule(const PetalsSettings& settings, LayoutBook& book) : settings_(settings), book_(book) {}

  void start(CampaignRun& run) override { run.set_timer(settings_.check_ns, kCheck, 0); }

  void became_ready(const CampaignNode& node, CampaignRun& run) override {
    const BlockSpan nowhere{};
    servers_.push_back({.node = node.id, .span = nowhere});
    take_blocks(servers_.size() - 1, petals_start(throughput(run, kAll), settings_.held), run);
    if (!run.stepping()) stand(run);
  }

  void slowed(const CampaignNode&, CampaignRun&) override { change(); }

  void removed(const CampaignNode& node, CampaignRun& run) override {
    const auto server = std::ranges::find(servers_, node.id, &Server::node);
    if (server == servers_.end()) return;
    const bool was_serving = server->serves();
    servers_.erase(server);
    change();
    if (was_serving && run.stepping() && !go_on(run)) run.count_fatal();
  }

  void timer(CampaignTimer which, std::int64_t number, CampaignRun& run) override {
    if (which == kLoaded) return finish_loading(number, run);
    look_round(run);
    run.set_timer(settings_.check_ns, kCheck, 0);
  }

  void step_done(CampaignRun& run) override {
    run.commit();
    begin_step(run);
  }

 private:
  static constexpr CampaignTimer kLoaded = CampaignTimer::kFirst;
  static constexpr CampaignTimer kCheck = CampaignTimer::kSecond;

  struct Server {
    std::int32_t node = 0;
    BlockSpan span;
    std::int64_t loads = 0;  ///< number of its load; 0: it serves
    bool moves = false;      ///< it served other blocks before those that it loads or serves

    bool serves() const { return loads == 0; }
  };
  using Counts = bool (*)(const Server&);
  static bool kAll(const Server& server) { return server.span.length() > 0; }
  static bool kServing(const Server& server) { return server.serves(); }
  static bool kServingOrMoving(const Server& server) { return server.serves() || server.moves; }

  static double speed_of(const Server& server, const CampaignRun& run) {
    const auto node = std::ranges::find(run.nodes(), server.node, &CampaignNode::id);
    return node == run.nodes().end() ? 0 : 1 / node->factor;
  }

  /// Returns the throughput of every block, by the servers that count.
  std::vector<double> throughput(const CampaignRun& run, Counts counts) {
    spans_.clear();
    speeds_.clear();
    for (const Server& server : servers_) {
      if (!counts(server)) continue;
      spans_.push_back(server.span);
      speeds_.push_back(speed_of(server, run));
    }
    return block_throughput(settings_.blocks, spans_, speeds_);
  }

  /// Something has changed that servers look at.
  void change() {
    all_stay_ = false;
    slowest_.reset();
    layout_is_taken_ = false;
  }

  const SlowestBlock& slowest(const CampaignRun& run) {
    if (!slowest_) {
      slowest_ = SlowestBlock{.now = std::ranges::min(throughput(run, kServing)),
                              .moved = std::ranges::min(throughput(run, kServingOrMoving))};
    }
    return *slowest_;
  }

  /// Returns the samples per second of a swarm whose slowest block has so many servers' throughput.
  double rate(double servers) {
    const auto whole = static_cast<std::int32_t>(servers + kHair);
    if (whole == 0) return rate_of(1) * std::max(0.0, servers);
    const double below = rate_of(whole);
    return below + (servers - whole) * std::max(0.0, rate_of(whole + 1) - below);
  }

  /// Returns the rate of so many pipelines, or of fewer where there is no such layout.
  double rate_of(std::int32_t pipelines) {
    const std::optional<JobLayout> found = layout(pipelines);
    return found ? book_.step(*found)->samples_per_s() : 0;
  }

  std::optional<JobLayout> layout(std::int32_t pipelines) {
    for (; pipelines > 0; --pipelines) {
      const JobLayout found{pipelines, settings_.stages()};
      if (book_.step(found)) return found;
    }
    return {};
  }

  void take_blocks(std::size_t server, std::int32_t start, CampaignRun& run) {
    servers_[server].span = {start, start + settings_.held};
    servers_[server].loads = ++loads_;
    change();
    run.set_timer(settings_.load_ns, kLoaded, loads_);
  }

  void finish_loading(std::int64_t number, CampaignRun& run) {
    const auto server = std::ranges::find(servers_, number, &Server::loads);
    if (server == servers_.end()) return;  // it went meanwhile
    server->loads = 0;
    change();
    if (!run.stepping()) begin_step(run);
  }

  /// All servers, those that came first first, look whether they should move. Those that load are told of already.
  void look_round(CampaignRun& run) {
    if (all_stay_) return;
    all_stay_ = true;
    for (std::size_t server = 0; server < servers_.size(); ++server) {
      if (!servers_[server].serves()) continue;
      std::vector<double> all = throughput(run, kAll);
      if (!petals_moves(spans_, speeds_, settings_.blocks, server, settings_.quality)) continue;
      const BlockSpan& span = servers_[server].span;
      for (std::int32_t block = span.begin; block < span.end; ++block) {
        all[static_cast<std::size_t>(block)] -= speeds_[server];
      }
      servers_[server].moves = true;
      take_blocks(server, petals_start(all, settings_.held), run);
      run.count_recovery();
      run.stepping() ? static_cast<void>(go_on(run)) : stand(run);
    }
  }

  /// What is left of the step takes as much longer as the swarm got slower, and one microbatch is done twice. False:
  /// some block has no server, and the step is lost.
  bool go_on(CampaignRun& run) {
    const double now = rate(slowest(run).now);
    if (now <= 0) {
      run.drop_step();
      run.take_layout({});
      stand(run);
      return false;
    }
    const auto microbatches = static_cast<double>(book_.source().microbatches());
    const auto whole = static_cast<double>(step_ns_);
    const auto left = static_cast<double>(std::max<std::int64_t>(0, step_end_ - run.now()));
    const std::int64_t longer =
        std::llround(left * std::max(0.0, rate_ / now - 1) + whole * run.layout().pipelines / microbatches);
    step_end_ += longer;
    rate_ = now;
    run.prolong_step(longer);
    return true;
  }

  void stand(CampaignRun& run) {
    const bool loading = std::ranges::any_of(servers_, [](const Server& server) { return !server.serves(); });
    run.stand(loading ? TimeUse::kReconfiguring : TimeUse::kWaiting);
  }

  void begin_step(CampaignRun& run) {
    const SlowestBlock servers = slowest(run);
    if (!layout_is_taken_ && !take_layout(servers.now, run)) return stand(run);
    const double samples = book_.step(run.layout())->samples;
    rate_ = rate(servers.now);
    step_ns_ = std::llround(samples / rate_ * 1e9);
    step_end_ = run.now() + step_ns_;
    run.begin_step(step_ns_, std::llround(samples / rate(servers.moved) * 1e9), samples);
  }

  /// Switches to the layout for this many servers. Returns false if there is none.
  bool take_layout(double servers, CampaignRun& run) {
    const std::optional<JobLayout> next = layout(std::max(1, static_cast<std::int32_t>(servers + kHair)));
    if (servers <= 0 || !next) {
      run.take_layout({});
      return false;
    }
    if (run.layout().nodes() == 0) run.count_recovery();
    run.take_layout(*next);
    for (const CampaignNode& node : run.nodes()) run.mark_used(node.id, false);
    for (const Server& server : servers_) run.mark_used(server.node, server.serves());
    return layout_is_taken_ = true;
  }

  static constexpr double kHair = 1e-9;  ///< what sums of speeds may lack of a whole number

  PetalsSettings settings_;
  LayoutBook& book_;
  std::vector<Server> servers_;  ///< in the order of their coming
  std::vector<BlockSpan> spans_;
  std::vector<double> speeds_;
  std::int64_t loads_ = 0;
  std::optional<SlowestBlock> slowest_;  ///< none: not known since the last change
  bool layout_is_taken_ = false;         ///< whether there is a layout for the swarm as it is
  bool all_stay_ = false;                ///< all have looked, and nothing has changed since
  std::int64_t step_ns_ = 0;             ///< time of the step under way, as it began
  std::int64_t step_end_ = 0;
  double rate_ = 0;  ///< rate of the step under way, since the swarm last got slower
};

constexpr std::array kPetalsOptions{
    NamedOption{"blocks", rule_count("N", 1), "its layers; 24 of a table", "blocks of the network"},
    NamedOption{"held", rule_count("N", 1), "as many as a stage of the best layout for the mean of the trace",
                "blocks that every server holds"},
    NamedOption{"quality", rule_number("X"), 0.75, "share of the throughput that the slowest block could have",
                "below it servers move"},
    NamedOption{"check", kRulePeriod, 120, "seconds from one look at the swarm to the next"},
    NamedOption{"load", kRulePause, 30, "seconds in which a server loads its blocks over the network"}};

CampaignRulePtr make_petals(const CampaignProblem& problem, const OptionReader& options, LayoutBook& book) {
  const std::int32_t known = book.source().layers();
  PetalsSettings settings{.blocks = option_count(options, "blocks", known > 0 ? known : 24),
                          .held = 1,
                          .quality = options.number("quality"),
                          .load_ns = option_ns(options, "load"),
                          .check_ns = std::max<std::int64_t>(1, option_ns(options, "check"))};
  const std::int32_t stages = usual_stages(problem, book);
  settings.held = option_count(options, "held", std::max(1, (settings.blocks + stages - 1) / stages));
  if (settings.held > settings.blocks) throw Error("option held: expected at most as many as there are blocks");
  if (!book.step({1, settings.stages()})) {
    throw Error("petals: servers that hold " + std::to_string(settings.held) + " of " +
                std::to_string(settings.blocks) + " blocks are pipelines of " + std::to_string(settings.stages()) +
                " stages, in which the job does not run; expected other blocks or held");
  }
  return std::make_unique<PetalsRule>(settings, book);
}

}  // namespace

CampaignRuleSpec petals_rule() {
  return {.name = "petals",
          .summary = "servers with some blocks each, which move to where throughput is worst",
          .source =
              "Borzunov et al., Petals, NeurIPS 2023, arXiv 2312.08361: the block selection of its released "
              "program",
          .options = kPetalsOptions,
          .make = make_petals,
          .changes_job = "weights stay as they are, for inference or to tune prompts"};
}

}  // namespace plumb
