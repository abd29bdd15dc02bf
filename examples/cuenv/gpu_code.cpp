#include "gpu_code.hpp"

namespace tool {

std::string one_line(Json const& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string opened(Json const& object) {
  std::string text = one_line(object);
  text.pop_back();
  return text;
}

Json module_json(cuenv::ImageModule const& module) {
  Json json = Json::object();
  json["section"] = nullptr;
  if (!module.section.empty()) cuenv::put_text(json, "section", std::string_view{module.section});
  json["member"] = nullptr;
  if (!module.member.empty()) cuenv::put_text(json, "member", std::string_view{module.member});
  json["offset"] = module.offset;
  json["size"] = module.size;
  json["kind"] = std::string{to_string(module.kind)};
  json["device_link"] = module.device_link;
  return json;
}

std::string place_of(cuenv::ImageModule const& module) {
  std::string place = module.section;
  if (!module.member.empty()) place += (place.empty() ? "(" : " (") + module.member + ")";
  return place + (place.empty() ? "" : " ") + "at byte " + std::to_string(module.offset);
}

std::string counted(std::uint64_t count, std::string const& one, std::string const& many) {
  return std::to_string(count) + " " + (count == 1 ? one : many.empty() ? one + "s" : many);
}

bool is_module(cuenv::FileKind kind) {
  return kind == cuenv::FileKind::fatbin || kind == cuenv::FileKind::cubin || kind == cuenv::FileKind::ptx;
}

bool is_host_file(cuenv::FileKind kind) {
  return kind == cuenv::FileKind::elf || kind == cuenv::FileKind::pe || kind == cuenv::FileKind::archive;
}

std::string file_line(cuenv::FileKind kind) {
  switch (kind) {
    case cuenv::FileKind::elf: return "ELF file";
    case cuenv::FileKind::pe: return "PE file";
    case cuenv::FileKind::ptx: return "PTX text";
    case cuenv::FileKind::foreign: return "file of another kind";
    default: return std::string{to_string(kind)};
  }
}

std::string nothing_in(cuenv::FileKind kind) {
  if (kind == cuenv::FileKind::empty) return "the file is empty";
  if (kind == cuenv::FileKind::thin_archive) return "a thin archive holds only the names of its members: give those";
  return file_line(kind) + " without GPU code";
}

std::string unreadable_json(std::string const& path, cuenv::FileError const& error, std::string const& list) {
  Json json = Json::object();
  cuenv::put_text(json, "path", std::string_view{path});
  json[list] = Json::array();
  json["error"] = Json(error.diagnostics().front());
  return one_line(json);
}

std::string unreadable_text(cuenv::FileError const& error) {
  cuenv::Diagnostic const& finding = error.diagnostics().front();
  return cuenv::detail::printable(finding.subject) + ": it " + cuenv::detail::printable(finding.what) + '\n';
}

}  // namespace tool
