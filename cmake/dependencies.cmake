if(PLUMB_WEB)
  enable_language(C)
  include(tools/web/dependencies.cmake)
  return()
endif()
# Each dependency has one home (see the README of the folder that uses it).
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)  # Graph is header-only where we use it
find_package(TBB REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(ZLIB REQUIRED)  # traces are packed
find_package(SQLite3 REQUIRED)  # what Nsight Systems exports
find_package(yaml-cpp 0.7 REQUIRED)  # launch configurations, with toml++
find_package(tomlplusplus 3.3 REQUIRED)
find_package(Threads REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)  # fits, the trainer
if(PLUMB_TESTS)
  find_package(doctest REQUIRED)
endif()
if(PLUMB_BENCH)
  find_package(benchmark REQUIRED)
endif()
if(PLUMB_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
endif()
if(PLUMB_CUDA)
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90)
  endif()
  enable_language(CUDA)
  if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 cannot spell it for newer compilers
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  endif()
  find_package(CUDAToolkit REQUIRED)
endif()
