/**
 * Returns the free memory of the C library's allocator to the operating system. By itself glibc returns only what is
 * free at the end of an arena: after a load, one small buffer there keeps gigabytes. Does nothing where Node has no
 * `node:ffi`, which is experimental, and with other C libraries, which have no `malloc_trim`.
 */
export function trimAllocator(): void {
  trim ??= findMallocTrim()
  trim()
}

let trim: (() => void) | undefined

function findMallocTrim(): () => void {
  try {
    const { dlopen } = withoutWarnings(() => process.getBuiltinModule('node:ffi'))
    const { functions } = dlopen(null, { malloc_trim: { arguments: ['u64'], return: 'i32' } })
    return () => void functions.malloc_trim(0n)
  } catch {
    return () => undefined
  }
}

/** Node would warn on the standard error of the cluster that the module is experimental. */
function withoutWarnings<T>(load: () => T): T {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = () => undefined
  try {
    return load()
  } finally {
    process.emitWarning = emitWarning
  }
}
