/** The `-v` flag of commands that run components. */
import { integerFlag } from '#/base/flags.ts'

export const verbosityFlag = {
  v: integerFlag('N', 'log verbosity: 0 warnings (default), 2 info, 4 debug'),
}

export function logLevel(verbosity: number): 'debug' | 'info' | 'warn' {
  return verbosity >= 4 ? 'debug' : verbosity >= 1 ? 'info' : 'warn'
}
