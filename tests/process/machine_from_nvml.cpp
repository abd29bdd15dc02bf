// Where no folder of the kernel driver tells of the GPUs, as on Windows: NVML does when it is asked.
#include "expect.hpp"

int main() {
  {
    cuenv::Session const session;
    expect(session.report().machine_source == cuenv::MachineSource::unknown, "nobody has described the machine");
    expect(session.devices().size() == 2, "the driver lists its devices");
    expect(!session.devices()[0].physical, "which GPUs they are is not known");
  }
  cuenv::Session const session{{}, cuenv::ask_nvml};
  expect(session.report().machine_source == cuenv::MachineSource::nvml, "NVML has described the machine");
  expect(session.report().attached, "the session attaches");
  expect(session.devices().size() == 2 && session.devices()[1].physical == cuenv::physical(1), "the GPUs are known");
  return failed_expectations;
}
