#!/bin/sh
# SPDX-License-Identifier: MIT
# `make package`: the runtime as Zephyr module, ESP-IDF component, Arduino and PlatformIO library in one folder.
# Manifests parse and name one version and files that exist; both CMake files run on stand-ins of their systems' functions,
# with the operators of one network.
python3 -c 'import yaml' 2>/dev/null && command -v cmake >/dev/null || { echo "no cmake or python3-yaml"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
${MAKE:-make} -s package BUILD="$work" || exit 1
pith=$work/package/pith
python3 - "$pith" <<'END' || exit 1
import json, os, re, sys, yaml
os.chdir(sys.argv[1])
idf = yaml.safe_load(open('idf_component.yml'))
build = yaml.safe_load(open('zephyr/module.yml'))['build']
platformio = json.load(open('library.json'))
arduino = dict(line.rstrip('\n').split('=', 1) for line in open('library.properties'))
header = open('src/pith_runtime.h').read()
version = '.'.join(re.findall(r'#define PITH_VERSION_\w+ (\d+)', header))
assert {idf['version'], platformio['version'], arduino['version']} == {version}, version
assert idf['license'] == platformio['license'] == 'MIT' and os.path.exists('LICENSE')
assert all(arduino[k] for k in 'name author maintainer sentence paragraph category architectures'.split())
for name in (build['cmake'] + '/CMakeLists.txt', build['kconfig'], 'src/' + platformio['headers'],
             'src/' + arduino['includes'], 'src/pith_runtime.c'):
    assert os.path.isfile(name), name
options = set(re.findall(r'config (\w+)', open('Kconfig').read() + open(build['kconfig']).read()))
used = set(re.findall(r'CONFIG_(\w+)', open('CMakeLists.txt').read() + open('zephyr/CMakeLists.txt').read()))
assert used == options, (used, options)
END
tests/fresh_digits.sh "$work/digits.onnx" && "$PITH" encode "$work/digits.onnx" -q -o "$work/digits.pith" || exit 1
cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(product C)
set(CONFIG_PITH y)
function(idf_component_register)
    cmake_parse_arguments(c "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
    add_library(idf ${c_SRCS})
    target_include_directories(idf PUBLIC ${c_INCLUDE_DIRS})
endfunction()
set(COMPONENT_LIB idf)
function(zephyr_include_directories)
    include_directories(${ARGN})
endfunction()
function(zephyr_library)
    add_library(zephyr "")
endfunction()
function(zephyr_library_sources)
    target_sources(zephyr PRIVATE ${ARGN})
endfunction()
function(zephyr_library_compile_options)
    target_compile_options(zephyr PRIVATE ${ARGN})
endfunction()
add_subdirectory(package/pith idf)
add_subdirectory(package/pith/zephyr zephyr)
END
cmake -S "$work" -B "$work/cmake" -DCMAKE_EXPORT_COMPILE_COMMANDS=ON -DCONFIG_PITH_BUILD="$("$PITH" info "$work/digits.pith" --build)" \
    >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
[ "$(grep -c '"command".*-ffp-contract=off.*-DPITH_BUILD_OPS_LOW=0x.*src/pith_runtime.c' "$work/cmake/compile_commands.json")" = 2 ] ||
    { echo "commands of both systems:"; cat "$work/cmake/compile_commands.json"; exit 1; }
