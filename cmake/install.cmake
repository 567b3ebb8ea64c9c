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

# Completions and the manual page, printed by the installed program.
install(CODE [[
  set(prefix "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}")
  foreach(words IN ITEMS "completion bash>share/bash-completion/completions/plumbline"
                         "completion zsh>share/zsh/site-functions/_plumbline" "manual>share/man/man1/plumbline.1")
    string(REPLACE ">" ";" parts "${words}")
    list(GET parts 0 command)
    list(GET parts 1 file)
    separate_arguments(command)
    cmake_path(GET file PARENT_PATH folder)
    file(MAKE_DIRECTORY "${prefix}/${folder}")
    execute_process(COMMAND "${prefix}/bin/plumbline" ${command} OUTPUT_FILE "${prefix}/${file}" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
]])
