#include "tools/measured_steps/rates_fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>
#include <utility>

#include <Eigen/Dense>

#include "models/ground/error.hpp"

namespace plumb {
namespace {

/// Constants that are entries of an array: kinds of movement that share one value, passes of a product.
template <auto field, std::size_t first, std::size_t... more>
FitConstant shared(std::string_view name, double least, double most) {
  return {name, [](const KernelRates& rates) { return (rates.*field)[first]; },
          [](KernelRates& rates, double value) {
            for (const std::size_t entry : {first, more...}) (rates.*field)[entry] = value;
          },
          least, most};
}

template <Movement... movements>
FitConstant moving(std::string_view name, double least, double most) {
  return shared<&KernelRates::memory_shares, static_cast<std::size_t>(movements)...>(name, least, most);
}

template <ProductPass pass>
FitConstant product(std::string_view name, double least, double most) {
  return shared<&KernelRates::gemm_by_pass, static_cast<std::size_t>(pass)>(name, least, most);
}

template <auto field>
FitConstant constant(std::string_view name, double least, double most) {
  return {name, [](const KernelRates& rates) { return static_cast<double>(rates.*field); },
          [](KernelRates& rates, double value) {
            rates.*field = static_cast<std::remove_reference_t<decltype(rates.*field)>>(value);
          },
          least, most};
}

constexpr double kStep = 0.02;  // of a logarithm, for derivatives

using Constants = std::vector<FitConstant>;

std::vector<double> logs_of(const Constants& constants, const KernelRates& rates) {
  std::vector<double> logs;
  for (const FitConstant& constant : constants) {
    logs.push_back(std::log(std::clamp(constant.get(rates), constant.least, constant.most)));
  }
  return logs;
}

KernelRates with_logs(const Constants& constants, KernelRates rates, const std::vector<double>& logs) {
  for (std::size_t c = 0; c < logs.size(); ++c) {
    const FitConstant& constant = constants[c];
    constant.set(rates, std::clamp(std::exp(logs[c]), constant.least, constant.most));
  }
  return rates;
}

/// Residuals ln(predicted / measured) of the rows, then ln(constant / start) of the constants, and how much each
/// counts.
class Residuals {
 public:
  Residuals(const Predict& predict, const std::vector<double>& measured, const FitOptions& options,
            const Constants& constants, const KernelRates& start)
      : predict_(predict),
        measured_(measured),
        options_(options),
        constants_(constants),
        start_(logs_of(constants, start)) {}

  Eigen::VectorXd of(const KernelRates& rates) const {
    const std::vector<double> predicted = predict_(rates);
    Eigen::VectorXd residuals(static_cast<Eigen::Index>(predicted.size() + constants_.size()));
    Eigen::Index at = 0;
    for (std::size_t k = 0; k < predicted.size(); ++k) residuals(at++) = std::log(predicted[k] / measured_[k]);
    const std::vector<double> logs = logs_of(constants_, rates);
    for (std::size_t c = 0; c < logs.size(); ++c) residuals(at++) = logs[c] - start_[c];
    return residuals;
  }

  Eigen::VectorXd weights(const Eigen::VectorXd& residuals) const {
    Eigen::VectorXd weights = residuals;
    for (Eigen::Index k = 0; k < weights.size(); ++k) {
      weights(k) = given(static_cast<std::size_t>(k)) *
                   std::min(1.0, options_.outlier / std::max(1e-12, std::abs(residuals(k))));
    }
    return weights;
  }

  double loss(const Eigen::VectorXd& residuals) const {
    double sum = 0;
    for (Eigen::Index k = 0; k < residuals.size(); ++k) {
      const double size = std::abs(residuals(k));
      const double out = options_.outlier;
      sum += given(static_cast<std::size_t>(k)) * (size <= out ? size * size / 2 : out * (size - out / 2));
    }
    return sum;
  }

 private:
  double given(std::size_t k) const {
    if (k >= measured_.size()) return options_.pull;
    return options_.weights.empty() ? 1 : options_.weights[k];
  }

  const Predict& predict_;
  const std::vector<double>& measured_;
  const FitOptions& options_;
  const Constants& constants_;
  std::vector<double> start_;
};

/// Levenberg-Marquardt: where it stands, and how far it trusts the slopes.
class Descent {
 public:
  Descent(const Residuals& residuals, const Constants& constants, const KernelRates& start)
      : residuals_(residuals), constants_(constants), start_(start), logs_(logs_of(constants, start)) {
    at_ = residuals_.of(rates());
    loss_ = residuals_.loss(at_);
  }

  KernelRates rates() const { return with_logs(constants_, start_, logs_); }

