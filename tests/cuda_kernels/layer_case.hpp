#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/network/network.hpp"

namespace plumb::kernels {

class AttentionUnits;
class ConvolutionUnits;

/// One layer with random data, to be run on the CPU and on the device.
struct LayerCase {
  LayerSpec spec;
  MicrobatchShape shape;
  std::vector<std::int64_t> earlier = {};  ///< lengths of the sequence slices before this one
  bool fuses_gelu = false;
  bool adds = false;  ///< the input grows by something first, and the input gradient at last
  /// Nothing that is given or kept begins at a multiple of 16 bytes. (Scratch does: it is a device's own.)
  bool misaligned = false;
  AttentionUnits* attention = nullptr;       ///< of the device
  ConvolutionUnits* convolutions = nullptr;  ///< likewise
};

/// By name: output, gradients, loss, what the slices before get.
using LayerResults = std::map<std::string, std::vector<double>>;

/// F, I and W by the CPU's layers in double.
LayerResults run_on_cpu(const LayerCase& of);
/// The same by CUDA's kernels, on memory that is NaN wherever nobody has written. Throws when a kernel leaves its
/// memory. The bits of everything that is kept between passes are there, too ("stash...").
template <class T>
LayerResults run_on_device(const LayerCase& of);

}  // namespace plumb::kernels
