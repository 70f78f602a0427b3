# Install.cmake - what is installed where.  Components: runtime (program, plugins, recipes, manuals), sdk (headers,
# template, libtutti's headers, CMake and pkg-config), emulator (a CUDA device on the CPU), cuda (device code of operations and plugins), mpi (the plugin that needs MPI).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Modes of their own, whatever the sources and the umask have.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)
set(file_mode FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)

install(TARGETS tutti RUNTIME DESTINATION bin COMPONENT runtime)
install(DIRECTORY host/recipes DESTINATION share/tutti COMPONENT runtime ${file_mode} PATTERN "*.json")
install(DIRECTORY host/report/page/ DESTINATION share/tutti/report COMPONENT runtime ${file_mode}
  PATTERN README.md EXCLUDE)
install(FILES README.md CHANGELOG.md DESTINATION share/doc/tutti COMPONENT runtime)
install(DIRECTORY "${CMAKE_BINARY_DIR}/share/man.gz/" DESTINATION share/man COMPONENT runtime ${file_mode})
install(FILES host/cli/docs/completion/tutti.bash DESTINATION share/bash-completion/completions RENAME tutti COMPONENT runtime)
install(FILES host/cli/docs/completion/_tutti DESTINATION share/zsh/site-functions COMPONENT runtime)

install(TARGETS tutti_host LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT sdk)
install(DIRECTORY host/include/tutti_host DESTINATION include COMPONENT sdk ${file_mode} PATTERN README.md EXCLUDE)
install(DIRECTORY host/examples DESTINATION share/tutti COMPONENT sdk ${file_mode})

install(DIRECTORY sdk/include/tutti DESTINATION include COMPONENT sdk ${file_mode} PATTERN README.md EXCLUDE)
install(DIRECTORY sdk/schema sdk/template sdk/template_cuda DESTINATION share/tutti COMPONENT sdk ${file_mode}
  PATTERN CMakeLists.txt EXCLUDE PATTERN "*_test.c" EXCLUDE PATTERN "*.py" EXCLUDE REGEX "schema/README" EXCLUDE)
# What `tutti plugins new` copies, what tests of plugins include, bindings for Rust, the version script for C++.
install(DIRECTORY sdk/templates DESTINATION share/tutti COMPONENT sdk ${file_mode})
set(template_files template/plugin.c template/plugin.json template/input_noise_test.c)
set(template_cuda_files template_cuda/plugin.c template_cuda/plugin.json template_cuda/kernels.cu template_cuda/pull.h)
list(TRANSFORM template_files PREPEND sdk/)
list(TRANSFORM template_cuda_files PREPEND sdk/)
install(FILES ${template_files} DESTINATION share/tutti/templates/c/algorithm COMPONENT sdk)
install(FILES ${template_cuda_files} DESTINATION share/tutti/templates/cuda/algorithm COMPONENT sdk)
# The same beside the program of the build, with the recipes.
set(beside "${CMAKE_BINARY_DIR}/share/tutti")
file(REMOVE_RECURSE "${beside}/templates")
file(COPY sdk/templates DESTINATION "${beside}")
file(COPY ${template_files} DESTINATION "${beside}/templates/c/algorithm")
file(COPY ${template_cuda_files} DESTINATION "${beside}/templates/cuda/algorithm")
file(COPY host/recipes DESTINATION "${beside}" FILES_MATCHING PATTERN "*.json")
# Links, so that a change of the page is in the next report.
file(GLOB page_files CONFIGURE_DEPENDS host/report/page/*)
list(FILTER page_files EXCLUDE REGEX "README\\.md$")
file(MAKE_DIRECTORY "${beside}/report")
foreach(file IN LISTS page_files)
  get_filename_component(name "${file}" NAME)
  file(CREATE_LINK "${file}" "${beside}/report/${name}" SYMBOLIC)
endforeach()
install(FILES tests/include/settings_check.h tests/include/plugin_check.h tests/include/tutti_check.h DESTINATION include/tutti_test COMPONENT sdk)
install(DIRECTORY sdk/rust/src DESTINATION share/tutti/rust COMPONENT sdk ${file_mode})
install(FILES sdk/rust/Cargo.toml DESTINATION share/tutti/rust COMPONENT sdk)
install(FILES sdk/cmake/tutti_plugin.map DESTINATION share/tutti COMPONENT sdk)
set(package_dir share/cmake/Tutti)
configure_package_config_file(sdk/cmake/TuttiConfig.cmake.in "${CMAKE_BINARY_DIR}/sdk/TuttiConfig.cmake"
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/sdk/TuttiConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES "${CMAKE_BINARY_DIR}/sdk/TuttiConfig.cmake" "${CMAKE_BINARY_DIR}/sdk/TuttiConfigVersion.cmake"
  sdk/cmake/TuttiPlugin.cmake DESTINATION ${package_dir} COMPONENT sdk)
install(FILES tools/cmake/Isa.cmake RENAME TuttiIsa.cmake DESTINATION ${package_dir} COMPONENT sdk)
configure_file(sdk/cmake/tutti-sdk.pc.in "${CMAKE_BINARY_DIR}/sdk/tutti-sdk.pc" @ONLY)
configure_file(sdk/cmake/tutti.pc.in "${CMAKE_BINARY_DIR}/sdk/tutti.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/sdk/tutti-sdk.pc" "${CMAKE_BINARY_DIR}/sdk/tutti.pc" DESTINATION share/pkgconfig
  COMPONENT sdk)
