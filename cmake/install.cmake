include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(plumb_libraries GLOBAL PROPERTY PLUMB_LIBRARIES)
install(TARGETS ${plumb_libraries} EXPORT plumbline-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/plumbline
        FILE_SET doorway DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(PLUMB_TRAINER)
  install(TARGETS plumbline RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
else()
  install(PROGRAMS $<TARGET_FILE:plumbline-simulator> DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME plumbline)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/build/web/tools/web/explorer.html DESTINATION ${CMAKE_INSTALL_DATADIR}/plumbline OPTIONAL)
install(EXPORT plumbline-targets NAMESPACE plumb:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plumbline)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/plumbline-config.cmake.in
                              ${PROJECT_BINARY_DIR}/plumbline-config.cmake
                              INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plumbline)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/plumbline-config-version.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/plumbline-config.cmake ${PROJECT_BINARY_DIR}/plumbline-config-version.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/plumbline)
