// A stand-in for the driver's library under its name: kernels that are compiled can be loaded, and nothing runs. For
// cuDNN, which looks these functions up by name when it makes a plan for a GPU that is only described. It says that
// there is no device (100), as the driver does without one, so that nobody asks it for more.
#include <cstdio>

namespace {

constexpr int kNoDevice = 100;
char kernel_name[512];
int loaded = 0;

}  // namespace

extern "C" {

/// The kernel that was asked for last, and how many modules were loaded.
const char* plumb_fake_kernel() { return kernel_name; }
int plumb_fake_loaded() { return loaded; }

int cuInit(unsigned int) { return kNoDevice; }
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
int cuLibraryLoadData(void** library, const void*, void*, void**, unsigned int, void*, void**, unsigned int) {
  *library = &loaded;
  ++loaded;
  return 0;
}
int cuLibraryGetKernel(void** kernel, void* library, const char* name) {
  *kernel = library;
  std::snprintf(kernel_name, sizeof(kernel_name), "%s", name);
  return 0;
}
int cuKernelGetFunction(void** function, void* kernel) {
  *function = kernel;
  return 0;
}
int cuModuleLoadData(void** module, const void*) {
  *module = &loaded;
  ++loaded;
  return 0;
}
int cuModuleLoadDataEx(void** module, const void* image, unsigned int, void*, void*) {
  return cuModuleLoadData(module, image);
}
int cuModuleGetFunction(void** function, void* module, const char*) {
  *function = module;
  return 0;
}
int cuKernelGetAttribute(int* value, int, void*, int) {
  *value = 0;
  return 0;
}
int cuFuncGetAttribute(int* value, int, void*) {
  *value = 0;
  return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, unsigned long) {
  *blocks = 1;
  return 0;
}
int cuOccupancyMaxActiveClusters(int* clusters, void*, const void*) {
  *clusters = 1;
  return 0;
}

// Looked up, and not called until something runs.
#define PLUMB_FAKE_CALL(name) \
  int name() { return 0; }
PLUMB_FAKE_CALL(cuLibraryUnload)
PLUMB_FAKE_CALL(cuLibraryLoadFromFile)
PLUMB_FAKE_CALL(cuLibraryGetModule)
PLUMB_FAKE_CALL(cuKernelSetAttribute)
PLUMB_FAKE_CALL(cuFuncSetAttribute)
PLUMB_FAKE_CALL(cuModuleUnload)
PLUMB_FAKE_CALL(cuModuleGetGlobal)
PLUMB_FAKE_CALL(cuOccupancyMaxPotentialClusterSize)
PLUMB_FAKE_CALL(cuGetErrorString)
PLUMB_FAKE_CALL(cuGetErrorName)
PLUMB_FAKE_CALL(cuLaunchKernel)
PLUMB_FAKE_CALL(cuLaunchKernelEx)
PLUMB_FAKE_CALL(cuLaunchCooperativeKernel)
PLUMB_FAKE_CALL(cuTensorMapEncodeTiled)
PLUMB_FAKE_CALL(cuTensorMapEncodeIm2col)
PLUMB_FAKE_CALL(cuTensorMapReplaceAddress)
PLUMB_FAKE_CALL(cuDeviceGet)
PLUMB_FAKE_CALL(cuDeviceGetAttribute)
PLUMB_FAKE_CALL(cuCtxGetCurrent)
PLUMB_FAKE_CALL(cuCtxGetDevice)
PLUMB_FAKE_CALL(cuCtxGetLimit)
PLUMB_FAKE_CALL(cuCtxPopCurrent)
PLUMB_FAKE_CALL(cuCtxPushCurrent)
PLUMB_FAKE_CALL(cuCtxSynchronize)
PLUMB_FAKE_CALL(cuStreamGetCtx)
PLUMB_FAKE_CALL(cuStreamIsCapturing)
PLUMB_FAKE_CALL(cuLinkCreate)
PLUMB_FAKE_CALL(cuLinkAddData)
PLUMB_FAKE_CALL(cuLinkComplete)
PLUMB_FAKE_CALL(cuLinkDestroy)
PLUMB_FAKE_CALL(cuMemcpyHtoD)
PLUMB_FAKE_CALL(cuPointerGetAttribute)
#undef PLUMB_FAKE_CALL
}
