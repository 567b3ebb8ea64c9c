# The report formats of plumb_tools, and the page that is inlined into them. Included by CMakeLists.txt.
target_sources(plumb_tools PRIVATE
  page_data.cpp
  picture.cpp
  report_csv.cpp
  report_html.cpp
  report_svg.cpp
  report_trace.cpp
  reports.cpp
  ${CMAKE_CURRENT_BINARY_DIR}/report_page.cpp)

set(page_styles vendor/uplot.css page.css)
set(page_vendor vendor/uplot.js)
set(page_licences vendor/uplot.LICENSE)
set(page_scripts
  dom.js quantities.js data.js
  timeline_layout.js timeline_paint.js timeline_dense.js timeline_overlay.js timeline_tip.js overview.js timeline_view.js
  memory_view.js idle_view.js delays_view.js peak_view.js comparison_view.js summary_view.js main.js)
set(page_files ${page_styles} ${page_vendor} ${page_licences} ${page_scripts} index.html)
list(TRANSFORM page_files PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/page/)
list(JOIN page_styles "," page_styles)
list(JOIN page_vendor "," page_vendor)
list(JOIN page_licences "," page_licences)
list(JOIN page_scripts "," page_scripts)
add_custom_command(
  OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/report_page.cpp
  COMMAND ${CMAKE_COMMAND} -DPAGE_DIR=${CMAKE_CURRENT_SOURCE_DIR}/page
          -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/report_page.cpp
          -DSTYLES=${page_styles} -DVENDOR_SCRIPTS=${page_vendor}
          -DVENDOR_LICENCES=${page_licences} -DSCRIPTS=${page_scripts}
          -P ${CMAKE_CURRENT_SOURCE_DIR}/page.cmake
  DEPENDS ${page_files} ${CMAKE_CURRENT_SOURCE_DIR}/page.cmake
  COMMENT "Inlining the report page"
  VERBATIM)
