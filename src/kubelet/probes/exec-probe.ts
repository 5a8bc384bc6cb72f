import { formatDurationMs } from '#/api/text/duration.ts'
import type { Container } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'
import { CriError, type ContainerRuntime } from '#/cri/cri.ts'
import { expandVariables } from '../expand-variables.ts'
import type { ProbeOutcome } from './run-probe.ts'

export interface ExecProbe {
  readonly id: string
  readonly container: Container
  readonly command: readonly string[]
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Limit of command output in messages. */
const outputBytesMax = 10 * 1_024

export async function probeExec(
  runtime: Pick<ContainerRuntime, 'execSync'>,
  { id, container, command, timeoutMs, signal }: ExecProbe,
): Promise<ProbeOutcome> {
  const words = command.map(word => expandVariables(word, name => staticValue(container, name)))
  try {
    const { stdout, stderr, exitCode } = await runtime.execSync(
      { containerId: id, command: words, timeoutMs },
      { signal },
    )
    const bytes = Buffer.concat([stdout, stderr]).subarray(0, outputBytesMax)
    return { type: exitCode === 0 ? 'success' : 'failure', output: bytes.toString() }
  } catch (error) {
    if (!(error instanceof CriError) || error.reason !== 'timeout') throw error
    const text = `${quote(words.join(' '))} timed out after ${formatDurationMs(timeoutMs)}`
    return { type: 'failure', output: `command timed out: ${text}` }
  }
}

/** Variables with `valueFrom` are not resolved in probes. */
function staticValue({ env = [] }: Container, name: string): string | undefined {
  const variable = env.findLast(one => one.name === name)
  return variable && (variable.value ?? '')
}
