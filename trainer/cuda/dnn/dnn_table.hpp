#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace plumb::cuda {

/// Who computes a kind of work, and why.
struct DnnChoice {
  bool own = true;  ///< our kernels; otherwise cuDNN
  std::string why;  ///< "4.1 times as fast", "differs from our kernels by 0.2"; not for decisions
};

/// What is tried before cuDNN is believed, on a stream that is not captured.
struct DnnTrial {
  /// Makes its plan. Why there is none; empty: there is one.
  std::function<std::string()> plan;
  /// Runs our kernels and the plan. How results differ beyond what bf16 explains; empty: they do not.
  std::function<std::string()> compare;
  /// Time of our kernels or of the plan in any unit; none: it was refused.
  std::function<std::optional<double>(bool own)> time;
};

/// Who computes which kinds of attention, or of convolutions, of a machine, decided once. A text file: a line that says
/// what the choices are about, and for which library and GPU, then a line `own key` or `cudnn key` for each (`text_of`
/// of an `AttentionKey` or a `ConvolutionKey`).
class DnnTable {
 public:
  /// `work`: "attention" or "convolutions"; `made_for`: "cuDNN 9.19.0, NVIDIA H200".
  DnnTable(std::string work, std::string made_for) : work_(std::move(work)), made_for_(std::move(made_for)) {}

  std::optional<DnnChoice> find(const std::string& key) const;
  void set(const std::string& key, DnnChoice choice);
  /// Who stands for this kind. Where nobody does yet: cuDNN if it has a plan whose results are right and, if
  /// `timed`, which is faster than our kernels; our kernels otherwise. Who was chosen stands from now on; a table that
  /// was read is believed in who is faster, not that there is a plan and that its results are right.
  DnnChoice choose(const std::string& key, bool timed, const DnnTrial& trial);
  /// "attention: cuDNN 9.19.0 for 4 of 6 kinds, own kernels for 2 (rows of 5 numbers; ...)", with each reason once;
  /// "attention: none in bf16" where nobody has asked.
  std::string summary() const;

  std::string text() const;
  /// Throws `Error` (with `name` and the line) for a text that is none, or that is for another library or GPU.
  void read(std::string_view text, const std::string& name);
  /// Loads a file, if there is one; `save` writes it when there is anything that it does not have.
  void load(const std::filesystem::path& path);
  void save(const std::filesystem::path& path);

 private:
  std::string head() const { return "plumbline " + work_ + ", " + made_for_; }

  std::string work_;
  std::string made_for_;
  std::map<std::string, DnnChoice> choices_;  ///< by key
  bool changed_ = false;                      ///< since it was read or saved
};

}  // namespace plumb::cuda
