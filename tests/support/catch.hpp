#ifndef CUENV_TESTS_SUPPORT_CATCH_HPP
#define CUENV_TESTS_SUPPORT_CATCH_HPP

// Catch2, version 2 (Debian 12) or 3.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Matchers::ContainsSubstring;
#else
#include <catch2/catch.hpp>
namespace {
[[maybe_unused]] inline auto ContainsSubstring(std::string const& text) { return Catch::Matchers::Contains(text); }
}  // namespace
#endif

#endif  // CUENV_TESTS_SUPPORT_CATCH_HPP
