/** Values of CRI's enumerations; the index is the number on the wire. */
export const sandboxStates = ['ready', 'not-ready'] as const

export const containerStates = ['created', 'running', 'exited', 'unknown'] as const

export const namespaceModes = ['pod', 'container', 'node', 'target'] as const

export const protocols = ['TCP', 'UDP', 'SCTP'] as const

export const propagations = ['private', 'host-to-container', 'bidirectional'] as const

export const profileTypes = ['RuntimeDefault', 'Unconfined', 'Localhost'] as const

export const groupsPolicies = ['Merge', 'Strict'] as const

/**
 * CRI's number of a signal, which differs from the kernel's. 0 (the image's stop signal) for names that CRI
 * does not define.
 */
export function signalNumber(name: string | undefined): number {
  return Math.max(0, signals.indexOf(name ?? ''))
}

const named =
  'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP ' +
  'TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN'

const signals: readonly string[] = [
  '',
  ...named.split(' ').map(name => `SIG${name}`),
  ...Array.from({ length: 15 }, (_, index) => `SIGRTMIN+${index + 1}`),
  ...Array.from({ length: 14 }, (_, index) => `SIGRTMAX-${14 - index}`),
  'SIGRTMAX',
]
