#include "machine.hpp"

#include "output.hpp"

#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <utility>

namespace tool {

namespace {

/// A member of a described machine, and where it is, for errors.
class Place {
 public:
  Place(Json const& json, std::string name, std::string const& file)
      : json_{json}, name_{std::move(name)}, file_{file} {}

  [[noreturn]] void refuse(std::string const& expected) const {
    throw std::runtime_error{file_ + ": " + (name_.empty() ? "the document" : name_) + ": expected " + expected};
  }
  [[nodiscard]] bool has(char const* key) const {
    if (!json_.is_object()) refuse("an object");
    return json_.contains(key) && !json_.at(key).is_null();
  }
  [[nodiscard]] Place at(char const* key, char const* expected) const {
    if (!has(key)) Place{json_, joined(key), file_}.refuse(expected);
    return {json_.at(key), joined(key), file_};
  }
  [[nodiscard]] std::size_t size() const {
    if (!json_.is_array()) refuse("a list");
    return json_.size();
  }
  [[nodiscard]] Place at(std::size_t i) const { return {json_.at(i), name_ + "[" + std::to_string(i) + "]", file_}; }
  [[nodiscard]] std::string text(char const* expected) const {
    if (!json_.is_string()) refuse(expected);
    return json_.get<std::string>();
  }
  [[nodiscard]] int number() const {
    if (!json_.is_number_integer() || json_.get<long long>() < 0 || json_.get<long long>() > 9999) {
      refuse("a number from 0 to 9999");
    }
    return json_.get<int>();
  }
  [[nodiscard]] bool is_boolean() const { return json_.is_boolean(); }
  [[nodiscard]] bool truth() const {
    if (!json_.is_boolean()) refuse("true or false");
    return json_.get<bool>();
  }

 private:
  [[nodiscard]] std::string joined(char const* key) const { return name_.empty() ? key : name_ + "." + key; }

