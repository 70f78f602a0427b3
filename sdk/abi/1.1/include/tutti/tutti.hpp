/* tutti.hpp - plugins in C++17: constructors and destructors for open and close, exceptions inside, none outside. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TUTTI_HPP
#define TUTTI_HPP

/* The C headers cast as C does. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "dataset.h"
#include "log.h"
#include "logger.h"
#include "metric.h"
#include "metrics.h"
#include "optimizer.h"
#include "scheduler.h"
#include "state.h"
#include "stateful.h"
#include "transform.h"
#include "tutti.h"
#include "weights.h"

#include <cstring>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace tutti
{

/* What a plugin throws to fail with a status of its own. */
class error : public std::runtime_error
{
  public:
    error(tutti_status status, const std::string &text)
        : std::runtime_error(text), status_(status)
    {
    }
    tutti_status status() const noexcept
    {
        return status_;
    }

  private:
    tutti_status status_;
};

/* Calls `f`, which returns nothing.  Whatever it throws becomes a status and a sentence in *err, which may be
 * NULL: nothing leaves the plugin.  Every function of a typed table that is written by hand wants it.  [any] */
template <class F> tutti_status guarded(tutti_error *err, F &&f) noexcept
{
    try {
        f();
        return TUTTI_OK;
    } catch (const error &e) {
        return tutti_fail(err, e.status() < 0 ? e.status() : tutti_status{TUTTI_E_FAIL}, "%s",
                          e.what());
    } catch (const std::bad_alloc &) {
        return tutti_fail(err, TUTTI_E_NOMEM, "no memory");
    } catch (const std::exception &e) {
        return tutti_fail(err, TUTTI_E_FAIL, "%s", e.what());
    } catch (...) {
        return tutti_fail(err, TUTTI_E_FAIL, "something was thrown that is no std::exception");
    }
}

/* The other way: a call of the host that fails throws what it says. */
template <class F> void checked(F &&f)
{
    tutti_error e = {};
    e.struct_size = static_cast<uint32_t>(sizeof e);
    const tutti_status status = f(&e);
    if (status)
        throw error(status, *e.text ? e.text : tutti_status_name(status));
}

/* Settings, valid by the manifest.  Borrowed for the constructor's call; texts live as long as the instance. */
class params
{
  public:
    explicit params(const tutti_params *p) noexcept : p_(p)
    {
    }
    int64_t i64(const char *name) const noexcept
    {
        return tutti_param_i64(p_, name);
    }
    double f64(const char *name) const noexcept
    {
        return tutti_param_f64(p_, name);
    }
    bool flag(const char *name) const noexcept
    {
        return i64(name) != 0;
    }
    bool has(const char *name) const noexcept
    {
        return tutti_param_is_set(p_, name) != 0;
    }
    tutti_time time(const char *name) const noexcept
    {
        return tutti_param_time(p_, name);
    }
    const char *text(const char *name) const noexcept
    {
        return tutti_param_str(p_, name);
    } /* or NULL */

  private:
    const tutti_params *p_;
};

/* The host's services.  Lives as long as the instance. */
class host
{
  public:
    explicit host(const tutti_host *h) noexcept : h_(h)
    {
    }
    /* The service's table, or NULL where this host has none: find<tutti_state_v1>(TUTTI_STATE_V1). */
    template <class Table> const Table *find(const char *id) const noexcept
    {
        return h_ ? static_cast<const Table *>(h_->query(h_->ctx, id)) : nullptr;
    }
    /* The same; throws where there is none. */
    template <class Table> const Table &require(const char *id) const
    {
        const Table *table = find<Table>(id);
        if (!table)
            throw error(TUTTI_E_UNSUPPORTED, std::string("this host has no ") + id);
        return *table;
    }

  private:
    const tutti_host *h_;
};

/* A tensor of tutti.state/1 as it is now: throws where there is none of that name. */
inline tutti_tensor get(const tutti_state_v1 &state, const char *name)
{
    tutti_tensor view = {};
    checked([&](tutti_error *e) { return state.get(state.ctx, name, &view, e); });
    return view;
}

/* The F32 numbers of a tensor: begin() and end() for loops.  Throws where they are not F32. */
class floats
{
  public:
    explicit floats(const tutti_tensor &t)
        : data_(static_cast<float *>(t.data)), n_(tutti_numel(&t.desc))
    {
        if (t.desc.dtype != TUTTI_F32)
            throw error(TUTTI_E_ARG, std::string("a tensor is ") +
                                         tutti_dtype_name(t.desc.dtype) + ", want F32");
    }
    float *begin() const noexcept
    {
        return data_;
    }
    float *end() const noexcept
    {
        return data_ + n_;
    }

