#include "model/inbox_row.h"

namespace restante {

bool is_chat(const InboxRow& row) {
  if (row.source_id || row.target_id != row.workspace_id) return false;
  if (row.activity_type == "upload_receipt") return true;
  // When an agent has a callback (push), a message that it took is an a2a_send row, with the answer.
  if (row.activity_type == "a2a_send") return row.method == "message/send";
  return row.activity_type == "a2a_receive" &&
         (row.method == "message/send" || row.method == "notify" || row.method == "chat_upload_receive");
}

}  // namespace restante
