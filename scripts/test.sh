#!/usr/bin/env bash
# Set-up, then style, types and all tests.
#   bash scripts/test.sh [arguments of pytest]     (-n 0: in one process)
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"

bash "$root/scripts/setup.sh"
enter_environment
cd -- "$root"

failed=()
durations=()

check() {
    local name=$1 start=$SECONDS
    shift
    say "$name"
    "$@" || failed+=("$name")
    durations+=("$name $((SECONDS - start)) s")
}

check "ruff check" ruff check
check "ruff format" ruff format --check
check "mypy" mypy
if [ "$(cat -- "$state/ros_source")" = installation ]; then
    # A ROS installation brings pytest plugins of its own, which need not fit the pytest in .venv.
    export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
    plugins=(-p _hypothesis_pytestplugin -p xdist)
else
    plugins=()
fi
# A test file stays in one process: its tests share what is slow to make. Three processes keep two cores busy: tests of
# nodes wait more than they compute. Threads of libraries would only wait for each other there, and spin while they do.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
check "pytest" python -m pytest --durations=10 ${plugins[@]+"${plugins[@]}"} -n 3 --dist loadfile --no-loadscope-reorder "$@"

note "$(printf '%s; ' "${durations[@]}")total $SECONDS s"
if [ ${#failed[@]} -gt 0 ]; then
    printf '%s\n' "${red}failed: $(printf '%s, ' "${failed[@]}" | sed 's/, $//')${plain}" >&2
    exit 1
fi
say "all is well"