  private:
    float *data_;
    int64_t n_;
};

namespace detail
{
template <class T, class = void> struct has_match : std::false_type {
};
template <class T>
struct has_match<
    T, std::void_t<decltype(std::declval<T &>().match(std::declval<const tutti_event &>()))>>
    : std::true_type {
};
template <class T, class = void> struct has_run_event : std::false_type {
};
template <class T>
struct has_run_event<T, std::void_t<decltype(std::declval<T &>().run_event(
                            std::declval<const tutti_event &>()))>> : std::true_type {
};
template <class T, class = void> struct has_query : std::false_type {
};
template <class T>
struct has_query<T,
                 std::void_t<decltype(std::declval<T &>().query(std::declval<const char *>()))>>
    : std::true_type {
};

template <class T>
tutti_status open(const tutti_host *h, const tutti_params *p, void **ret_self,
                  tutti_error *err) noexcept
{
    T *made = nullptr;
    const tutti_status status = guarded(err, [&] { made = new T(host(h), params(p)); });
    if (!status)
        *ret_self = made;
    return status;
}

template <class T> tutti_status close(void *self, tutti_error *) noexcept
{
    delete static_cast<T *>(self);
    return TUTTI_OK;
}

template <class T> int32_t match(void *self, const tutti_event *event) noexcept
{
    bool answer = false;
    const tutti_status status =
        guarded(nullptr, [&] { answer = static_cast<T *>(self)->match(*event); });
    return status ? status : answer;
}

template <class T>
tutti_status apply(void *self, const tutti_event *event, int64_t *ret_exit_code,
                   tutti_error *err) noexcept
{
    return guarded(err, [&] { static_cast<T *>(self)->apply(*event, *ret_exit_code); });
}

template <class T>
tutti_status run_event(void *self, const tutti_event *event, tutti_error *err) noexcept
{
    return guarded(err, [&] { static_cast<T *>(self)->run_event(*event); });
}

template <class T> const void *query(void *self, const char *id) noexcept
{
    const void *table = nullptr;
    return guarded(nullptr, [&] { table = static_cast<T *>(self)->query(id); }) ? nullptr
                                                                                : table;
}

template <class T> constexpr tutti_calls make_calls()
{
    tutti_calls c = {};
    c.struct_size = static_cast<uint32_t>(sizeof c);
    c.open = open<T>;
    c.close = close<T>;
    if constexpr (has_match<T>::value) {
        c.match = match<T>;
        c.apply = apply<T>;
    }
    if constexpr (has_run_event<T>::value)
        c.run_event = run_event<T>;
    if constexpr (has_query<T>::value)
        c.query = query<T>;
    return c;
}

template <class T> inline constexpr tutti_calls calls = make_calls<T>();
} // namespace detail

/* The object of class T, which has
 *     T(tutti::host, tutti::params)                                   open; the destructor is close
 *     bool match(const tutti_event &), void apply(const tutti_event &, int64_t &exit_code)   of algorithms and passes
 *     void run_event(const tutti_event &)                             of callbacks and loggers
 *     const void *query(const char *interface_id)                     of whoever has typed tables
 * each as far as its kind needs it; all may throw, but for the destructor. */
template <class T> constexpr tutti_object object(const char *name, const char *kind)
{
    tutti_object o = {};
    o.struct_size = static_cast<uint32_t>(sizeof o);
    o.name = name;
    o.kind = kind;
    o.calls = &detail::calls<T>;
    return o;
}

constexpr tutti_plugin plugin(const char *id, const char *version,
                              const tutti_object *const *objects)
{
    tutti_plugin p = {};
    p.magic = TUTTI_MAGIC;
    p.struct_size = static_cast<uint32_t>(sizeof p);
    p.abi_built = (uint32_t{1} << 16) | TUTTI_USE_MINOR;
    p.abi_min = (uint32_t{1} << 16) | TUTTI_MIN_MINOR;
    p.id = id;
    p.version = version;
    p.objects = objects;
    return p;
}

} // namespace tutti
#pragma GCC diagnostic pop

/* The entry function of a plugin with these objects: pointers to constants that tutti::object made. */
#define TUTTI_CPP_PLUGIN(id_, version_, ...)                                                   \
    static constexpr const tutti_object *tutti_cpp_objects[] = {__VA_ARGS__, nullptr};         \
    static constexpr tutti_plugin tutti_cpp_plugin =                                           \
        tutti::plugin(id_, version_, tutti_cpp_objects);                                       \
    const tutti_plugin *tutti_plugin_v1(uint32_t)                                              \
    {                                                                                          \
        return &tutti_cpp_plugin;                                                              \
    }

#endif
