#!/usr/bin/env bash
# Makes .venv with everything that gst_ros needs; called by eval.sh and test.sh, harmless to call again.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/common.sh"
source "$root/scripts/machine.sh"

usage="Usage: bash scripts/setup.sh [--fresh]

Makes .venv in the checkout: Python packages, ROS 2, gst_interfaces, torch and the command 'gst'. Needs Python 3.10
or newer with venv, its headers and a C++ compiler; never needs root. The second time it takes a second.

  --fresh    make .venv anew

Environment:
  GST_ROS=auto          auto: a sourced ROS 2 (Humble or newer) where there is one, else the ROS 2 wheels;
                        wheels: the wheels even if a ROS is sourced; installation: insist on a sourced ROS 2
  GST_PYTHON=PATH       the Python to use
  GST_WITHOUT_TORCH=1   leave torch and transformers out; only answerers that run a model here need them
  GST_TORCH_INDEX=URL   where to look for the CPU build of torch when pip's own sources have none"

torch_version=2.13.0
fresh=''
while [ $# -gt 0 ]; do
    case $1 in
        --fresh) fresh=yes ;;
        -h | --help) printf '%s\n' "$usage" && exit 0 ;;
        *) die "unknown argument '$1'" "bash scripts/setup.sh --help" ;;
    esac
    shift
done

main() {
    take_lock
    choose_ros # sets ros_source (wheels or installation) and ros_name
    make_venv  # sets python_version
    run_step packages "Installing $(packages_words)" install_packages \
        "$root"/{setup.py,setup.cfg,pyproject.toml,package.xml,gst_ros/__init__.py,scripts/ros-wheels.txt}
    run_step interfaces "Building gst_interfaces for ROS (a minute; many on a busy machine; $(gst_words))" build_interfaces "$root/gst_interfaces"
    install_torch_unless_refused
    link_share
    if [ -n "$worked" ]; then
        say "Set-up is complete: $venv/bin/gst (ROS 2 $ros_name)"
    else
        note "set-up is up to date (ROS 2 $ros_name)"
    fi
}

# Two calls at once: the second waits. The lock is on the folder itself, so no lock file is left behind.
take_lock() {
    exec 9<"$root/scripts"
    command -v flock >/dev/null || return 0
    flock -n 9 || { note "another set-up of this checkout is running; waiting for it" && flock 9; }
}

packages_words() {
    if [ "$ros_source" = wheels ]; then echo "ROS 2 Kilted (wheels) and Python packages"; else echo "Python packages"; fi
}

# What a person who is waiting may do meanwhile.
gst_words() { echo ".venv/bin/gst runs from here on"; }

