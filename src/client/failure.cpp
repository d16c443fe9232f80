#include "client/failure.h"

namespace restante::client {

bool Failure::passes() const {
  switch (kind) {
    case Kind::unreachable:
    case Kind::timeout:
    case Kind::cut:
      return true;
    case Kind::tls:  // a laptop behind a hotel's sign-in page sees this until somebody signs in
    case Kind::protocol:
      return true;
    case Kind::status:
      // 501 is for good: this server does not know how.
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
