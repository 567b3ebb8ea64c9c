"""`pip install --no-build-isolation .` builds the Python module with CMake (tools/python); it needs no network."""
import os
import re
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
    VERSION = re.search(r"project\(plumbline VERSION ([\d.]+)", file.read()).group(1)


# A wheel of a release brings its libraries, runs on processors other than this one, and draws PNG.
IS_RELEASE = bool(os.environ.get("PLUMBLINE_BUNDLE"))
RELEASED = ["-DPLUMB_NATIVE=OFF", "-DPLUMB_PNG=ON"] if IS_RELEASE else []


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        build = os.path.abspath(self.build_temp)
        subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=20", "-DPLUMB_TRAINER=OFF",
                        "-DPLUMB_PYTHON=ON", "-DCMAKE_BUILD_RPATH=$ORIGIN/libraries",
                        f"-DPython_EXECUTABLE={sys.executable}", *RELEASED], check=True)
        subprocess.run(["cmake", "--build", build, "--target", "plumbline_python"], check=True)
        target = self.get_ext_fullpath(extension.name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        self.copy_file(os.path.join(build, "python", "plumbline", os.path.basename(target)), target)
        if IS_RELEASE:
            self.bring_libraries(target)

    def bring_libraries(self, module):
        """Copies the shared libraries that the module needs beside it, but for those of glibc: for a wheel of a release."""
        folder = os.path.join(os.path.dirname(module), "libraries")
        os.makedirs(folder, exist_ok=True)
        for line in subprocess.run(["ldd", module], check=True, capture_output=True, text=True).stdout.splitlines():
            name, arrow, path = (line.split() + ["", ""])[:3]
            if arrow == "=>" and not re.match(r"(libc|libm|libpthread|libdl|librt)\.so", name):
                self.copy_file(os.path.realpath(path), os.path.join(folder, name))


def platform_of_release():
    """What a wheel that brings its libraries runs on: every Linux with the C library of this one, or a newer one."""
    major, minor = os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")[:2]
    return {"bdist_wheel": {"plat_name": f"manylinux_{major}_{minor}_{os.uname().machine}"}}


setup(name="plumbline", version=VERSION, description="Which pipeline schedule, and what will it cost me?",
      packages=["plumbline"], package_dir={"": "tools/python"}, package_data={"plumbline": ["py.typed", "*.pyi"]},
      ext_modules=[Extension("plumbline._core", sources=[])], cmdclass={"build_ext": CMakeBuild},
      options=platform_of_release() if IS_RELEASE else {},
      extras_require={"plots": ["numpy", "matplotlib"]}, python_requires=">=3.9", zip_safe=False)
