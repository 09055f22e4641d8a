// The filter of system calls: see confinement.h. Calls on a list are allowed. A few others end the process, so that the parent notices the attempt.
// All other calls fail with EPERM, as for a user without rights.
#include "support/confinement.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LOOPSMITH_UNCONFINED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define LOOPSMITH_UNCONFINED 1
#endif
#endif

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(LOOPSMITH_UNCONFINED)

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace loopsmith {
namespace {

#ifdef __x86_64__
constexpr uint32_t architecture = AUDIT_ARCH_X86_64;
#else
constexpr uint32_t architecture = AUDIT_ARCH_AARCH64;
#endif

/// Calls that are allowed with any arguments.
constexpr int allowed[] = {
    // Open files, and the facts about files (`stat`).
    SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_close, SYS_lseek, SYS_fstat, SYS_newfstatat, SYS_readlinkat, SYS_faccessat, SYS_getcwd,
    SYS_getdents64, SYS_fcntl, SYS_dup, SYS_ppoll, SYS_pselect6,
    // Memory.
    SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk, SYS_mlock, SYS_munlock, SYS_membarrier,
    // Threads of this process.
    SYS_futex, SYS_set_robust_list, SYS_get_robust_list, SYS_set_tid_address, SYS_sched_yield, SYS_sched_getaffinity, SYS_sched_setaffinity, SYS_sched_getparam,
    SYS_sched_getscheduler, SYS_exit, SYS_exit_group, SYS_gettid, SYS_getcpu,
    // Its own signals.
    SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_rt_sigtimedwait, SYS_sigaltstack, SYS_restart_syscall,
    // Read-only queries.
    SYS_getpid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_uname, SYS_sysinfo, SYS_getrandom, SYS_getrusage, SYS_times, SYS_getpriority,
    // Time, and counters of events.
    SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_perf_event_open,
#ifdef SYS_statx
    SYS_statx,
#endif
#ifdef SYS_faccessat2
    SYS_faccessat2,
#endif
#ifdef SYS_rseq
    SYS_rseq,
#endif
#ifdef SYS_futex_waitv
    SYS_futex_waitv,
#endif
#ifdef __x86_64__
    SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_poll, SYS_select, SYS_time, SYS_arch_prctl,
#endif
};

/// Calls that end the process: no tensor program needs them.
constexpr int fatal[] = {
    SYS_execve, SYS_execveat, SYS_kill, SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_setsid, SYS_setpgid, SYS_ptrace, SYS_process_vm_readv,
    SYS_process_vm_writev, SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_unshare, SYS_setns, SYS_mount, SYS_bpf, SYS_keyctl,
#ifdef SYS_pidfd_send_signal
    SYS_pidfd_send_signal, SYS_pidfd_open,
#endif
#ifdef SYS_io_uring_setup
    SYS_io_uring_setup,
#endif
#ifdef __x86_64__
    SYS_fork, SYS_vfork,
#endif
};

constexpr uint32_t pass = SECCOMP_RET_ALLOW;
constexpr uint32_t end = SECCOMP_RET_KILL_PROCESS;
constexpr uint32_t deny = SECCOMP_RET_ERRNO | EPERM;

/// Writes the filter's program. Jumps count from the next instruction, so each rule is complete in itself: it returns a verdict, or continues behind itself.
class Filter {
 public:
  Filter() {
    load(offsetof(seccomp_data, arch));
    put(BPF_JMP | BPF_JEQ | BPF_K, architecture, 1, 0);
    answer(end);
    load_number();
#ifdef __x86_64__
    // The numbers of the x32 interface: the same calls under other numbers.
    put(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    answer(end);
#endif
  }
  void rule(int call, uint32_t action) {
    put(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1);
    answer(action);
  }
  /// Returns `yes` for the call if argument `index` has any of the bits of `mask`, else `no`.
  void rule_by_bits(int call, int index, uint32_t mask, uint32_t yes, uint32_t no) {
    put(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 4);
    load_argument(index);
    put(BPF_JMP | BPF_JSET | BPF_K, mask, 0, 1);
    answer(yes);
    answer(no);
  }
  /// Allows the call if argument `index` has the value; else returns `otherwise`.
  void rule_by_value(int call, int index, uint32_t value, uint32_t otherwise) {
    put(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 4);
    load_argument(index);
    put(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    answer(pass);
    answer(otherwise);
  }
  /// ioctl: queries of a terminal's size and kind, and counters of events (type '$').
  void rule_of_ioctl() {
    put(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 8);
    load_argument(1);
    put(BPF_JMP | BPF_JEQ | BPF_K, TCGETS, 4, 0);
    put(BPF_JMP | BPF_JEQ | BPF_K, TIOCGWINSZ, 3, 0);
    put(BPF_ALU | BPF_RSH | BPF_K, 8, 0, 0);
    put(BPF_ALU | BPF_AND | BPF_K, 0xff, 0, 0);
    put(BPF_JMP | BPF_JEQ | BPF_K, '$', 0, 1);
    answer(pass);
    answer(deny);
  }
  void answer(uint32_t action) { put(BPF_RET | BPF_K, action, 0, 0); }
  auto install() -> bool {
    sock_fprog program{static_cast<unsigned short>(code_.size()), code_.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
  }

 private:
  void put(int operation, uint32_t operand, uint8_t if_true, uint8_t if_false) {
    code_.push_back({static_cast<uint16_t>(operation), if_true, if_false, operand});
  }
  void load(size_t offset) { put(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset), 0, 0); }
  void load_number() { load(offsetof(seccomp_data, nr)); }
  /// Loads the low half of an argument; both machines store it first.
  void load_argument(int index) { load(offsetof(seccomp_data, args) + static_cast<size_t>(index) * sizeof(uint64_t)); }
  std::vector<sock_filter> code_;
};

}  // namespace

auto confine_this_thread() -> bool {
  Filter filter;
  for (int call : allowed) { filter.rule(call, pass); }
  for (int call : fatal) { filter.rule(call, end); }
  // Allows a new thread, but no new process. The arguments of clone3 are in memory, where a filter cannot read them: clone3 fails, and the C library uses clone.
  filter.rule_by_bits(SYS_clone, 0, CLONE_THREAD, pass, end);
#ifdef SYS_clone3
  filter.rule(SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
#endif
  // Files are opened for reading only.
  constexpr uint32_t writes = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND;
  filter.rule_by_bits(SYS_openat, 2, writes, deny, pass);
#ifdef __x86_64__
  filter.rule_by_bits(SYS_open, 1, writes, deny, pass);
#endif
  // `abort` sends this process a signal.
  filter.rule_by_value(SYS_tgkill, 0, static_cast<uint32_t>(::getpid()), end);
  // Names of threads and of memory are allowed; the death signal of other processes is not.
  filter.rule_by_value(SYS_prctl, 0, PR_SET_NAME, deny);
  // Limits may be read, but not set: the third argument, a pointer to the new limits, must be null. The filter compares its lower
  // half.
  filter.rule_by_value(SYS_prlimit64, 2, 0, deny);
  filter.rule_of_ioctl();
  filter.answer(deny);
  return filter.install();
}

}  // namespace loopsmith

#else

namespace loopsmith {

auto confine_this_thread() -> bool { return false; }

}  // namespace loopsmith

#endif
