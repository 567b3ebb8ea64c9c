# Makes the C++ source that holds the script of `device measure`. A literal is at most 64 KiB long, as compilers demand.
#   cmake -DINPUT=... -DOUTPUT=... -P device_script.cmake
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "// Generated from tools/examples/pytorch/.\n#include \"tools/devices/device_script.hpp\"\n\nnamespace plumb {\n\n"
     "const std::string_view kDeviceScript = R\"PLUMB_TEXT(" "${text}" ")PLUMB_TEXT\";\n\n}  // namespace plumb\n")
