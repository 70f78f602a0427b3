# Install.cmake - what is installed where.  Components: runtime (program, plugins, recipes), sdk (headers, template,
# libtutti's headers, CMake and pkg-config), cuda (device code of plugins).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Modes of their own, whatever the sources and the umask have.
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)
set(file_mode FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)

install(TARGETS tutti RUNTIME DESTINATION bin COMPONENT runtime)
install(DIRECTORY host/recipes DESTINATION share/tutti COMPONENT runtime ${file_mode} PATTERN "*.json")
install(FILES README.md CHANGELOG.md DESTINATION share/doc/tutti COMPONENT runtime)
install(DIRECTORY "${CMAKE_BINARY_DIR}/share/man/" DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT runtime ${file_mode})
install(FILES host/cli/completion/tutti.bash DESTINATION share/bash-completion/completions RENAME tutti COMPONENT runtime)
install(FILES host/cli/completion/_tutti DESTINATION share/zsh/site-functions COMPONENT runtime)

install(TARGETS tutti_host LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT sdk)
install(DIRECTORY host/include/tutti_host DESTINATION include COMPONENT sdk ${file_mode})
install(DIRECTORY host/examples DESTINATION share/tutti COMPONENT sdk ${file_mode})

install(DIRECTORY sdk/include/tutti DESTINATION include COMPONENT sdk ${file_mode})
install(DIRECTORY sdk/schema sdk/template sdk/template_cuda DESTINATION share/tutti COMPONENT sdk ${file_mode}
  PATTERN CMakeLists.txt EXCLUDE PATTERN "*_test.c" EXCLUDE PATTERN "*.py" EXCLUDE)
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
install(FILES tests/include/plugin_check.h tests/include/tutti_check.h DESTINATION include/tutti_test COMPONENT sdk)
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
configure_file(sdk/cmake/tutti-sdk.pc.in "${CMAKE_BINARY_DIR}/sdk/tutti-sdk.pc" @ONLY)
configure_file(sdk/cmake/tutti.pc.in "${CMAKE_BINARY_DIR}/sdk/tutti.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/sdk/tutti-sdk.pc" "${CMAKE_BINARY_DIR}/sdk/tutti.pc" DESTINATION share/pkgconfig
  COMPONENT sdk)

# What Debian wants of every package: its licence, and a changelog that says where the changes stand.
file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/debian/changelog" @ONLY CONTENT
"tutti (@PROJECT_VERSION@) unstable; urgency=medium

  * The changes stand in /usr/share/doc/tutti/CHANGELOG.md.

 -- the Tutti maintainers <tutti@localhost>  Thu, 01 Jan 2026 00:00:00 +0000
")
execute_process(COMMAND gzip -9nkf "${CMAKE_BINARY_DIR}/debian/changelog")
foreach(pair "runtime tutti" "sdk tutti-sdk" "cuda tutti-cuda")
  separate_arguments(pair UNIX_COMMAND "${pair}")
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES LICENSE DESTINATION share/doc/${package} RENAME copyright COMPONENT ${component})
  install(FILES "${CMAKE_BINARY_DIR}/debian/changelog.gz" DESTINATION share/doc/${package} COMPONENT ${component})
endforeach()

# Debian packages: `cpack --config build/release/CPackConfig.cmake`; with SOURCE_DATE_EPOCH set the same bytes each time.
set(CPACK_PACKAGE_CONTACT "the Tutti maintainers <tutti@localhost>")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL runtime sdk)
if(TUTTI_CUDA)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME tutti)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_GENERATE_SHLIBS_POLICY "=")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "training host with plugins\n Tutti trains neural networks with models, data sets, optimizers and algorithms\n that are shared objects with a stable ABI.")
set(CPACK_DEBIAN_SDK_PACKAGE_NAME tutti-sdk)
set(CPACK_DEBIAN_SDK_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_SDK_PACKAGE_DEPENDS "tutti (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_SDK_DESCRIPTION "headers and templates for plugins of Tutti\n What third parties compile plugins with, and programs that embed the host.")
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME tutti-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "tutti (= ${PROJECT_VERSION})")
set(CPACK_COMPONENT_CUDA_DESCRIPTION "device code of Tutti's plugins for NVIDIA GPUs\n What the plugins run on a GPU.")
include(CPack)
