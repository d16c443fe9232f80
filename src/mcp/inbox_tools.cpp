#include <fmt/format.h>

#include <algorithm>

#include "mcp/render.h"
#include "mcp/tools.h"

namespace restante::mcp {
namespace {

using std::chrono::steady_clock;

// A pop takes what is there; this long it waits for something that is about to be: a file's last bytes, a note on disk.
constexpr std::chrono::milliseconds kPopPatience{2'000};
constexpr std::chrono::milliseconds kLook{20};
constexpr std::chrono::seconds kTellEvery{5};

Counter::Fate fate_of(bool written) { return written ? Counter::Fate::written : Counter::Fate::put_back; }

std::string waits_yet(std::size_t waiting) {
  return waiting == 0 ? "" : fmt::format(" {} more {} waiting.", waiting, waiting == 1 ? "is" : "are");
}

// With a message, or with none and the reason.
Answer answer_with(const std::shared_ptr<Counter::Taken>& taken, std::size_t waiting, std::string_view otherwise) {
  Answer answer;
  JsonWriter out;
  out.begin_object();
  out.key("message");
  if (taken) {
    write_delivery(out, taken->delivery());
    answer.text = describe(taken->delivery());
    answer.after = [taken](bool written) { taken->finish(fate_of(written)); };
  } else {
    out.null();
    answer.text = otherwise;
  }
  out.member("waiting", static_cast<std::int64_t>(waiting));
  out.end_object();
  if (taken && waiting > 0) answer.text += "\n\n" + waits_yet(waiting).substr(1);
  answer.structured = out.take();
  return answer;
}

// Without the one that is in somebody's hands, or was a moment ago.
std::vector<agent::Delivery> waiting_now(Office& office) {
  auto waiting = office.agent().waiting();
  std::erase_if(waiting, [hand = office.counter().in_hand()](const agent::Delivery& one) { return one.id == hand; });
  return waiting;
}

// Nor the tasks that were over before anybody took them, which are not handed over: the server is asked about each
// until `enough` others were seen, and no more once it does not answer.
std::vector<agent::Delivery> waiting_still(Office& office, Call& call, std::size_t enough) {
  using Standing = agent::Platform::Standing;
  auto waiting = waiting_now(office);
  Office::Line line(office, call);
  std::size_t seen = 0;
  bool silent = false;
  std::erase_if(waiting, [&](const agent::Delivery& one) {
    if (seen >= enough || silent) return false;
    const auto task = agent::is_task(one) ? line->look_at_delegation(one.delegation_id) : agent::Platform::TaskView();
    silent = task.has_error() && agent::is_open(task.error());
    const bool over = task.has_value() && task->standing != Standing::wanted;
    seen += over ? 0 : 1;
    return over;
  });
  return waiting;
}

Answer not_the_oldest(const agent::Delivery& oldest) {
  return failure("That is not the first that can be taken; " + oldest.id + " is. Messages are taken in order.");
}

// Why there is nothing to wait for any more; empty: there is.
std::string ended(Office& office, const Call& call) {
  if (call.cancelled()) return "This was cancelled.";
  const auto end = office.agent().outlook().end;
  if (end && *end != agent::End::stopped) return office.hindrance();
  return office.counter().closed() ? "This session is over." : "";
}

// Empty while all is well.
std::string weather(Office& office) {
  const auto trouble = office.agent().outlook().trouble;
  if (trouble.empty()) return {};
  return " The server is not reached at the moment (" + trouble + "); it is tried again by itself.";
}

std::string nothing_came(Office& office, std::int64_t seconds) {
  return fmt::format("No message within {} s. Call wait_for_message again to go on waiting.", seconds) +
         weather(office);
}

}  // namespace

Answer wait_for_message(Office& office, Call& call, const Arguments& arguments) {
  const auto seconds = arguments.whole("timeout_seconds");
  const auto began = steady_clock::now();
  const auto until = began + std::chrono::seconds(seconds);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now());
    const auto slice = std::clamp<std::chrono::milliseconds>(left, std::chrono::milliseconds(0), kTellEvery);
    if (const auto taken = office.counter().take(call, slice))
      return answer_with(taken, waiting_now(office).size(), {});
    if (const auto why = ended(office, call); !why.empty()) return failure(why);
    if (left <= slice) return answer_with({}, waiting_now(office).size(), nothing_came(office, seconds));
    const std::chrono::duration<double> waited = steady_clock::now() - began;
    call.progress(waited.count(), static_cast<double>(seconds), "waiting for a message");
  }
}

