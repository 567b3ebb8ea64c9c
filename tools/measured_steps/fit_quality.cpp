#include "tools/measured_steps/fit_quality.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

namespace plumb {
namespace {

constexpr double kSlopeStep = 0.02;      // of a logarithm
constexpr double kIdentified = 0.5;      // of the prior's width
constexpr double kLeastResidual = 0.01;  // measurements are no better than this
constexpr double kNearBound = 1e-3;      // of a logarithm

std::vector<FitConstant> chosen(const FitOptions& options) {
  return options.constants.empty() ? fit_constants() : fit_constants(options.constants);
}

Eigen::VectorXd logarithms(const std::vector<double>& values) {
  Eigen::VectorXd logs(static_cast<Eigen::Index>(values.size()));
  for (std::size_t k = 0; k < values.size(); ++k) logs(static_cast<Eigen::Index>(k)) = std::log(values[k]);
  return logs;
}

/// Returns, by row and constant, the change of ln(predicted) with the logarithm of the constant.
Eigen::MatrixXd slopes_at(const Predict& predict, const KernelRates& rates, const std::vector<FitConstant>& constants,
                          const Eigen::VectorXd& here) {
  Eigen::MatrixXd slopes(here.size(), static_cast<Eigen::Index>(constants.size()));
  for (std::size_t c = 0; c < constants.size(); ++c) {
    const FitConstant& constant = constants[c];
    const double value = std::clamp(constant.get(rates), constant.least, constant.most);
    const double step = value * (1 + kSlopeStep) > constant.most ? -kSlopeStep : kSlopeStep;
    KernelRates moved = rates;
    constant.set(moved, value * std::exp(step));
    slopes.col(static_cast<Eigen::Index>(c)) = (logarithms(predict(moved)) - here) / step;
  }
  return slopes;
}

}  // namespace

std::vector<ConstantEstimate> constant_estimates(const Predict& predict, const std::vector<double>& measured,
                                                 const KernelRates& rates, const FitOptions& options) {
  const std::vector<FitConstant> constants = chosen(options);
  const Eigen::VectorXd here = logarithms(predict(rates));
  const Eigen::MatrixXd slopes = slopes_at(predict, rates, constants, here);
  const Eigen::VectorXd residuals = here - logarithms(measured);
  const double noise = std::max(kLeastResidual, std::sqrt(residuals.squaredNorm() / static_cast<double>(here.size())));
  Eigen::MatrixXd precision = slopes.transpose() * slopes / (noise * noise);
  std::vector<double> widths;
  for (std::size_t c = 0; c < constants.size(); ++c) {
    widths.push_back(std::log(constants[c].most / constants[c].least) / 4);
    const auto at = static_cast<Eigen::Index>(c);
    precision(at, at) += 1 / (widths[c] * widths[c]);
  }
  const Eigen::MatrixXd covariance = precision.inverse();
  std::vector<ConstantEstimate> estimates;
  for (std::size_t c = 0; c < constants.size(); ++c) {
    const FitConstant& constant = constants[c];
    const auto at = static_cast<Eigen::Index>(c);
    const double deviation = std::sqrt(std::max(0.0, covariance(at, at)));
    const double value = constant.get(rates);
    const auto near = [&](double bound) { return std::abs(std::log(value / bound)) < kNearBound; };
    estimates.push_back({.constant = constant,
                         .value = value,
                         .factor = std::exp(deviation),
                         .identified = deviation < kIdentified * widths[c],
                         .at_bound = near(constant.least) || near(constant.most)});
  }
  return estimates;
}

IdentifiedFit identified_fit(const Predict& predict, const std::vector<double>& measured, const KernelRates& start,
                             const FitOptions& options) {
  IdentifiedFit fit;
  const KernelRates all = fitted_rates(predict, measured, start, options);
  fit.constants = constant_estimates(predict, measured, all, options);
  FitOptions identified = options;
  identified.constants.clear();
  for (const ConstantEstimate& estimate : fit.constants) {
    if (estimate.identified) identified.constants.push_back(estimate.constant.name);
  }
  fit.rates = identified.constants.empty() ? start : fitted_rates(predict, measured, start, identified);
  for (ConstantEstimate& estimate : fit.constants) {
    estimate.value = estimate.constant.get(fit.rates);
    const auto near = [&](double bound) { return std::abs(std::log(estimate.value / bound)) < kNearBound; };
    estimate.at_bound = estimate.identified && (near(estimate.constant.least) || near(estimate.constant.most));
  }
  return fit;
}

std::vector<double> left_out_predictions(const PredictRows& predict, const std::vector<double>& measured,
                                         const KernelRates& start, const FitOptions& options, std::size_t parts) {
  std::vector<double> predictions(measured.size());
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<std::size_t> out;
    std::vector<std::size_t> in;
    std::vector<double> in_measured;
    FitOptions of_in = options;
    of_in.weights.clear();
    for (std::size_t row = 0; row < measured.size(); ++row) {
      (row % parts == part ? out : in).push_back(row);
      if (row % parts == part) continue;
      in_measured.push_back(measured[row]);
      if (!options.weights.empty()) of_in.weights.push_back(options.weights[row]);
    }
    if (in.empty() || out.empty()) continue;
    const Predict predict_in = [&](const KernelRates& rates) { return predict(rates, in); };
    const KernelRates rates = fitted_rates(predict_in, in_measured, start, of_in);
    const std::vector<double> there = predict(rates, out);
    for (std::size_t k = 0; k < out.size(); ++k) predictions[out[k]] = there[k];
  }
  return predictions;
}

}  // namespace plumb
