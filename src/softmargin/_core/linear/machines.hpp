// The descent of a machine and its sub-problem solver, by their names.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "descent.hpp"

namespace softmargin::linear {

template <class Real, class... Arguments>
std::unique_ptr<AnyDescent<Real>> make_descent(const std::string& machine,
                                               const std::string& method,
                                               const Arguments&... arguments) {
  const auto make = [&]<class Machine>(Machine) -> std::unique_ptr<AnyDescent<Real>> {
    return std::make_unique<Descent<Real, Machine>>(arguments...);
  };
  if (machine == "weston_watkins" && method == "newton") return make(WestonWatkins());
  if (machine == "weston_watkins" && method == "sorted") return make(WestonWatkinsSorted());
  if (machine == "weston_watkins" && method == "greedy") return make(WestonWatkinsGreedy());
  if (machine == "crammer_singer" && method == "newton") return make(CrammerSinger());
  if (machine == "ovr" && method == "newton") return make(OneVsRest());
  throw std::invalid_argument("unknown machine " + machine + " with sub-problem " + method);
}

}  // namespace softmargin::linear
