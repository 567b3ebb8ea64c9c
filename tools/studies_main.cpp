/// The program of the studies that fill folders of results/. It is not installed.
#include "tools/studies/studies.hpp"
#include "tools/terminal/run_main.hpp"

int main(int argc, char** argv) {
  return plumb::run_main([&] { return plumb::run_study({argv + 1, argv + argc}); });
}
