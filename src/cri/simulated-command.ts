/**
 * Interprets a command line for simulated containers, both of the simulated runtime and of hollow nodes.
 * Supports `sleep`, `exit`, `true`, `false`, `echo` and `cat` without a file, alone or in a simple shell
 * script. It is not a shell: more complex behavior is specified as a script object.
 */
import { tryParseDurationMs } from '#/api/text/duration.ts'
import { splitScript, type Clause } from './simulated/split-script.ts'

export type CommandStep =
  /** `Infinity` waits forever. */
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'print'; readonly stream: 'stdout' | 'stderr'; readonly text: string }
  /** Writes to a file in the container that is mounted from the node. */
  | { readonly do: 'write'; readonly path: string; readonly text: string }
  /** Copies stdin to stdout until stdin ends. */
  | { readonly do: 'copy' }
  | { readonly do: 'exit'; readonly code: number }

/** The last step exits or waits forever. Undefined if the command is not understood. */
export function parseSimulatedCommand(words: readonly string[]): readonly CommandStep[] | undefined {
  const [first = '', flag = '', text = ''] = words
  const isShell = /^(?:\/bin\/|\/usr\/bin\/)?(?:sh|bash)$/.test(first) && /^-[a-z]*c$/.test(flag)
  const clauses = isShell ? splitScript(text) : [{ words, when: 'always' } as const]
  return clauses && stepsOf(clauses)
}

/** Duration and exit code of a command. */
export interface CommandOutcome {
  readonly afterMs: number
  readonly exitCode: number
}

/** Assumes that stdin is empty. */
export function outcomeOf(steps: readonly CommandStep[]): CommandOutcome | 'forever' {
  let afterMs = 0
  for (const step of steps) {
    if (step.do === 'exit') return { afterMs, exitCode: step.code }
    if (step.do === 'wait') afterMs += step.ms
  }
  return 'forever'
}

/** Two pod annotations override the behavior of all containers of the pod. */
export function outcomeOfAnnotations(
  annotations: Readonly<Record<string, string>> = {},
): CommandOutcome | undefined {
  const code = annotations[exitCodeAnnotation]
  const after = annotations[exitAfterAnnotation]
  if (code === undefined && after === undefined) return undefined
  const exitCode = Number(code ?? 0)
  return {
    afterMs: tryParseDurationMs(after ?? '0s') ?? 0,
    exitCode: Number.isInteger(exitCode) ? exitCode & 255 : 0,
  }
}

const exitCodeAnnotation = 'simulated.k8ts.io/exit-code'
const exitAfterAnnotation = 'simulated.k8ts.io/exit-after'

function stepsOf(clauses: readonly Clause[]): readonly CommandStep[] | undefined {
  const steps: CommandStep[] = []
  let code: number | undefined
  for (const clause of clauses) {
    const [name = '', value = ''] = clause.words
    const isSkipped = clause.when === 'success' ? code !== 0 : clause.when === 'failure' && code === 0
    if (name === '' || (isSkipped && code !== undefined)) continue
    const verb = name.replace(/^.*\//, '')
    if (verb === 'exit') return [...steps, { do: 'exit', code: Number(value || (code ?? 0)) & 255 }]
    if (verb === 'sleep') {
      const ms = sleepMs(value)
      addWait(steps, ms)
      if (ms === Infinity) return steps
    } else if (verb === 'echo') steps.push(echo(clause))
    else if (verb === 'cat' && clause.words.length === 1) steps.push({ do: 'copy' })
    else if (!['true', 'false', ':'].includes(verb)) return undefined
    code = verb === 'false' ? 1 : 0
  }
  return code === undefined ? undefined : [...steps, { do: 'exit', code }]
}

function echo({ words: [, ...words], target }: Clause): CommandStep {
  const isBare = words[0] === '-n'
  const text = `${(isBare ? words.slice(1) : words).join(' ')}${isBare ? '' : '\n'}`
  if (target === undefined || target === '&1') return { do: 'print', stream: 'stdout', text }
  return target === '&2' ? { do: 'print', stream: 'stderr', text } : { do: 'write', path: target, text }
}

function addWait(steps: CommandStep[], ms: number): void {
  const last = steps.at(-1)
  if (last?.do === 'wait') steps[steps.length - 1] = { do: 'wait', ms: last.ms + ms }
  else if (ms > 0) steps.push({ do: 'wait', ms })
}

function sleepMs(value: string): number {
  if (value === 'infinity' || value === 'inf') return Infinity
  return /^\d+(?:\.\d+)?$/.test(value) ? Number(value) * 1_000 : (tryParseDurationMs(value) ?? 0)
}
