/* Functions to which the compiler adds calls. On other systems every process has them; on Windows they are in a runtime
   library, which ziglang would have to build first, for minutes. */
#if defined(_WIN32)
#include <stddef.h>

void *memset(void *to, int value, size_t count) {
    void *at = to;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(count) : "a"(value) : "memory");
    return to;
}

void *memcpy(void *restrict to, const void *restrict from, size_t count) {
    void *at = to;
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(count) : : "memory");
    return to;
}

/* Touch every page of the rax bytes that a function is about to take from the stack, which grows by a page at a time. */
__attribute__((naked)) void ___chkstk_ms(void) {
    __asm__("pushq %rcx\n"
            "pushq %rax\n"
            "leaq 24(%rsp), %rcx\n"
            "1: cmpq $0x1000, %rax\n"
            "jb 2f\n"
            "subq $0x1000, %rcx\n"
            "orq $0, (%rcx)\n"
            "subq $0x1000, %rax\n"
            "jmp 1b\n"
            "2: subq %rax, %rcx\n"
            "orq $0, (%rcx)\n"
            "popq %rax\n"
            "popq %rcx\n"
            "ret\n");
}

/* Called when the library is loaded and when threads start and end: there is nothing to do. */
int DllMainCRTStartup(void) { return 1; }
#endif
