# Untested: written from the documents of Conan 2 and never run. Packs the checkout that it lies in:
#   conan create cmake/packaging/conan
# The CUDA headers are not a package: consumers need a CUDA toolkit, or set CUENV_CUDA_INCLUDE_DIR.
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake
from conan.tools.files import copy, load


class Cuenv(ConanFile):
    name = "cuenv"
    description = "The CUDA environment as a thing a program can trust"
    license = "MIT"
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeToolchain"
    no_copy_source = True

    @property
    def checkout(self):
        return os.path.join(self.recipe_folder, "..", "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self.checkout, "include", "cuenv", "version.hpp"))
        self.version = ".".join(re.findall(r"#define CUENV_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text))

    def export_sources(self):
        for pattern in "CMakeLists.txt", "LICENSE", "cmake/*", "include/*":
            copy(self, pattern, self.checkout, self.export_sources_folder)

    def build(self):
        cmake = CMake(self)
        cmake.configure(variables={
            "CUENV_INSTALL": "ON", "CUENV_BUILD_TESTS": "OFF", "CUENV_BUILD_EXAMPLES": "OFF"})

    def package(self):
        CMake(self).install()

    def package_id(self):
        self.info.clear()

    def package_info(self):
        # find_package finds cuenv's own files.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "cuenv")]
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
