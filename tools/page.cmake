# Inlines styles and scripts into the template of a page. With SYMBOL: a C++ source that holds the page, cut where the data
# goes. With DATA, a file: the page itself, with the text of that file as its data.
#   cmake -DPAGE_DIR=... -DOUTPUT=... -DSYMBOL=kPage -DSTYLES=a.css,... -DVENDOR_SCRIPTS=b.js,... -DVENDOR_LICENCES=b.LICENSE,... \
#         -DSCRIPTS=a.js,... [-DTEMPLATE=index.html] -P page.cmake
function(concatenate files out)
  set(text "")
  string(REPLACE "," ";" files "${files}")
  foreach(file IN LISTS files)
    file(READ "${PAGE_DIR}/${file}" part)
    string(APPEND text "${part}\n")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

concatenate("${STYLES}" styles)
concatenate("${VENDOR_SCRIPTS}" vendor)
concatenate("${VENDOR_LICENCES}" licences)
concatenate("${SCRIPTS}" scripts)
if(NOT TEMPLATE)
  set(TEMPLATE index.html)
endif()
file(READ "${PAGE_DIR}/${TEMPLATE}" page)
string(REPLACE "%STYLE%" "${styles}" page "${page}")
string(REPLACE "%SCRIPT%" "/*!\n${licences}*/\n${vendor}(() => {\n\"use strict\";\n${scripts}})();" page "${page}")
if(DATA)
  file(READ "${DATA}" data)
  string(REPLACE "%DATA%" "${data}" page "${page}")
  file(WRITE "${OUTPUT}" "${page}")
  return()
endif()
string(REPLACE "%DATA%" ")PLUMB_PAGE\";\nconst std::string_view ${SYMBOL}AfterData = R\"PLUMB_PAGE(" page "${page}")
file(WRITE "${OUTPUT}" "// Generated from tools/page/.\n#include \"tools/reports/report_page.hpp\"\n\nnamespace plumb {\n\n"
     "const std::string_view ${SYMBOL}BeforeData = R\"PLUMB_PAGE(" "${page}" ")PLUMB_PAGE\";\n\n}  // namespace plumb\n")
