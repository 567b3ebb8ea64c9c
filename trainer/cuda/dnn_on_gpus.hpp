#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "models/ground/error.hpp"
#include "trainer/cuda/dnn/dnn_table.hpp"
#include "trainer/cuda/dnn_place.hpp"
#include "trainer/streams/stream_options.hpp"

namespace plumb::cuda {

/// What cuDNN does of one kind of work (`DnnAttention`, `DnnConvolution`) on the GPUs of a run.
template <class Work>
class DnnOnGpus {
 public:
  /// `name`: "attention"; `file`: where choices are kept, or empty; `gpus`: pointers to what has `activate` and `name`,
  /// as a `Gpu` has. Equal GPUs have one table, as they have of products. Throws Error where there is no cuDNN; where
  /// the fastest is wanted, our kernels answer then, and `description` says why.
  template <class Gpus>
  DnnOnGpus(std::string name, ComputedBy by, std::string file, const Gpus& gpus)
      : name_(std::move(name)), file_(std::move(file)) {
    if (by == ComputedBy::kOwn) return;
    try {
      for (const auto& gpu : gpus) {
        gpu->activate();
        const bool first = tables_.empty() || gpu->name() != gpus.front()->name();
        tables_.push_back(first ? std::make_shared<DnnTable>(name_, dnn_table_head(gpu->name())) : tables_.front());
        work_.push_back(std::make_unique<Work>(tables_.back(), by == ComputedBy::kFastest));
      }
    } catch (const Error& error) {
      if (by != ComputedBy::kFastest) throw;
      work_.clear();
      missing_ = error.what();
    }
    if (!work_.empty() && !file_.empty()) tables_.front()->load(file_);
  }

  /// Null: our kernels.
  Work* of(std::size_t gpu) const { return work_.empty() ? nullptr : work_[gpu].get(); }

  void save() const {
    if (!work_.empty() && !file_.empty()) tables_.front()->save(file_);
  }

  /// A GPU that hangs cannot be waited for.
  void abandon() {
    for (auto& work : work_) static_cast<void>(work.release());
  }

  /// Who answered; empty where nobody but our kernels was wanted.
  std::string description() const {
    if (!missing_.empty()) return name_ + ": own kernels (" + missing_ + ")";
    return work_.empty() ? "" : tables_.front()->summary();
  }

 private:
  std::string name_;
  std::string file_;
  std::vector<std::shared_ptr<DnnTable>> tables_;  ///< by GPU
  std::vector<std::unique_ptr<Work>> work_;        ///< by GPU; empty: our kernels
  std::string missing_;                            ///< why cuDNN is not there, where it was wanted
};

}  // namespace plumb::cuda