make_venv() {
    local reason
    reason=$(venv_is_unfit)
    if [ -z "$reason" ]; then
        python_version=$("$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        return
    fi
    choose_python # sets python and python_version
    need_for_venv
    if [ -e "$venv" ]; then
        [ ! -e "$state/adopted" ] || die "$venv cannot be used: $reason" "it was made by hand: move it away and call again"
        say "Making .venv anew: $reason"
        rm -rf -- "$venv"
    fi
    say "Making .venv with Python $python_version ($python)"
    worked=yes
    mkdir -p -- "$state" # first, so that a half-made one is known as ours
    local flags=()
    if [ "$ros_source" = installation ]; then flags=(--system-site-packages); fi
    if "$python" -c 'import ensurepip' 2>/dev/null; then
        "$python" -m venv "${flags[@]}" -- "$venv" || die "Python could not make $venv"
    else
        virtualenv -q -p "$python" "${flags[@]}" -- "$venv" || die "virtualenv could not make $venv"
    fi
    seal_venv
}

# Says why .venv cannot be used, or nothing. One that a person made is used when it works, and never removed.
venv_is_unfit() {
    if [ ! -e "$venv" ]; then
        echo "there is none"
    elif [ ! -d "$state" ]; then
        "$venv/bin/python" -m pip --version >/dev/null 2>&1 ||
            die "$venv is there but is no working virtual environment" "move it away and call again"
        if [ "$ros_source" = installation ] && ! "$venv/bin/python" -c 'import rclpy' 2>/dev/null; then
            die "$venv has no access to ROS 2 $ROS_DISTRO" "move it away and call again"
        fi
        note "using the virtual environment that is there"
        mkdir -p -- "$state"
        : >"$state/adopted"
        seal_venv
    elif [ -n "$fresh" ]; then
        echo "as asked"
    elif [ -e "$state/running" ]; then
        echo "an earlier set-up was interrupted at '$(cat -- "$state/running")'"
    elif [ ! -e "$state/identity" ]; then
        echo "an earlier set-up was interrupted"
    elif [ "$(cat -- "$state/identity")" != "$(identity)" ]; then
        echo "it was made in another place or for another ROS"
    elif ! "$venv/bin/python" -c '' 2>/dev/null; then
        echo "its Python does not run any more"
    elif [ -n "${GST_PYTHON:-}" ] && [ "$(base_python "$GST_PYTHON")" != "$(base_python "$venv/bin/python")" ]; then
        echo "GST_PYTHON names another Python"
    fi
}

identity() { printf '%s\n' "$root" "$ros_source ${ROS_DISTRO:-}"; }

seal_venv() {
    : >"$venv/COLCON_IGNORE"
    printf '%s\n' "$ros_source" >"$state/ros_source"
    identity >"$state/identity"
}

# run_step NAME DOING FUNCTION INPUT...: call FUNCTION unless it has succeeded for the same inputs (texts, or files
# and folders by content). A step that was killed leaves the file "running", and the next call starts afresh.
run_step() {
    local name=$1 doing=$2 work=$3 inputs start=$SECONDS
    shift 3
    inputs=$(fingerprint "$@")
    if [ "$(cat -- "$state/$name.stamp" 2>/dev/null)" = "$inputs" ]; then return; fi
    say "$doing"
    worked=yes
    printf '%s\n' "$name" >"$state/running"
    rm -f -- "$state/$name.stamp"
    show_seconds &
    local ticker=$! failed=''
    "$work" >"$state/$name.log" 2>&1 </dev/null || failed=yes
    kill "$ticker" 2>/dev/null || true
    wait "$ticker" 2>/dev/null || true
    rm -f -- "$state/running"
    if [ -n "$failed" ]; then
        tail -n 15 -- "$state/$name.log" | sed 's/^/  | /' >&2
        return_or_die "$name" "$(diagnose "$state/$name.log")"
        return
    fi
    printf '%s\n' "$inputs" >"$state/$name.stamp"
    note "done in $((SECONDS - start)) s"
}

# Only torch may fail: nothing but the answerers that run a model here needs it.
return_or_die() {
    if [ "$1" = torch ]; then
        warn "torch is not installed; the bench runs without it, maps with plainer features" "$2"
    else
        die "the step '$1' failed; all of its output is in $state/$1.log" "$2"
    fi
}

show_seconds() {
    trap 'exit 0' TERM INT
    local start=$SECONDS seconds told=0
    while sleep 1 && kill -0 $$ 2>/dev/null; do
        seconds=$((SECONDS - start))
        if [ -t 2 ]; then
            printf '\r%s  %d s %s\r' "$dim" "$seconds" "$plain" >&2
        elif [ $((seconds - told)) -ge 60 ]; then # a log gets a line each minute
            told=$seconds
            note "still at it after $((seconds / 60)) min"
        fi
    done
}

pip_install() {
    local constraints=()
    if [ -e "$state/constraints.txt" ]; then constraints=(--constraint "$state/constraints.txt"); fi
    "$venv/bin/python" -m pip --disable-pip-version-check --no-input install "${constraints[@]}" "$@"
}

install_packages() {
    need_disk_gb 2 || return 1
    pip_install "setuptools>=64,<80" wheel || return 1
    if [ "$ros_source" = wheels ]; then
        pip_install -r "$root/scripts/ros-wheels.txt" || return 1
    else
        # ROS's own extension modules were built for its numpy; a newer one in front of it breaks them.
        "$venv/bin/python" -c 'import numpy; print(f"numpy=={numpy.__version__}")' >"$state/constraints.txt" ||
            rm -f -- "$state/constraints.txt"
        pip_install "scikit-build-core>=0.10" ninja || return 1
        if ! command -v cmake >/dev/null; then pip_install "cmake>=3.20,<4" || return 1; fi
    fi
    pip_install --no-build-isolation --editable "${root}[dev,scenes]"
}

build_interfaces() {
    need_for_building || return 1
    local prefix_path=$venv
    if [ "$ros_source" = installation ]; then prefix_path=$AMENT_PREFIX_PATH; fi
    PATH=$venv/bin:$PATH AMENT_PREFIX_PATH=$prefix_path CMAKE_PREFIX_PATH=$prefix_path \
        pip_install --no-build-isolation --no-deps --force-reinstall "$root/gst_interfaces"
}

install_torch_unless_refused() {
    if [ -n "${GST_WITHOUT_TORCH:-}" ]; then
        note "torch and transformers are left out, as GST_WITHOUT_TORCH asks"
    else
        run_step torch "Installing torch $torch_version ($(torch_words)) and transformers ($(gst_words))" install_torch "$torch_version"
    fi
}

# Editable installs bring no shared files; links to the checkout never go stale. lib/gst_ros is for `ros2 run`.
link_share() {
    local share=$venv/share/gst_ros index=$venv/share/ament_index/resource_index/packages name
    mkdir -p -- "$share" "$index" "$venv/lib/gst_ros"
    for name in package.xml launch config demo; do
        rm -rf -- "${share:?}/$name"
        if [ -e "$root/$name" ]; then ln -s -- "$root/$name" "$share/$name"; fi
    done
    ln -sfn -- "$root/resource/gst_ros" "$index/gst_ros"
    for name in gst camera_player spatial_reasoning evaluator; do ln -sfn -- "../../bin/$name" "$venv/lib/gst_ros/$name"; done
}

worked=''
main
