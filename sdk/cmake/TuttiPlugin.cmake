# TuttiPlugin.cmake - what a module needs to be a plugin; for this tree and for those that find its SDK.

# tutti_plugin_manifest(<manifest> <folder>): the manifest in the plugin's folder; where there are any, check.json, a
# run in which `tutti plugins check` tries it, and published.json, what published models' config.json say in its settings.
function(tutti_plugin_manifest manifest folder)
  get_filename_component(manifest "${manifest}" ABSOLUTE)
  configure_file("${manifest}" "${folder}/plugin.json" COPYONLY
    FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ) # whatever the source has
  foreach(name check.json published.json)
    get_filename_component(file ${name} ABSOLUTE)
    if(EXISTS "${file}")
      configure_file("${file}" "${folder}/${name}" COPYONLY)
    endif()
  endforeach()
endfunction()

# tutti_plugin_module(<target> <name> <manifest> <folder>): <target>, a MODULE library, becomes <folder>/<name>.so
# with its manifest beside it.  It exports its entry function and what the manifest declares, whatever the
# compiler would: C++ puts weak symbols of templates into every library, and the host refuses those.
function(tutti_plugin_module target name manifest folder)
  get_filename_component(manifest "${manifest}" ABSOLUTE)
  file(READ "${manifest}" text)
  string(REGEX MATCHALL "\"symbol\"[ \t\r\n]*:[ \t\r\n]*\"[A-Za-z0-9_]+\"" pairs "${text}")
  set(symbols "tutti_plugin_v1;")
  foreach(pair IN LISTS pairs)
    string(REGEX REPLACE "^.*\"([A-Za-z0-9_]+)\"$" "\\1" symbol "${pair}")
    string(APPEND symbols " ${symbol};")
  endforeach()
  set(script "${CMAKE_CURRENT_BINARY_DIR}/${target}.map")
  file(CONFIGURE OUTPUT "${script}" @ONLY CONTENT "{ global: @symbols@ local: *; };\n")
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "${name}" LIBRARY_OUTPUT_DIRECTORY "${folder}"
    C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden LINK_DEPENDS "${script}")
  target_link_options(${target} PRIVATE -Wl,-z,now,-z,relro "-Wl,--version-script=${script}")
  tutti_plugin_manifest("${manifest}" "${folder}")
endfunction()

# tutti_cuda_architectures(<variable> <nvcc>): the compute capabilities that device code is for where nobody says
# otherwise: Ampere, Hopper, and Blackwell (100: data center, 120: workstation) where nvcc knows it, from CUDA 12.8 on.
function(tutti_cuda_architectures variable nvcc)
  execute_process(COMMAND "${nvcc}" --list-gpu-code OUTPUT_VARIABLE known COMMAND_ERROR_IS_FATAL ANY)
  set(architectures 80 90)
  foreach(sm 100 120)
    if(known MATCHES "sm_${sm}[\r\n]")
      list(APPEND architectures ${sm})
    endif()
  endforeach()
  set(${variable} ${architectures} PARENT_SCOPE)
endfunction()

# tutti_cuda_codes(<variable> <architectures>): nvcc's options for them.  Each has PTX: code of one major runs on no
# other, and the driver compiles PTX for a newer one.
function(tutti_cuda_codes variable architectures)
  set(codes "")
  foreach(sm IN LISTS architectures)
    list(APPEND codes -gencode arch=compute_${sm},code=sm_${sm} -gencode arch=compute_${sm},code=compute_${sm})
  endforeach()
  set(${variable} ${codes} PARENT_SCOPE)
endfunction()

# tutti_install_plugin(<target> <name> <manifest> [component]): where the installed program finds it; the component is
# `runtime` without one.
function(tutti_install_plugin target name manifest)
  list(APPEND ARGN runtime)
  list(GET ARGN 0 component)
  set(mode PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  install(TARGETS ${target} LIBRARY DESTINATION "lib/tutti/plugins/${name}" COMPONENT ${component} ${mode})
  install(FILES "${manifest}" DESTINATION "lib/tutti/plugins/${name}" RENAME plugin.json COMPONENT ${component} ${mode})
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/published.json")
    install(FILES published.json DESTINATION "lib/tutti/plugins/${name}" COMPONENT ${component} ${mode})
  endif()
endfunction()
