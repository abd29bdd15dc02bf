#include <cuenv/gpu.hpp>

#include "support/catch.hpp"

TEST_CASE("a UUID is written as it is read", "[gpu]") {
  auto const uuid = cuenv::parse_uuid("5A9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b");
  REQUIRE(uuid);
  CHECK(to_string(*uuid) == "5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5b");
  CHECK_FALSE(cuenv::parse_uuid("5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5"));
  CHECK_FALSE(cuenv::parse_uuid("5a9c1f04-3e7b-4d21-8c66-0b1d2e3f4a5bc"));
  CHECK_FALSE(cuenv::parse_uuid("5a9c1f0443e7b-4d21-8c66-0b1d2e3f4a5b"));
  CHECK_FALSE(cuenv::parse_uuid(std::string(36, 0x3f)));  // what the kernel driver prints for a sleeping GPU
}

TEST_CASE("a PCI address is read in the forms of /proc, NVML and the driver", "[gpu]") {
  auto const pci = cuenv::parse_pci_address("00000000:0A:1f.3");
  REQUIRE(pci);
  CHECK(to_string(*pci) == "0000:0a:1f.3");
  CHECK(cuenv::parse_pci_address("0000:0a:1f.3") == pci);
  CHECK(to_string(*cuenv::parse_pci_address("12345:01:00")) == "12345:01:00.0");
  for (char const* bad : {"", "0000", "0000:", "0000:01", "0000:01:", "0000:01:00.", "0000:01:00.0x",
                          "000000000:01:00.0", "0000:001:00.0", "0000:01:00:0", " 0000:01:00.0", "g000:01:00.0"}) {
    INFO(bad);
    CHECK_FALSE(cuenv::parse_pci_address(bad));
  }
}

TEST_CASE("PCI addresses sort like the bus, the domain first", "[gpu]") {
  CHECK(*cuenv::parse_pci_address("0000:ff:00.0") < *cuenv::parse_pci_address("0001:00:00.0"));
  CHECK(*cuenv::parse_pci_address("0000:09:00.0") < *cuenv::parse_pci_address("0000:0a:00.0"));
  CHECK_FALSE(*cuenv::parse_pci_address("0000:09:00.0") < *cuenv::parse_pci_address("0000:09:00.0"));
}

TEST_CASE("compute capabilities", "[gpu]") {
  CHECK(cuenv::parse_compute_capability("9.0") == cuenv::ComputeCapability{9, 0});
  CHECK(cuenv::parse_compute_capability("12.1")->sm() == 121);
  CHECK(cuenv::ComputeCapability::from_sm(103) == cuenv::ComputeCapability{10, 3});
  for (char const* bad : {"", "9", "9.", ".0", "9.0a", "9.00", " 9.0", "-1.0"})
    CHECK_FALSE(cuenv::parse_compute_capability(bad));
  CHECK(cuenv::ComputeCapability{8, 9} < cuenv::ComputeCapability{9, 0});
}
