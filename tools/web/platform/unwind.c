// The unwinder of exceptions in WebAssembly, whose engine unwinds the stack itself: landing pads ask the personality
// routine which of their handlers takes an exception. Debian's libraries for wasm32 are built without it. Interface:
// the C++ ABI for Itanium, exception handling, level I; the compiler's part is that of LLVM's WebAssembly back end.
#include <stddef.h>
#include <stdint.h>
#include <unwind.h>

_Unwind_Reason_Code __gxx_personality_wasm0(int version, _Unwind_Action actions, uint64_t exception_class,
                                            struct _Unwind_Exception* exception, struct _Unwind_Context* context);

// Filled by landing pads (the first two) and read by them (the last): the compiler knows this layout.
struct LandingPad {
  uintptr_t index;
  uintptr_t language_data;
  uintptr_t selector;
};

struct LandingPad __wasm_lpad_context;

static struct LandingPad* pad_of(struct _Unwind_Context* context) { return (struct LandingPad*)context; }

_Unwind_Reason_Code _Unwind_CallPersonality(void* thrown) {
  struct _Unwind_Exception* exception = thrown;
  __wasm_lpad_context.selector = 0;
  return __gxx_personality_wasm0(1, _UA_CLEANUP_PHASE, exception->exception_class, exception,
                                 (struct _Unwind_Context*)&__wasm_lpad_context);
}

_Unwind_Reason_Code _Unwind_RaiseException(struct _Unwind_Exception* exception) { __builtin_wasm_throw(0, exception); }

void _Unwind_DeleteException(struct _Unwind_Exception* exception) {
  if (exception->exception_cleanup != NULL) exception->exception_cleanup(_URC_FOREIGN_EXCEPTION_CAUGHT, exception);
}

// The personality routine stores two registers; landing pads of this machine want only the selector.
void _Unwind_SetGR(struct _Unwind_Context* context, int index, _Unwind_Word value) {
  if (index == 1) pad_of(context)->selector = value;
}

// The personality routine takes one from the address, and counts call sites from one.
_Unwind_Word _Unwind_GetIP(struct _Unwind_Context* context) { return pad_of(context)->index + 2; }

void* _Unwind_GetLanguageSpecificData(struct _Unwind_Context* context) { return (void*)pad_of(context)->language_data; }

void _Unwind_SetIP(struct _Unwind_Context* context, _Unwind_Word value) {
  (void)context;
  (void)value;
}

_Unwind_Ptr _Unwind_GetRegionStart(struct _Unwind_Context* context) {
  (void)context;
  return 0;
}

// The tag of C++ exceptions, which functions that throw and catch refer to.
__asm__(
    ".tagtype __cpp_exception i32\n"
    ".globl __cpp_exception\n"
    "__cpp_exception:\n");
