#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "mcp/render.h"
#include "mcp/tools.h"

namespace restante::mcp {
namespace {

using std::chrono::steady_clock;

// inbox_pop does not wait for new messages; this is how long it waits for one that is almost ready (its files, a write
// to disk).
constexpr std::chrono::milliseconds kPopPatience{2'000};
constexpr std::chrono::milliseconds kTakeSlice{20};
constexpr std::chrono::seconds kReportInterval{5};

std::string sender_name(ToolContext& context, Call& call, const agent::Delivery& delivery) {
  return delivery.source_id ? context.name_of(call, *delivery.source_id) : std::string();
}

// An answer with a message; or with none, and `otherwise` as its text.
ToolResult answer_with(ToolContext& context, Call& call, const std::shared_ptr<DeliveryQueue::TakenDelivery>& taken,
                       std::size_t waiting, std::string otherwise) {
  ToolResult answer;
  const auto name = taken ? sender_name(context, call, taken->delivery()) : std::string();
  answer.structured = json_object([&](JsonWriter& out) {
    out.key("message");
    taken ? write_delivery(out, taken->delivery(), name) : out.null();
    out.member("waiting", static_cast<std::int64_t>(waiting));
  });
  answer.text = taken ? describe(taken->delivery(), name) : otherwise;
  if (taken && waiting > 0) answer.text += fmt::format("\n\n{} more {} waiting.", waiting, waiting == 1 ? "is" : "are");
  using Outcome = DeliveryQueue::DeliveryOutcome;
  if (taken) answer.after = [taken](bool written) { taken->finish(written ? Outcome::written : Outcome::put_back); };
  return answer;
}

// Without the delivery that a call has taken now, or took a moment ago.
std::vector<agent::Delivery> waiting_now(ToolContext& context) {
  auto waiting = context.agent().waiting();
  std::erase_if(waiting, [taken = context.delivery_queue().current_delivery()](const agent::Delivery& one) {
    return one.id == taken;
  });
  return waiting;
}

// Like waiting_now(), also without tasks that have ended, which will not be handed over. Asks the server about each
// task until `enough` deliveries are left, and no more once it does not answer. A task that it has not confirmed is
// shown as a message.
std::vector<agent::Delivery> still_wanted(ToolContext& context, Call& call, std::size_t enough) {
  using TaskInterest = agent::ApiClient::TaskInterest;
  ToolContext::ClientLease api(context, call);
  std::vector<agent::Delivery> wanted;
  bool unreachable = false;
  for (auto& one : waiting_now(context)) {
    auto interest = TaskInterest::wanted;
    if (agent::is_task(one) && wanted.size() < enough) {
      interest = TaskInterest::not_a_task;
      const auto task = unreachable ? agent::ApiClient::TaskView{interest, {}, {}} : api->view_delegation(one);
      if (task.has_value()) interest = task->interest;
      unreachable = unreachable || (task.has_error() && agent::may_yet_succeed(task.error()));
    }
    if (interest == TaskInterest::unwanted || interest == TaskInterest::late) continue;
    if (interest == TaskInterest::not_a_task) agent::forget_task(one);
    wanted.push_back(std::move(one));
  }
  return wanted;
}

ToolResult not_the_oldest(const agent::Delivery& oldest) {
  return failure("This is not the oldest message; " + oldest.id + " is. Messages are taken in order.");
}

// Why there is nothing to wait for any more; empty: waiting still makes sense.
std::string ended(ToolContext& context, const Call& call) {
  if (call.cancelled()) return "This was cancelled.";
  const auto end = context.agent().connection_status().end;
  if (end && *end != agent::End::stopped) return context.connection_problem();
  return context.delivery_queue().closed() ? "This session is over." : "";
}

// Empty while there is no trouble.
std::string connection_note(ToolContext& context) {
  const auto trouble = context.agent().connection_status().trouble;
  if (trouble.empty()) return {};
  return " The server is not reached at the moment (" + trouble + "); it is tried again by itself.";
}

std::string no_message_text(ToolContext& context, std::int64_t seconds) {
  return fmt::format("No message within {} s. Call wait_for_message again to continue.", seconds) +
         connection_note(context);
}

}  // namespace

ToolResult wait_for_message(ToolContext& context, Call& call, const Arguments& arguments) {
  const auto seconds = arguments.whole("timeout_seconds");
  const auto began = steady_clock::now();
  const auto until = began + std::chrono::seconds(seconds);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    const auto slice = std::clamp<std::chrono::milliseconds>(left, std::chrono::milliseconds(0), kReportInterval);
    if (const auto taken = context.delivery_queue().take(call, slice))
      return answer_with(context, call, taken, waiting_now(context).size(), {});
    if (const auto why = ended(context, call); !why.empty()) return failure(why);
    if (left <= slice)
      return answer_with(context, call, {}, waiting_now(context).size(), no_message_text(context, seconds));
    const std::chrono::duration<double> waited = steady_clock::now() - began;
    call.progress(waited.count(), static_cast<double>(seconds), "waiting for a message");
  }
}

ToolResult inbox_peek(ToolContext& context, Call& call, const Arguments& arguments) {
  const auto limit = arguments.whole("limit");
  const auto waiting = still_wanted(context, call, static_cast<std::size_t>(limit));
  ToolResult answer;
  answer.text = waiting.empty() ? "The inbox is empty."
                                : fmt::format("{} in the inbox; inbox_pop takes the oldest.", waiting.size());
  answer.structured = json_object([&](JsonWriter& out) {
    out.array("messages", waiting | std::views::take(limit), [&](const agent::Delivery& delivery) {
      const auto name = sender_name(context, call, delivery);
      write_delivery(out, delivery, name);
      answer.text += "\n\n" + describe(delivery, name);
    });
    out.member("waiting", std::ssize(waiting));
  });
  return answer;
}

ToolResult inbox_pop(ToolContext& context, Call& call, const Arguments& arguments) {
  const auto wanted = arguments.text("id");
  if (!wanted.empty()) {
    const auto waiting = still_wanted(context, call, 1);
    if (std::ranges::find(waiting, wanted, &agent::Delivery::id) == waiting.end()) {
      return failure(
          "No message with this id waits: wait_for_message or inbox_pop has handed it over already, and nothing more "
          "needs to be done about it.");
    }
    if (waiting.front().id != wanted) return not_the_oldest(waiting.front());
  }
  const auto until = steady_clock::now() + kPopPatience;
  for (;;) {
    if (const auto taken = context.delivery_queue().take(call, kTakeSlice)) {
      // Another call was faster, or the files of `wanted` are not here yet.
      if (!wanted.empty() && taken->delivery().id != wanted) return not_the_oldest(taken->delivery());
      return answer_with(context, call, taken, waiting_now(context).size(), {});
    }
    if (const auto why = ended(context, call); !why.empty()) return failure(why);
    const auto waiting = waiting_now(context).size();
    if (waiting == 0)
      return answer_with(context, call, {}, 0, "The inbox is empty. wait_for_message waits for the next one.");
    if (steady_clock::now() >= until)
      return answer_with(context, call, {}, waiting,
                         "The next message is not ready yet. Try again soon." + connection_note(context));
  }
}

ToolResult list_files(ToolContext& context, Call&, const Arguments& arguments) {
  const auto all = context.agent().files();
  ToolResult answer;
  answer.text = all.empty() ? "No file has arrived yet." : fmt::format("{} files, newest first:", all.size());
  answer.structured = json_object([&](JsonWriter& out) {
    const auto newest = all | std::views::reverse | std::views::take(arguments.whole("limit"));
    out.array("files", newest, [&](const agent::FileRecord& record) {
      const auto file = agent::deliver_file(record).files.front();
      write_file(out, file);
      answer.text += "\n" + describe(file);
    });
    out.member("total", std::ssize(all));
  });
  return answer;
}

}  // namespace restante::mcp
