# Packages.cmake - Debian packages, one for each component: `cpack --config build/release/CPackConfig.cmake`.  With
# SOURCE_DATE_EPOCH set, or what a repository's last commit gives, the same bytes each time.
set(contact "the Tutti maintainers <maintainers@tutti.invalid>")
set(debian "${CMAKE_BINARY_DIR}/debian")

# What Debian wants of every package: its licence, and a changelog that says where the changes stand.
file(CONFIGURE OUTPUT "${debian}/changelog" @ONLY CONTENT
"tutti (@PROJECT_VERSION@) unstable; urgency=medium

  * The changes stand in /usr/share/doc/tutti/CHANGELOG.md.

 -- @contact@  Thu, 01 Jan 2026 00:00:00 +0000
")
execute_process(COMMAND gzip -9nkf "${debian}/changelog")
file(CONFIGURE OUTPUT "${debian}/copyright" @ONLY CONTENT
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: tutti

Files: *
Copyright: 2026 the Tutti authors
License: Apache-2.0
 On Debian systems the text of this licence is in /usr/share/common-licenses/Apache-2.0.
")
# Of the library, which others may link.
file(CONFIGURE OUTPUT "${debian}/shlibs" @ONLY CONTENT "libtutti 0 tutti (= @PROJECT_VERSION@)\n")
file(CONFIGURE OUTPUT "${debian}/triggers" @ONLY CONTENT "activate-noawait ldconfig\n")

set(CPACK_COMPONENTS_ALL)
# tutti_package(<component> <package> <section> <depends> <text of the description>)
macro(tutti_package component package section depends text)
  install(FILES "${debian}/copyright" "${debian}/changelog.gz" DESTINATION share/doc/${package} COMPONENT ${component})
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_STRICT_PERMISSION ON)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${text}")
endmacro()
set(same "tutti (= ${PROJECT_VERSION})")
tutti_package(runtime tutti science ""
  "Models, data sets, optimizers, training algorithms, metrics, callbacks and\nloggers are shared objects with a stable ABI. This package has the program,\nits plugins and the library for programs that embed it.")
tutti_package(sdk tutti-sdk libdevel "${same}"
  "What plugins are compiled with: headers, templates, schemas, files for CMake\nand pkg-config, bindings for Rust.")
set(CPACK_DEBIAN_SDK_PACKAGE_RECOMMENDS "build-essential, cmake, ninja-build, pkg-config, check, tutti-emulator")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "libjs-chart.js") # of `tutti report`
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA "${debian}/shlibs;${debian}/triggers")
if(TARGET plugin_mpi)
  tutti_package(mpi tutti-mpi science "${same}"
    "The plugin that connects the processes of one run by MPI.")
  set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
endif()
if(TARGET plugin_slack)
  tutti_package(http tutti-http science "${same}"
    "Loggers that send to servers by libcurl.")
  set(CPACK_DEBIAN_HTTP_PACKAGE_SHLIBDEPS ON)
endif()
if(TARGET standin_cudart)
  tutti_package(emulator tutti-emulator libdevel "${same}"
    "Device code of plugins is compiled for the CPU and run there, thread by thread:\na libcudart for their tests, and headers.")
  set(CPACK_DEBIAN_EMULATOR_PACKAGE_SHLIBDEPS ON)
endif()
if(TUTTI_CUDA)
  tutti_package(cuda tutti-cuda science "${same}"
    "What operations and plugins run on NVIDIA GPUs. Code of operations fits the\nprogram of the same build.")
endif()

set(CPACK_PACKAGE_CONTACT "${contact}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "training host whose parts are plugins")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
if(TUTTI_ISA_AT)
  message(STATUS "No packages of a build for ${TUTTI_ISA_AT} alone (TUTTI_ISA_ONLY)")
  file(REMOVE "${CMAKE_BINARY_DIR}/CPackConfig.cmake")
else()
  include(CPack)
endif()
