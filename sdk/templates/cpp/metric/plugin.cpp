/* plugin.cpp - square_output: the mean of the squares of the model's first output. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "tutti/tutti.hpp"

#include <cmath>

namespace
{

/* The mean of the squares of the first output. */
class square_output
{
  public:
    square_output(tutti::host, tutti::params)
    {
        table_.struct_size = static_cast<uint32_t>(sizeof table_);
        table_.nsums = 2;
        table_.sums = sums_;
        table_.name = "square_output";
        table_.reset = [](void *self) { of(self).sums_[0] = of(self).sums_[1] = 0; };
        table_.update = [](void *self, const tutti_metric_input *in, tutti_error *err) {
            return tutti::guarded(err, [&] { of(self).add(*in); });
        };
        table_.compute = [](void *self) {
            const double *s = of(self).sums_;
            return s[1] > 0 ? s[0] / s[1] : std::nan("");
        };
    }

    const void *query(const char *id) const
    {
        return std::strcmp(id, TUTTI_METRIC_V1) == 0 ? &table_ : nullptr;
    }

  private:
    static square_output &of(void *self)
    {
        return *static_cast<square_output *>(self);
    }

    void add(const tutti_metric_input &in)
    {
        if (!in.noutputs)
            throw tutti::error(TUTTI_E_ARG, "square_output: the model has no output");
        for (const float x : tutti::floats(in.outputs[0])) {
            sums_[0] += static_cast<double>(x) * static_cast<double>(x);
            sums_[1] += 1;
        }
    }

    double sums_[2] = {0, 0}; /* of the squares, and how many */
    tutti_metric_v1 table_ = {};
};

constexpr tutti_object object =
    tutti::object<square_output>("square_output", TUTTI_KIND_METRIC);

} // namespace

TUTTI_CPP_PLUGIN("org.example.square_output", "1.0.0", &object)
