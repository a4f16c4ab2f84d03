#include "docker/sweep/selection.hpp"

#include <sys/random.h>

#include <algorithm>
#include <string_view>
#include <tuple>

#include "base/error.hpp"
#include "docker/custody/labels.hpp"
#include "docker/engine/failure.hpp"
#include "docker/engine/requests.hpp"

namespace vethgate::docker {
namespace {

constexpr std::string_view kPrefix = "vethgate.";

const std::string* labelOf(const Container& container, const char* key) {
  const auto entry = container.labels.find(key);
  return entry == container.labels.end() ? nullptr : &entry->second;
}

bool carriesOurs(const Labels& labels) {
  const auto first = labels.lower_bound(std::string(kPrefix));
  return first != labels.end() && first->first.starts_with(kPrefix);
}

bool isName(const std::string& text) {
  try {
    static_cast<void>(checkedName(text, "label"));
    return true;
  } catch (const Failure&) {
    return false;
  }
}

std::string found(const char* label, const std::string* value) {
  return std::string("the label ") + label +
         (value == nullptr ? " is missing" : " is \"" + quoted(*value) + "\"");
}

std::optional<Role> roleOf(const std::string* text) {
  if (text != nullptr) {
    for (const auto& [name, role] :
         {std::pair{kJobRole, Role::kJob}, std::pair{kHelperRole, Role::kHelper},
          std::pair{kHolderRole, Role::kHolder}}) {
      if (*text == name) {
        return role;
      }
    }
  }
  return std::nullopt;
}

// A job's own container is named by whoever starts it.
bool isNamed(const std::string& name, Role role, const std::string& job) {
  if (role == Role::kHelper) {
    const std::string nameless = helperName(job, "");
    const std::size_t before = nameless.size() - job.size() - 1;
    return name.size() > nameless.size() && name.starts_with(nameless.substr(0, before)) &&
           name.ends_with(nameless.substr(before));
  }
  return role == Role::kJob || name == holderName(job);
}

auto orderOf(const Owned& one) { return std::tie(one.job, one.role, one.id); }

void sort(Selection& selection) {
  const auto byId = [](const auto& a, const auto& b) { return a.id < b.id; };
  const auto sameId = [](const auto& a, const auto& b) { return a.id == b.id; };
  const auto unique = [&](auto& list) {
    std::stable_sort(list.begin(), list.end(), byId);
    list.erase(std::unique(list.begin(), list.end(), sameId), list.end());
  };
  unique(selection.due);
  unique(selection.skipped);
  std::sort(selection.due.begin(), selection.due.end(),
            [](const Owned& a, const Owned& b) { return orderOf(a) < orderOf(b); });
}

}  // namespace

const char* word(Unfit reason) {
  switch (reason) {
    case Unfit::kOwner:
      return "unreadable-owner";
    case Unfit::kRole:
      return "unknown-role";
    case Unfit::kJob:
      return "missing-job";
    case Unfit::kName:
      return "unexpected-name";
    case Unfit::kStamp:
      return "unreadable-stamp";
    case Unfit::kClock:
      return "clock-jumped";
    case Unfit::kNotDue:
      return "not-due";
  }
  return "?";
}

Identity identify(const Container& container, const std::string& owner) {
  const std::string* const label = labelOf(container, kOwnerLabel);
  const auto unfit = [&](Unfit reason, std::string text) {
    return Skipped{container.id, container.name, reason, std::move(text), std::nullopt};
  };
  if (owner.empty() || !carriesOurs(container.labels)) {
    return std::monostate();
  }
  if (label == nullptr || !isName(*label)) {
    return unfit(Unfit::kOwner, found(kOwnerLabel, label) + ", so no owner's sweep removes it");
  }
  if (*label != owner) {
    return std::monostate();
  }
  const std::string* const roleLabel = labelOf(container, kRoleLabel);
  const std::optional<Role> role = roleOf(roleLabel);
  if (!role) {
    return unfit(Unfit::kRole, found(kRoleLabel, roleLabel) + ", expected job, helper or holder");
  }
  const std::string* const job = labelOf(container, kJobLabel);
  if (job == nullptr || !isName(*job)) {
    return unfit(Unfit::kJob, found(kJobLabel, job) + ", expected the id of a job");
  }
  if (!isNamed(container.name, *role, *job)) {
    return unfit(Unfit::kName,
                 "its name is not what vethgate calls the " + *roleLabel + " of job " + *job);
  }
  return Owned{container.id, container.name, *job, *role, stampOf(container.labels)};
}

Selection selectDue(const std::vector<Container>& containers, const std::string& owner,
                    std::uint64_t now) {
  Selection selection;
  for (const Container& container : containers) {
    const Identity identity = identify(container, owner);
    if (const Skipped* skipped = std::get_if<Skipped>(&identity)) {
      selection.skipped.push_back(*skipped);
    } else if (const Owned* owned = std::get_if<Owned>(&identity)) {
      if (owned->due(now)) {
        selection.due.push_back(*owned);
      } else if (owned->removeAfter) {
        selection.skipped.push_back(
            {owned->id, owned->name, Unfit::kNotDue,
             "it may be removed " + std::to_string(*owned->removeAfter - now) + " s from now",
             owned->removeAfter});
      } else {
        selection.skipped.push_back(
            {owned->id, owned->name, Unfit::kStamp,
             found(kRemoveAfterLabel, labelOf(container, kRemoveAfterLabel)) +
                 ", expected a unix second",
             std::nullopt});
      }
    }
  }
  sort(selection);
  return selection;
}

Selection selectHolders(const std::vector<Container>& containers, const std::string& owner) {
  Selection selection;
  for (const Container& container : containers) {
    const Identity identity = identify(container, owner);
    if (const Skipped* skipped = std::get_if<Skipped>(&identity)) {
      selection.skipped.push_back(*skipped);
    } else if (const Owned* owned = std::get_if<Owned>(&identity);
               owned != nullptr && owned->role == Role::kHolder) {
      selection.due.push_back(*owned);
    }
  }
  sort(selection);
  return selection;
}

Cursor Cursor::anywhere() {
  Cursor cursor;
  if (getrandom(&cursor.offset_, sizeof cursor.offset_, 0) !=
      static_cast<ssize_t>(sizeof cursor.offset_)) {
    throw Failure(ExitCode::kDefect, "the kernel gave no random bytes");
  }
  return cursor;
}

void Cursor::advance(const Owned& attempted) { last_ = attempted; }

std::vector<Owned> Cursor::from(std::vector<Owned> due) const {
  auto first = due.begin();
  if (last_) {
    first = std::find_if(due.begin(), due.end(),
                         [&](const Owned& one) { return orderOf(*last_) < orderOf(one); });
  } else if (!due.empty()) {
    first += static_cast<std::ptrdiff_t>(offset_ % due.size());
  }
  std::rotate(due.begin(), first, due.end());
  return due;
}

}  // namespace vethgate::docker
