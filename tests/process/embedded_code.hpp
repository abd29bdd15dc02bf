#ifndef CUENV_TESTS_PROCESS_EMBEDDED_CODE_HPP
#define CUENV_TESTS_PROCESS_EMBEDDED_CODE_HPP

// Puts the file EMBEDDED_CODE into the section where nvcc puts GPU code, so that a program or library for any machine
// can carry some.
#ifdef _WIN32
__asm__(".section .nv_fatb,\"dr\"\n.balign 16\n.incbin \"" EMBEDDED_CODE "\"\n.text\n");
#else
__asm__(".section .nv_fatbin,\"a\"\n.balign 8\n.incbin \"" EMBEDDED_CODE "\"\n.text\n");
#endif

#endif  // CUENV_TESTS_PROCESS_EMBEDDED_CODE_HPP
