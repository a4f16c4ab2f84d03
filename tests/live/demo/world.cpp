#include "tests/live/demo/world.hpp"

#include <string>

#include "tests/live/fixture/topology.hpp"

namespace vethgate::live {

World::World() : own_(machine_), others_(outside_) {
  configure(machine_, "link add outside type veth peer name machine netns " + outside_.name() +
                          "\nlink set outside up\naddress add 198.51.100.1/30 dev outside\n"
                          "address add 2001:db8:2::1/64 dev outside nodad\n");
  configure(outside_,
            "link set machine up\naddress add 198.51.100.2/30 dev machine\n"
            "address add 2001:db8:2::2/64 dev machine nodad\n"
            "route add " +
                std::string(kJobsV6) +
                " via 2001:db8:2::1\n"
                "address add 203.0.113.2/32 dev lo\naddress add 10.9.8.7/32 dev lo\n"
                "address add 169.254.169.254/32 dev lo\naddress add 192.0.2.53/32 dev lo\n"
                "address add 2001:db8:ff::2/128 dev lo\n"
                "address add fd00:dead:beef::2/128 dev lo\n");
  configure(machine_, "route add default via 198.51.100.2\nroute add default via 2001:db8:2::2\n");
  for (const std::string_view target : {kPublicHost, kPublicHostV6, kPrivateHost, kPrivateHostUdp,
                                        kPrivateHostV6, kMetadataService, kResolver}) {
    others_.listenOn(std::string(target));
  }
  // At every address: docker's own does not exist yet.
  own_.listenOn("tcp:0.0.0.0:49200");
  own_.listenOn("tcp:0.0.0.0:22");
}

}  // namespace vethgate::live
