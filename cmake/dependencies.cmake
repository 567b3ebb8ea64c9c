# Each dependency has one home (see the README of the folder that uses it).
find_package(Boost 1.74 REQUIRED COMPONENTS program_options)  # Graph is header-only where we use it
find_package(TBB REQUIRED)
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(Threads REQUIRED)
if(PLUMB_TESTS)
  find_package(doctest REQUIRED)
endif()
if(PLUMB_BENCH)
  find_package(benchmark REQUIRED)
endif()
