#include "http/fault.h"

#include "base/json_writer.h"

namespace restante::http {

Response to_response(const Fault& fault, std::uint64_t max) {
  return json(fault.status, json_object([&](JsonWriter& out) {
                out.member("error", fault.sentence);
                out.member("code", fault.code);
                if (max > 0) out.member("max", static_cast<std::int64_t>(max));
              }));
}

}  // namespace restante::http
