/* plugin.cpp - clip_quantile: clips the input of every batch to a quantile of itself. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/tutti.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace
{

class clip_quantile
{
  public:
    clip_quantile(tutti::host host, tutti::params params)
        : state_(host.require<tutti_state_v1>(TUTTI_STATE_V1)), share_(params.f64("share"))
    {
    }

    /* Asked on the events of the manifest; changes nothing. */
    bool match(const tutti_event &) const
    {
        return share_ < 1;
    }

    /* What it throws becomes the error of the call. */
    void apply(const tutti_event &, int64_t &)
    {
        const tutti::floats input(tutti::get(state_, "input"));
        std::vector<float> sizes;
        for (const float x : input)
            sizes.push_back(std::abs(x));
        if (sizes.empty())
            return;
        const auto at = sizes.begin() + static_cast<std::ptrdiff_t>(
                                            share_ * static_cast<double>(sizes.size() - 1));
        std::nth_element(sizes.begin(), at, sizes.end());
        for (float &x : input)
            x = std::clamp(x, -*at, *at);
    }

  private:
    const tutti_state_v1 &state_;
    double share_;
};

constexpr tutti_object object =
    tutti::object<clip_quantile>("clip_quantile", TUTTI_KIND_ALGORITHM);

} // namespace

TUTTI_CPP_PLUGIN("org.example.clip_quantile", "1.0.0", &object)
