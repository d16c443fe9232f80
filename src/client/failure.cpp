#include "client/failure.h"

namespace restante::client {

bool Failure::passes() const {
  switch (kind) {
    case Kind::unreachable:
    case Kind::timeout:
    case Kind::cut:
    case Kind::tls:  // behind a hotel's sign-in page a laptop gets this until a person signs in
    case Kind::protocol:
      return true;
    case Kind::status:
      // 501 is permanent: this server does not implement the method.
      return status == 408 || status == 429 || (status >= 500 && status != 501);
    case Kind::bad_url:
    case Kind::too_large:
    case Kind::stopped:
    case Kind::cancelled:
      return false;
  }
  return false;
}

}  // namespace restante::client
