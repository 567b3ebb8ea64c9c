# Makes the C++ source that holds the demo's text.
#   cmake -DINPUT=... -DOUTPUT=... -P demo_text.cmake
file(READ "${INPUT}" text)
file(WRITE "${OUTPUT}" "// Generated from tools/demo/.\n#include \"tools/training/demo_text.hpp\"\n\nnamespace plumb {\n\n"
     "const std::string_view kDemoText = R\"PLUMB_TEXT(" "${text}" ")PLUMB_TEXT\";\n\n}  // namespace plumb\n")