  Json const& json_;
  std::string name_;
  std::string const& file_;
};

cuenv::Uuid uuid_at(Place const& place, std::string const& tag) {
  std::string const expected = tag + " and 36 characters";
  std::string const text = place.text(expected.c_str());
  auto const uuid = cuenv::detail::starts_with(text, tag) ? cuenv::parse_uuid(std::string_view{text}.substr(tag.size()))
                                                          : std::nullopt;
  if (!uuid) place.refuse(expected);
  return *uuid;
}

cuenv::MigInstance mig_at(Place const& place) {
  cuenv::MigInstance instance;
  if (place.has("uuid")) instance.uuid = uuid_at(place.at("uuid", ""), "MIG-");
  instance.gpu_instance = place.at("gi", "the number of the GPU instance").number();
  instance.compute_instance = place.at("ci", "the number of the compute instance").number();
  if (place.has("profile")) instance.profile = place.at("profile", "").text("a text such as 1g.10gb");
  return instance;
}

cuenv::Gpu gpu_at(Place const& place) {
  cuenv::Gpu gpu;
  gpu.uuid = uuid_at(place.at("uuid", "a UUID"), "GPU-");
  Place const pci = place.at("pci", "a bus address such as 0000:07:00.0");
  auto const address = cuenv::parse_pci_address(pci.text("a bus address such as 0000:07:00.0"));
  if (!address) pci.refuse("a bus address such as 0000:07:00.0");
  gpu.pci = *address;
  if (place.has("name")) gpu.name = place.at("name", "").text("a name");
  if (place.has("compute_capability")) {
    Place const cc = place.at("compute_capability", "");
    gpu.compute_capability = cuenv::parse_compute_capability(cc.text("a text such as \"9.0\""));
    if (!gpu.compute_capability) cc.refuse("a text such as \"9.0\"");
  }
  if (place.has("mig") && !place.at("mig", "").is_boolean()) {
    Place const list = place.at("mig", "");
    for (std::size_t i = 0; i < list.size(); ++i) gpu.mig.push_back(mig_at(list.at(i)));
    gpu.mig_enabled = !gpu.mig.empty();
  } else if (place.has("mig")) {
    gpu.mig_enabled = place.at("mig", "").truth();
  }
  if (place.has("mig_enabled")) {
    Place const enabled = place.at("mig_enabled", "");
    if (!enabled.truth() && !gpu.mig.empty()) enabled.refuse("true, as the GPU has MIG instances");
    gpu.mig_enabled = enabled.truth();
  }
  return gpu;
}

}  // namespace

cuenv::Machine machine_here() {
  cuenv::Machine machine = cuenv::read_this_machine();
  std::string error;
  cuenv::Machine nvml = cuenv::read_machine_from_nvml(cuenv::open_nvml_library(), error);
  if (machine.source == cuenv::MachineSource::unknown) {
    cuenv::apply_mps(nvml, cuenv::process_environment, "");
    return nvml;
  }
  for (cuenv::Gpu& gpu : machine.gpus) {
    for (cuenv::Gpu const& other : nvml.gpus) {
      if (other.pci != gpu.pci || (gpu.uuid && other.uuid != gpu.uuid)) continue;
      gpu.uuid = other.uuid;
      gpu.name = other.name;
      gpu.compute_capability = other.compute_capability;
      gpu.mig_enabled = other.mig_enabled;
      gpu.mig = other.mig;
    }
  }
  return machine;
}

cuenv::Machine parse_topology(std::string_view text, std::string const& file) {
  Json json;
  try {
    // Copying and destroying what is nested takes stack; a described machine has four levels.
    json = Json::parse(text, [&](int depth, Json::parse_event_t, Json const&) {
      if (depth > 100) throw std::runtime_error{file + ": no JSON of a machine: it is nested too deeply"};
      return true;
    });
  } catch (Json::exception const& error) {
    std::string const what = error.what();  // "[json.exception.parse_error.101] parse error at line 1, ..."
    std::size_t const end = what.find("] ");
    throw std::runtime_error{file + ": no JSON: " + (end == std::string::npos ? what : what.substr(end + 2))};
  }
  Place const root{json, "", file};
  cuenv::Machine machine;
  machine.source = cuenv::MachineSource::described;
  if (root.has("driver")) machine.driver_version = root.at("driver", "").text("a version such as \"580.159.04\"");
  if (root.has("cuda")) (void)root.at("cuda", "").text("a version such as \"13.0\"");
  Place const gpus = root.at("gpus", "a list of GPUs");
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    machine.gpus.push_back(gpu_at(gpus.at(i)));
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (machine.gpus[earlier].pci == machine.gpus[i].pci) gpus.at(i).refuse("a bus address of its own");
      if (machine.gpus[earlier].uuid == machine.gpus[i].uuid) gpus.at(i).refuse("a UUID of its own");
    }
  }
  std::vector<cuenv::Gpu> const as_listed = machine.gpus;
  cuenv::sort_by_pci(machine.gpus);
  for (std::size_t i = 0; i < as_listed.size(); ++i) {
    if (!gpus.at(i).has("index")) continue;
    Place const index = gpus.at(i).at("index", "");
    auto const number = static_cast<std::size_t>(index.number());
    if (number >= machine.gpus.size() || machine.gpus[number].pci != as_listed[i].pci) {
      index.refuse("the rank of this GPU by bus address, from 0");
    }
  }
  return machine;
}

std::string read_file(std::string const& path) {
  std::ifstream file{path, std::ios::binary};
  constexpr std::size_t most = std::size_t{16} << 20;
  std::string content;
  char block[4096];
  while (file.read(block, sizeof block), file.gcount() > 0) {  // a pipe is fine, so the size is not known before
    content.append(block, static_cast<std::size_t>(file.gcount()));
    if (content.size() > most) throw std::runtime_error{path + ": it is larger than 16 MiB"};
  }
  if (!file.is_open() || file.bad()) throw std::runtime_error{path + ": it cannot be read"};
  return content;
}

}  // namespace tool
