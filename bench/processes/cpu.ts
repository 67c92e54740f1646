/**
 * Nanoseconds of processor time that this thread has taken. Not those that it has waited for a processor: the machine may be
 * shared. What garbage collection does in threads of its own is not in it either, which is in favour of what makes garbage.
 */
export function threadNs(): number {
  // Linux brings the clock of the thread up to date only when it is asked for that of the process.
  process.cpuUsage()
  const { user, system } = process.threadCpuUsage()
  return (user + system) * 1000
}

/** Microseconds of processor time that all threads of this process have taken. */
export function processUs(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}
