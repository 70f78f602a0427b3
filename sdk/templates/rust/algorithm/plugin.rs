// plugin.rs - soft_sign: squeezes the input of every batch between -1 and 1.
// SPDX-License-Identifier: Apache-2.0
use std::os::raw::c_void;
use std::ptr;
use tutti::sys::*;
use tutti::{fail, floats, make, param_f64, service, text, unmake, Table};

struct SoftSign {
    state: *const tutti_state_v1,
    scale: f32,
}

unsafe extern "C" fn open(
    host: *const tutti_host,
    params: *const tutti_params,
    ret_self: *mut *mut c_void,
    err: *mut tutti_error,
) -> tutti_status {
    let state: *const tutti_state_v1 = service(host, TUTTI_STATE_V1);
    if state.is_null() {
        return fail(err, TUTTI_E_UNSUPPORTED, "soft_sign: this host has no tutti.state/1");
    }
    let scale = param_f64(params, "scale") as f32;
    let made = make(SoftSign { state, scale });
    if made.is_null() {
        return fail(err, TUTTI_E_NOMEM, "soft_sign: no memory");
    }
    *ret_self = made as *mut c_void;
    TUTTI_OK
}

unsafe extern "C" fn close(this: *mut c_void, _err: *mut tutti_error) -> tutti_status {
    unmake(this as *mut SoftSign);
    TUTTI_OK
}

/// Asked on the events of the manifest; changes nothing.
unsafe extern "C" fn match_(_this: *mut c_void, _event: *const tutti_event) -> i32 {
    1
}

unsafe extern "C" fn apply(
    this: *mut c_void,
    _event: *const tutti_event,
    _ret_exit_code: *mut i64,
    err: *mut tutti_error,
) -> tutti_status {
    let me = &*(this as *const SoftSign);
    let mut view: tutti_tensor = std::mem::zeroed();
    let get = (*me.state).get.expect("a member of 1.0");
    let status = get((*me.state).ctx, text(b"input\0"), &mut view, err);
    if status != TUTTI_OK {
        return status;
    }
    let input = match floats(&view) {
        Some(numbers) => numbers,
        None => return fail(err, TUTTI_E_ARG, "soft_sign: the input is not F32"),
    };
    for x in input {
        *x = *x * me.scale / (1.0 + (*x * me.scale).abs());
    }
    TUTTI_OK
}

static CALLS: Table<tutti_calls> = Table(tutti_calls {
    struct_size: std::mem::size_of::<tutti_calls>() as u32,
    reserved: 0,
    open: Some(open),
    match_: Some(match_),
    apply: Some(apply),
    run_event: None,
    close: Some(close),
    post_close: None,
    query: None,
});
static OBJECT: Table<tutti_object> = Table(tutti_object {
    struct_size: std::mem::size_of::<tutti_object>() as u32,
    reserved: 0,
    name: text(b"soft_sign\0"),
    kind: text(TUTTI_KIND_ALGORITHM),
    calls: &CALLS.0,
    check: None,
});
static OBJECTS: Table<[*const tutti_object; 2]> = Table([&OBJECT.0, ptr::null()]);
static PLUGIN: Table<tutti_plugin> = Table(tutti_plugin {
    magic: TUTTI_MAGIC,
    struct_size: std::mem::size_of::<tutti_plugin>() as u32,
    abi_built: tutti::ABI,
    abi_min: tutti::ABI,
    id: text(b"org.example.soft_sign\0"),
    version: text(b"1.0.0\0"),
    objects: OBJECTS.0.as_ptr(),
});

#[no_mangle]
pub extern "C" fn tutti_plugin_v1(_host_abi: u32) -> *const tutti_plugin {
    &PLUGIN.0
}
