#!/bin/sh
# Starts run_unittest.py under the interpreter that a python_test was built for.
# Usage: run_unittest.sh RUNNER TEST_FILE [MODULE.so]...
set -eu

path() { # path A B: adds B to the search path A
  if [ -n "$1" ]; then printf '%s:%s' "$1" "$2"; else printf '%s' "$2"; fi
}

runner=$1
test_file=$2
shift 2

python_path=$(dirname "$PWD/$test_file")
for module in "$@"; do
  python_path=$(path "$python_path" "$(dirname "$PWD/$module")")
done
old_ifs=$IFS
IFS=:
for folder in ${TYPEDCALL_IMPORTS:-}; do
  python_path=$(path "$python_path" "$PWD/$folder")
done
IFS=$old_ifs

preload=
for library in ${TYPEDCALL_PRELOAD:-}; do
  case "${SANITIZER_OF:-gcc}:$library" in # its name for it
    clang:libasan.so) library=libclang_rt.asan-$(uname -m).so ;;
  esac
  preload=$(path "$preload" "$("${SANITIZER_OF:-gcc}" -print-file-name="$library")")
done

# Tests write only into the folder that Bazel gives them, never into the user's home or next to the
# sources.
export HOME="$TEST_TMPDIR" PYTHONPATH="$python_path" PYTHONDONTWRITEBYTECODE=1
if [ -n "$preload" ]; then export LD_PRELOAD="$preload"; fi
exec "$PYTHON_BIN" "$runner" "$test_file"
