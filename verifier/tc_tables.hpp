// What traffic control may say, attribute by attribute: the tables that the accounting reader
// checks against. Every attribute of the headers that this was built with is listed, so that a
// refusal can name what it found; one that is newer than that refuses by its number. Sources:
// linux/rtnetlink.h, linux/pkt_cls.h, linux/tc_act/tc_gact.h, linux/gen_stats.h; cls_flower.c and
// act_api.c for what is sent.
#pragma once

#include "netlink/reader.hpp"

namespace vethgate::tc {

extern const AttributeTable kQdisc;   // RTM_NEWQDISC, whatever the kind
extern const AttributeTable kFilter;  // RTM_NEWTFILTER of kind flower, everything nested below it
extern const AttributeTable kChain;   // RTM_NEWCHAIN

}  // namespace vethgate::tc
