#include "desk/news.h"

#include "base/json_writer.h"
#include "desk/workspaces.h"

namespace restante::desk {
namespace {

constexpr std::size_t kRemembered = 4096;

std::string row_data(WorkspaceId workspace, const Appended& at, const NewActivity& row) {
  JsonWriter out;
  out.begin_object();
  out.member("activity_id", at.id.text());
  out.member("activity_type", row.activity_type);
  out.member("method", row.method);
  out.member("seq", at.seq);
  out.member("summary", row.summary);
  out.member("workspace_id", workspace.text());
  out.end_object();
  return out.take();
}

}  // namespace

std::string live_topic_of(WorkspaceId workspace) { return "live:" + workspace.text(); }

void News::appended(WorkspaceId workspace, const Appended& at, const NewActivity& row) {
  bell_.ring(topic_of(workspace));
  if (*watchers_ == 0) return;
  remember({0, workspace, "ACTIVITY_LOGGED", row_data(workspace, at, row), at.seq});
  bell_.ring(kAllNews);
}

void News::happened(WorkspaceId workspace, std::string_view name, std::string data) {
  if (*watchers_ == 0) return;
  remember({0, workspace, std::string(name), std::move(data), 0});
  bell_.ring(live_topic_of(workspace));
  bell_.ring(kAllNews);
}

void News::changed(WorkspaceId workspace) { bell_.ring(topic_of(workspace)); }

void News::remember(NewsItem item) {
  const std::lock_guard lock(mutex_);
  item.number = ++last_;
  recent_.push_back(std::move(item));
  if (recent_.size() > kRemembered) recent_.pop_front();
}

std::uint64_t News::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

News::Page News::since(std::uint64_t number, std::optional<WorkspaceId> only) const {
  const std::lock_guard lock(mutex_);
  Page page;
  page.last = last_;
  page.missed = number < last_ && (recent_.empty() || recent_.front().number > number + 1);
  for (const NewsItem& item : recent_) {
    if (item.number > number && (!only || item.workspace == *only)) page.items.push_back(item);
  }
  return page;
}

}  // namespace restante::desk
