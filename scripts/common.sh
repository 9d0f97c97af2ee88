# shellcheck shell=bash disable=SC2034
# What setup.sh, eval.sh and test.sh share: where things are, how they speak. To be sourced.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv
state=$venv/gst_setup # stamps and logs of the set-up

if [ -t 2 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then
    bold=$'\e[1m' dim=$'\e[2m' red=$'\e[31m' yellow=$'\e[33m' plain=$'\e[0m'
else
    bold='' dim='' red='' yellow='' plain=''
fi

say() { printf '%s\n' "${bold}$*${plain}" >&2; }
note() { printf '%s\n' "${dim}  $*${plain}" >&2; }
warn() { printf '%s\n' "${yellow}warning: $1${plain}" "${2:+  remedy: $2}" | sed '/^$/d' >&2; }

# die PROBLEM [REMEDY...]: one line for the problem, one for each remedy.
die() {
    printf '%s\n' "${red}error: $1${plain}" >&2
    shift
    while [ $# -gt 0 ]; do
        printf '  remedy: %s\n' "$1" >&2
        shift
    done
    exit 2
}

# The ROS 2 wheels mark a process whose library path is set; the path may not have come with the mark.
unset _ROS_WHEELS_BOOTSTRAP_COMPLETE

# ROS keeps its logs, and pip its cache, under HOME; without one both fail or litter the root folder.
if [ -z "${HOME:-}" ] || [ ! -d "$HOME" ]; then
    HOME=$(getent passwd "$(id -u)" 2>/dev/null | cut -d: -f6)
    if [ -z "$HOME" ] || [ ! -w "$HOME" ]; then HOME=${TMPDIR:-/tmp}/gst_home_$(id -u); fi
    mkdir -p -- "$HOME"
    export HOME
fi

# forget_ros: take a sourced ROS out of this shell, for the wheels.
forget_ros() {
    local prefix kept='' entry
    IFS=: read -r -a prefixes <<<"${AMENT_PREFIX_PATH:-}:${ROS_ROOT:+/opt/ros}"
    IFS=: read -r -a entries <<<"${LD_LIBRARY_PATH:-}"
    for entry in "${entries[@]}"; do
        for prefix in "${prefixes[@]}"; do
            if [ -n "$prefix" ] && [[ $entry == "$prefix"/* ]]; then continue 2; fi
        done
        kept+=${kept:+:}$entry
    done
    export LD_LIBRARY_PATH=$kept
    unset PYTHONPATH AMENT_PREFIX_PATH CMAKE_PREFIX_PATH COLCON_PREFIX_PATH ROS_DISTRO ROS_VERSION ROS_PYTHON_VERSION
}

# enter_environment: put what setup.sh made on the paths of this shell.
enter_environment() {
    export PATH=$venv/bin:$PATH
    if [ "$(cat -- "$state/ros_source" 2>/dev/null)" = installation ]; then
        export AMENT_PREFIX_PATH=$venv${AMENT_PREFIX_PATH:+:$AMENT_PREFIX_PATH}
        export LD_LIBRARY_PATH=$venv/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    elif [ -n "${ROS_DISTRO:-}${AMENT_PREFIX_PATH:-}" ]; then
        forget_ros
    fi
}
