# The pages that are inlined into the library of reports. Included by CMakeLists.txt.

# Inlines the frame, styles and scripts of a page into `<name>_page.cpp`, which defines `<symbol>BeforeData` and
# `<symbol>AfterData`.
function(inline_page name symbol)
  set(styles vendor/uplot.css page.css)
  set(vendor vendor/uplot.js)
  set(licences vendor/uplot.LICENSE)
  set(scripts ${ARGN})
  set(files ${styles} ${vendor} ${licences} ${scripts} index.html)
  list(TRANSFORM files PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/page/)
  list(JOIN scripts "," scripts)
  list(JOIN styles "," styles)
  add_custom_command(
    OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}_page.cpp
    COMMAND ${CMAKE_COMMAND} -DPAGE_DIR=${CMAKE_CURRENT_SOURCE_DIR}/page
            -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${name}_page.cpp -DSYMBOL=${symbol}
            -DSTYLES=${styles} -DVENDOR_SCRIPTS=${vendor}
            -DVENDOR_LICENCES=${licences} -DSCRIPTS=${scripts}
            -P ${CMAKE_CURRENT_SOURCE_DIR}/page.cmake
    DEPENDS ${files} ${CMAKE_CURRENT_SOURCE_DIR}/page.cmake
    COMMENT "Inlining the ${name} page"
    VERBATIM)
endfunction()

inline_page(report kPage
  dom.js quantities.js frame.js data.js
  timeline_layout.js timeline_paint.js timeline_dense.js timeline_overlay.js timeline_tip.js overview.js timeline_view.js take_away.js
  memory_view.js idle_view.js delays_view.js peak_view.js split_view.js comparison_view.js advice_view.js summary_view.js main.js)
inline_page(plots kPlotsPage dom.js quantities.js frame.js plot_view.js plots_main.js)
