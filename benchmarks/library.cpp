// A small shared library with GPU code, as nvcc would link it in: what programs load many of.
__asm__(
    ".pushsection .nv_fatbin,\"a\"\n"
    ".balign 8\n"
    ".incbin \"" CUENV_IMAGE
    "\"\n"
    ".popsection\n");

extern "C" int cuenv_benchmark_library() { return 0; }
