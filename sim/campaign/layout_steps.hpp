#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace plumb {

/// How a job stands on its nodes: copies of a pipeline, one node for every stage.
struct JobLayout {
  std::int32_t pipelines = 0;
  std::int32_t stages = 0;

  std::int32_t nodes() const { return pipelines * stages; }
  friend auto operator<=>(const JobLayout&, const JobLayout&) = default;
};

/// What a step of a layout takes, and gives.
struct StepOfLayout {
  std::int64_t ns = 0;
  double samples = 0;

  double samples_per_s() const { return ns > 0 ? samples * 1e9 / static_cast<double>(ns) : 0; }
};

/// What it takes to bring a job up in a layout, where that has been measured.
struct LayoutRestart {
  std::int64_t added_ns = 0;    ///< after nodes came, or at first
  std::int64_t removed_ns = 0;  ///< after nodes went
  std::int64_t load_ns = 0;     ///< on top of both: parameters and optimizer state to every node
};

/// The first layers of a transformer, which are trained no more.
struct FrozenLayers {
  std::int32_t frozen = 0;
  std::int32_t all = 1;
  bool cached = true;  ///< what they hand on is kept; else they run forward in every step, in the first stage

  friend auto operator<=>(const FrozenLayers&, const FrozenLayers&) = default;
};

/// Where the steps of layouts come from: a table, or the simulator.
class LayoutSource {
 public:
  LayoutSource() = default;
  LayoutSource(const LayoutSource&) = delete;
  LayoutSource& operator=(const LayoutSource&) = delete;
  virtual ~LayoutSource() = default;

  /// None where the job cannot run so.
  virtual std::optional<StepOfLayout> step(JobLayout layout) = 0;
  /// Returns the lengths of pipelines that are worth asking for, ascending.
  virtual std::vector<std::int32_t> lengths() const = 0;
  /// Returns the most copies of a pipeline of `stages`.
  virtual std::int32_t most_pipelines(std::int32_t stages) const = 0;
  virtual std::optional<LayoutRestart> restart(JobLayout) { return {}; }
  /// Returns why the last layout without a step had none; empty where that is not known.
  virtual std::string refusal() const { return {}; }
  /// Into how many microbatches the samples of a step can be divided among pipelines, at least 1.
  virtual std::int64_t microbatches() const { return 64; }
  /// Returns a step of one of `layout.pipelines` pipelines, which has `layout.stages` stages and takes `share` of all
  /// samples of a step. Without a better way, as long as its samples take in the layout with the most pipelines up to
  /// these.
  virtual std::optional<std::int64_t> share_ns(JobLayout layout, double share);
  /// Returns a step while the first layers are frozen. Without a better way that of the whole network, less the share
  /// of the frozen layers' work: all of it, or what is not forward, two thirds.
  virtual std::optional<StepOfLayout> frozen_step(JobLayout layout, const FrozenLayers& layers);
  /// Transformer layers of the network; 0 where that is not known.
  virtual std::int32_t layers() const { return 0; }
  /// Steps in which every node also runs the forward of the stage behind its own, as Bamboo's do; none where `step` is
  /// all that is known.
  virtual LayoutSource* redundant() { return nullptr; }
};

/// Measured steps of layouts.
class LayoutTable final : public LayoutSource {
 public:
  struct Row {
    StepOfLayout step;
    std::optional<LayoutRestart> restart;
  };

  explicit LayoutTable(std::map<JobLayout, Row> rows) : rows_(std::move(rows)) {}

  const std::map<JobLayout, Row>& rows() const { return rows_; }
  std::optional<StepOfLayout> step(JobLayout layout) override;
  std::vector<std::int32_t> lengths() const override;
  std::int32_t most_pipelines(std::int32_t stages) const override;
  std::optional<LayoutRestart> restart(JobLayout layout) override;

 private:
  std::map<JobLayout, Row> rows_;
};

/// `{"format": "plumbline-layouts", "version": 1, "samples": 32, "layouts": [{"pipelines": 1, "stages": 12, "ms":
/// 1200}]}`; a layout may have its own "samples" (of a step), and "restart_ms": {"added", "removed", "load"}. Throws
/// `Error` with the place for what is missing or out of range, and for a layout that is there twice.
std::map<JobLayout, LayoutTable::Row> layouts_from_json(const std::string& text, const std::string& file_name);
std::string layouts_to_json(const std::map<JobLayout, LayoutTable::Row>& rows);

/// The steps of a source, each asked for once.
class LayoutBook {
 public:
  /// `source` must outlive this.
  explicit LayoutBook(LayoutSource& source) : source_(source) {}

  std::optional<StepOfLayout> step(JobLayout layout);
  /// Returns the layout of at most `nodes` nodes with the most samples per second; of equal ones that of fewer
  /// pipelines, then of fewer stages. None: the job does not run on so few.
  std::optional<JobLayout> best(std::int32_t nodes);
  /// Returns the layout that a job on usually so many nodes is made for: the best one for them or, where the job does
  /// not run on so few, for the fewest on which it runs. None: there is no layout at all.
  std::optional<JobLayout> made_for(std::int32_t nodes);
  /// Returns the samples per second of `best`; 0 where there is none.
  double best_rate(std::int32_t nodes);
  std::optional<StepOfLayout> frozen_step(JobLayout layout, const FrozenLayers& layers);
  /// Returns the book of the redundant steps of the source; this one where it has none.
  LayoutBook& redundant();
  LayoutSource& source() { return source_; }

 private:
  LayoutSource& source_;
  std::map<JobLayout, std::optional<StepOfLayout>> steps_;
  std::map<std::int32_t, std::optional<JobLayout>> best_;
  std::map<std::pair<JobLayout, FrozenLayers>, std::optional<StepOfLayout>> frozen_;
  std::unique_ptr<LayoutBook> redundant_;
};

}  // namespace plumb