  /// One step downhill; false when there is none, or it is too small to matter.
  bool step() {
    const Eigen::MatrixXd slopes = jacobian();
    const Eigen::VectorXd weights = residuals_.weights(at_);
    const Eigen::MatrixXd normal = slopes.transpose() * weights.asDiagonal() * slopes;
    const Eigen::VectorXd downhill = -(slopes.transpose() * weights.asDiagonal() * at_);
    for (; damping_ < kMostDamping; damping_ *= 4) {
      Eigen::MatrixXd damped = normal;
      damped.diagonal() += damping_ * (normal.diagonal().array() + 1e-6).matrix();
      const std::vector<double> tried = moved(damped.ldlt().solve(downhill));
      Eigen::VectorXd there = residuals_.of(with_logs(constants_, start_, tried));
      const double loss = residuals_.loss(there);
      if (!(loss < loss_)) continue;
      const bool matters = loss_ - loss > 1e-6 * loss_;
      logs_ = tried;
      at_ = std::move(there);
      loss_ = loss;
      damping_ *= 0.3;
      return matters;
    }
    return false;
  }

 private:
  static constexpr double kMostDamping = 1e6;

  Eigen::MatrixXd jacobian() const {
    Eigen::MatrixXd slopes(at_.size(), static_cast<Eigen::Index>(logs_.size()));
    for (std::size_t c = 0; c < logs_.size(); ++c) {
      std::vector<double> there = logs_;
      // Away from an upper bound, where a step would change nothing.
      const double step = std::exp(logs_[c]) * (1 + kStep) > constants_[c].most ? -kStep : kStep;
      there[c] += step;
      slopes.col(static_cast<Eigen::Index>(c)) = (residuals_.of(with_logs(constants_, start_, there)) - at_) / step;
    }
    return slopes;
  }

  std::vector<double> moved(const Eigen::VectorXd& by) const {
    std::vector<double> logs = logs_;
    for (std::size_t c = 0; c < logs.size(); ++c) {
      const double there = logs[c] + std::clamp(by(static_cast<Eigen::Index>(c)), -1.0, 1.0);
      logs[c] = std::clamp(there, std::log(constants_[c].least), std::log(constants_[c].most));
    }
    return logs;
  }

  const Residuals& residuals_;
  const Constants& constants_;
  KernelRates start_;
  std::vector<double> logs_;
  Eigen::VectorXd at_;
  double loss_ = 0;
  double damping_ = 1e-2;
};

}  // namespace

const std::vector<FitConstant>& fit_constants() {
  static const std::vector<FitConstant> kConstants{
      constant<&KernelRates::gemm_efficiency>("gemm_efficiency", 0.4, 0.9),
      product<ProductPass::kInputGrad>("gemm_input_grad", 0.9, 1.1),
      product<ProductPass::kWeightGrad>("gemm_weight_grad", 0.9, 1.1),
      constant<&KernelRates::gemm_half_k>("gemm_half_k", 1, 400),
      constant<&KernelRates::attention_forward>("attention_forward", 0.3, 0.8),
      constant<&KernelRates::attention_backward>("attention_backward", 0.3, 0.8),
      moving<Movement::kElementwise, Movement::kNorm, Movement::kOptimizer, Movement::kCast>("memory", 0.4, 0.9),
      moving<Movement::kSoftmax>("memory_softmax", 0.4, 0.9),
      moving<Movement::kLoss>("memory_loss", 0.25, 0.9),
      moving<Movement::kPermute>("memory_permute", 0.15, 0.9),
      moving<Movement::kDropout>("memory_dropout", 0.2, 0.9),
      constant<&KernelRates::inside_share>("inside_share", 0.4, 1.5),
      constant<&KernelRates::between_share>("between_share", 0.4, 1.1),
      constant<&KernelRates::kernel_ns>("kernel_ns", 500, 10'000),
      constant<&KernelRates::host_ns>("host_ns", 2000, 100'000),
      constant<&KernelRates::collective_ns>("collective_ns", 1000, 60'000),
      constant<&KernelRates::update_ns>("update_ns", 100'000, 30'000'000),
  };
  return kConstants;
}

std::vector<std::string_view> constants_at_bounds(const KernelRates& rates) {
  constexpr double kNear = 1e-3;
  std::vector<std::string_view> at_bounds;
  for (const FitConstant& constant : fit_constants()) {
    const double value = constant.get(rates);
    if (value <= constant.least * (1 + kNear) || value >= constant.most * (1 - kNear))
      at_bounds.push_back(constant.name);
  }
  return at_bounds;
}

std::vector<FitConstant> fit_constants(const std::vector<std::string_view>& names) {
  std::vector<std::string_view> known;
  for (const FitConstant& constant : fit_constants()) known.push_back(constant.name);
  std::vector<FitConstant> chosen;
  for (const std::string_view name : names) {
    const auto at = std::ranges::find(known, name);
    if (at == known.end()) throw_unknown("constant", name, known);
    chosen.push_back(fit_constants()[static_cast<std::size_t>(at - known.begin())]);
  }
  return chosen;
}

KernelRates fitted_rates(const Predict& predict, const std::vector<double>& measured, const KernelRates& start,
                         const FitOptions& options) {
  const Constants constants = options.constants.empty() ? fit_constants() : fit_constants(options.constants);
  const Residuals residuals(predict, measured, options, constants, start);
  Descent descent(residuals, constants, start);
  for (int round = 0; round < options.rounds && descent.step(); ++round) {
  }
  return descent.rates();
}

}  // namespace plumb