Answer inbox_peek(Office& office, Call& call, const Arguments& arguments) {
  if (const auto why = office.hindrance(); !why.empty()) return failure(why);
  const auto limit = static_cast<std::size_t>(arguments.whole("limit"));
  const auto waiting = waiting_still(office, call, limit);
  const auto shown = std::min(waiting.size(), limit);
  Answer answer;
  answer.text = waiting.empty() ? "The inbox is empty."
                                : fmt::format("{} in the inbox; inbox_pop takes the oldest.", waiting.size());
  JsonWriter out;
  out.begin_object();
  out.key("messages");
  out.begin_array();
  for (std::size_t i = 0; i < shown; ++i) {
    write_delivery(out, waiting[i]);
    answer.text += "\n\n" + describe(waiting[i]);
  }
  out.end_array();
  out.member("waiting", static_cast<std::int64_t>(waiting.size()));
  out.end_object();
  answer.structured = out.take();
  return answer;
}

Answer inbox_pop(Office& office, Call& call, const Arguments& arguments) {
  if (const auto why = office.hindrance(); !why.empty()) return failure(why);
  const auto wanted = arguments.text("id");
  if (!wanted.empty()) {
    const auto waiting = waiting_still(office, call, 1);
    if (std::ranges::find(waiting, wanted, &agent::Delivery::id) == waiting.end()) {
      return failure(
          "No message with this id waits: wait_for_message or inbox_pop has handed it over already, and nothing more "
          "needs to be done about it.");
    }
    if (waiting.front().id != wanted) return not_the_oldest(waiting.front());
  }
  const auto until = steady_clock::now() + kPopPatience;
  for (;;) {
    if (const auto taken = office.counter().take(call, kLook)) {
      // Unless another call was faster, or its files are still on their way.
      if (!wanted.empty() && taken->delivery().id != wanted) return not_the_oldest(taken->delivery());
      return answer_with(taken, waiting_now(office).size(), {});
    }
    if (const auto why = ended(office, call); !why.empty()) return failure(why);
    const auto waiting = waiting_now(office).size();
    if (waiting == 0) return answer_with({}, 0, "The inbox is empty. wait_for_message waits for the next one.");
    if (steady_clock::now() >= until)
      return answer_with({}, waiting, "What waits is not ready yet. Try again soon." + weather(office));
  }
}

Answer list_files(Office& office, Call&, const Arguments& arguments) {
  if (const auto why = office.hindrance(); !why.empty()) return failure(why);
  const auto all = office.agent().files();
  const auto shown = std::min(all.size(), static_cast<std::size_t>(arguments.whole("limit")));
  Answer answer;
  answer.text = all.empty() ? "No file has come yet." : fmt::format("{} files, newest first:", all.size());
  JsonWriter out;
  out.begin_object();
  out.key("files");
  out.begin_array();
  for (auto file = all.rbegin(); file != all.rbegin() + static_cast<std::ptrdiff_t>(shown); ++file) {
    const auto delivery = agent::deliver_file(*file);
    write_file(out, delivery.files.front());
    answer.text += "\n" + describe(delivery.files.front());
  }
  out.end_array();
  out.member("total", static_cast<std::int64_t>(all.size()));
  out.end_object();
  answer.structured = out.take();
  return answer;
}

}  // namespace restante::mcp
