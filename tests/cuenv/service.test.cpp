#include <cuenv/service.hpp>

#include "support/catch.hpp"

#include <cstddef>

namespace {

using cuenv::GpuService;
using cuenv::ModuleKind;
using cuenv::Service;
using cuenv::ServiceCount;
using cuenv::VerdictKind;

}  // namespace

TEST_CASE("a file serves with all of its modules, with some, with none, or has none", "[service]") {
  auto const service = [](std::size_t native, std::size_t jit, std::size_t unknown, std::size_t incompatible,
                          std::size_t damaged) {
    return GpuService{native, jit, unknown, incompatible, damaged}.service();
  };
  CHECK(service(0, 0, 0, 0, 0) == Service::empty);
  CHECK(service(1, 1, 1, 0, 0) == Service::all);
  CHECK(service(0, 0, 1, 0, 0) == Service::all);
  CHECK(service(1, 0, 0, 1, 0) == Service::partly);
  CHECK(service(0, 1, 0, 0, 1) == Service::partly);
  CHECK(service(0, 0, 0, 1, 1) == Service::none);
}

TEST_CASE("relocatable code without a linked form counts by its parts", "[service]") {
  cuenv::ImageModule part;
  part.kind = ModuleKind::fatbin;
  part.section = "__nv_relfatbin";
  cuenv::ImageModule link;
  link.device_link = true;
  ServiceCount object;
  object.add(part, VerdictKind::native);
  CHECK(object.service().native == 1);
  CHECK_FALSE(object.linked_code_serves());
  ServiceCount program;
  program.add(link, VerdictKind::incompatible);
  CHECK(program.service().service() == Service::empty);
  program.add(link, VerdictKind::damaged);
  CHECK(program.service().damaged == 1);
}
