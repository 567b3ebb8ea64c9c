#pragma once

#include <cublasLt.h>

namespace plumb::cuda {

/// The functions of cuBLASLt that the trainer calls, by their names without "cublasLt".
struct LtLibrary {
#define PLUMB_LT_FUNCTIONS(apply)                                                                               \
  apply(Create) apply(Destroy) apply(GetStatusString) apply(GetVersion) apply(Matmul) apply(MatrixLayoutCreate) \
      apply(MatrixLayoutDestroy) apply(MatmulDescCreate) apply(MatmulDescDestroy) apply(MatmulDescSetAttribute) \
          apply(MatmulPreferenceCreate) apply(MatmulPreferenceDestroy) apply(MatmulPreferenceSetAttribute)      \
              apply(MatmulAlgoGetHeuristic) apply(MatmulAlgoConfigGetAttribute)
#define PLUMB_LT_MEMBER(name) decltype(&cublasLt##name) name = nullptr;
  PLUMB_LT_FUNCTIONS(PLUMB_LT_MEMBER)
#undef PLUMB_LT_MEMBER
};

/// Loaded when first asked for, so that the program starts where there is no cuBLASLt. Throws Error when it is missing.
const LtLibrary& lt();

}  // namespace plumb::cuda
