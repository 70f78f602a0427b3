// lib.rs - plugins in Rust: the headers as sys, and the little that every plugin needs around them.
// SPDX-License-Identifier: Apache-2.0
//! A plugin is a cdylib that is built with `-C panic=abort` or catches panics at its edge: none may leave it.
pub mod sys;

use std::alloc::{alloc, dealloc, Layout};
use std::ffi::CStr;
use std::os::raw::c_char;
use sys::*;

/// A table of constants that the host reads from any thread.
#[repr(transparent)]
pub struct Table<T>(pub T);
// The tables are never written to.
unsafe impl<T> Sync for Table<T> {}

/// `"mixup\0"` as C has it; the zero must be there.
pub const fn text(bytes: &'static [u8]) -> *const c_char {
    assert!(bytes[bytes.len() - 1] == 0, "the text has no zero at its end");
    bytes.as_ptr() as *const c_char
}

/// Writes one sentence to `err`, which may be null or hold an earlier cause that then stays, and returns `status`.
///
/// # Safety
/// `err` is null or the host's error.
pub unsafe fn fail(err: *mut tutti_error, status: tutti_status, sentence: &str) -> tutti_status {
    if !err.is_null() && (*err).status == 0 {
        let room = (*err).text.len() - 1;
        let mut size = sentence.len().min(room);
        while !sentence.is_char_boundary(size) {
            size -= 1;
        }
        for (to, from) in (*err).text.iter_mut().zip(&sentence.as_bytes()[..size]) {
            *to = *from as c_char;
        }
        (*err).text[size] = 0;
        (*err).status = status;
    }
    status
}

/// Moves `value` to memory of its own; null where there is none, where Box would end the process.
pub fn make<T>(value: T) -> *mut T {
    let layout = Layout::new::<T>();
    assert!(layout.size() > 0, "the instance has no size");
    // SAFETY: the layout has a size, and what is written is as large.
    unsafe {
        let at = alloc(layout) as *mut T;
        if !at.is_null() {
            at.write(value);
        }
        at
    }
}

/// The end of what `make` gave.
///
/// # Safety
/// `at` came from `make::<T>` and is not used again.
pub unsafe fn unmake<T>(at: *mut T) {
    at.drop_in_place();
    dealloc(at as *mut u8, Layout::new::<T>());
}

/// The setting of that name, which the manifest declares as a float or int; 0 where it does not.
///
/// # Safety
/// `params` is what `open` got.
pub unsafe fn param_f64(params: *const tutti_params, name: &str) -> f64 {
    for k in 0..(*params).count as usize {
        let one = *(*params).items.add(k);
        if CStr::from_ptr((*one).name).to_bytes() == name.as_bytes() {
            return (*one).f;
        }
    }
    0.0
}

/// The host's service of that id, or null.
///
/// # Safety
/// `host` is what `open` got, and `T` the table of that id.
pub unsafe fn service<T>(host: *const tutti_host, id: &'static [u8]) -> *const T {
    match (*host).query {
        Some(query) => query((*host).ctx, text(id)) as *const T,
        None => std::ptr::null(),
    }
}

/// The F32 numbers of a tensor in the host's memory; None where they are of another dtype.
///
/// # Safety
/// `t` is a view that is still valid, and nobody else has it.
pub unsafe fn floats<'a>(t: &tutti_tensor) -> Option<&'a mut [f32]> {
    if t.desc.dtype != TUTTI_F32 as i32 || t.data.is_null() {
        return None;
    }
    let n: i64 = t.desc.dim[..t.desc.rank as usize].iter().product();
    Some(std::slice::from_raw_parts_mut(t.data as *mut f32, n as usize))
}

/// ABI 1.0, for which sys was made.
pub const ABI: u32 = 1 << 16 | TUTTI_USE_MINOR;
