#pragma once

#include <cmath>
#include <variant>

// The vector operations of corrections: what a back end applies to every number of blocks that are as large as a
// stage's weights. Each says how many blocks it works on and which of them it writes. The coefficients of an operation
// are the same for the whole block, but for the weight decay, which some parameters do not have. `constexpr` lets
// CUDA's compiler take them for the device, too.

namespace plumb {

/// a = x b + y c
struct Combine {
  static constexpr int kBlocks = 3;
  double x = 1;
  double y = 0;
  template <class T>
  constexpr void operator()(bool, T& a, const T& b, const T& c) const {
    a = static_cast<T>(x) * b + static_cast<T>(y) * c;
  }
};

/// a = shrink b - rate m / (sqrt(scale s) + epsilon)
struct AdamStep {
  static constexpr int kBlocks = 4;
  double rate = 0;
  double scale = 1;
  double epsilon = 0;
  double shrink = 1;  ///< factor of numbers that decay
  template <class T>
  constexpr void operator()(bool decayed, T& a, const T& b, const T& m, const T& s) const {
    const T kept = decayed ? static_cast<T>(shrink) * b : b;
    a = kept - static_cast<T>(rate) * m / (std::sqrt(static_cast<T>(scale) * s) + static_cast<T>(epsilon));
  }
};

/// g += strength g g (w - f) / divisor. Adaptive: e <- keep e + (1 - keep) (scale g)^2 first, divisor sqrt(e +
/// epsilon); otherwise e is not there and the divisor 1.
struct CompensateDelay {
  static constexpr int kBlocks = 3;
  double strength = 0;
  template <class T>
  constexpr void operator()(bool, T& g, const T& w, const T& f) const {
    g += static_cast<T>(strength) * g * g * (w - f);
  }
};
struct CompensateDelayAdaptively {
  static constexpr int kBlocks = 4;
  double strength = 0;
  double scale = 1;
  double keep = 0;
  double epsilon = 0;
  template <class T>
  constexpr void operator()(bool, T& g, const T& w, const T& f, T& e) const {
    const T mean = static_cast<T>(scale) * g;
    e = static_cast<T>(keep) * e + static_cast<T>(1 - keep) * mean * mean;
    g += static_cast<T>(strength) / std::sqrt(e + static_cast<T>(epsilon)) * g * g * (w - f);
  }
};

/// p = 1 + |w - f| / (rate (sqrt(r_scale r) + epsilon));  g <- g / p + decay w (1 - p) / p
struct PunishGap {
  static constexpr int kBlocks = 4;
  double rate = 1;
  double r_scale = 1;
  double epsilon = 0;
  double decay = 0;  ///< decay of the numbers that decay
  template <class T>
  constexpr void operator()(bool decayed, T& g, const T& w, const T& f, const T& r) const {
    const T step = static_cast<T>(rate) * (std::sqrt(static_cast<T>(r_scale) * r) + static_cast<T>(epsilon));
    const T p = T(1) + std::abs(w - f) / step;
    g = g / p;
    if (decayed) g += static_cast<T>(decay) * w * (T(1) - p) / p;
  }
};

/// r <- keep r + (1 - keep) v v
struct MeanSquare {
  static constexpr int kBlocks = 2;
  double keep = 0;
  template <class T>
  constexpr void operator()(bool, T& r, const T& v) const {
    r = static_cast<T>(keep) * r + static_cast<T>(1 - keep) * v * v;
  }
};

/// Both give way: d = a (w - c);  w <- w - d;  c <- c + d
struct PullTogether {
  static constexpr int kBlocks = 2;
  double a = 0;
  template <class T>
  constexpr void operator()(bool, T& w, T& c) const {
    const T d = static_cast<T>(a) * (w - c);
    w -= d;
    c += d;
  }
};

using Elementwise =
    std::variant<Combine, AdamStep, CompensateDelay, CompensateDelayAdaptively, PunishGap, MeanSquare, PullTogether>;

}  // namespace plumb
