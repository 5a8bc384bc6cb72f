import { outcomeOfAnnotations, parseSimulatedCommand, type CommandStep } from '../simulated-command.ts'
import type { ContainerScript, ExecScript } from './script.ts'

export interface ContainerRun {
  readonly script: ContainerScript
  /** Entrypoint and arguments. */
  readonly command: readonly string[]
  /** The pod's annotations. */
  readonly annotations: Readonly<Record<string, string>>
}

/**
 * The steps of a container from start to exit, from its script, the pod's annotations or its command, in this
 * order.
 */
export function planContainerRun({ script, command, annotations }: ContainerRun): readonly CommandStep[] {
  const { exitAfterMs, exitCode, isOutOfMemory, logs = [], files = {} } = script
  const writes = Object.entries(files).map(([path, text]): CommandStep => ({ do: 'write', path, text }))
  const isTold = exitAfterMs !== undefined || exitCode !== undefined || isOutOfMemory || logs.length > 0
  if (!isTold) {
    const steps = stepsOfAnnotations(annotations) ?? parseSimulatedCommand(command) ?? [forever]
    return [...writes, ...steps]
  }
  const logged = logs.flatMap(({ text, stream = 'stdout', afterMs = 0 }): CommandStep[] => {
    return [...wait(afterMs), { do: 'print', stream, text: `${text}\n` }]
  })
  const loggedMs = logs.reduce((sum, { afterMs = 0 }) => sum + afterMs, 0)
  const ends = exitAfterMs !== undefined || exitCode !== undefined || isOutOfMemory
  if (!ends) return [...logged, ...writes, forever]
  const code = exitCode ?? (isOutOfMemory ? killedCode : 0)
  return [...logged, ...wait((exitAfterMs ?? 0) - loggedMs), ...writes, { do: 'exit', code }]
}

/** A command that is not understood exits with 0 at once. */
export function planExec(command: readonly string[], script: ExecScript | undefined): readonly CommandStep[] {
  if (script === undefined) return parseSimulatedCommand(command) ?? [{ do: 'exit', code: 0 }]
  const { afterMs = 0, stdout = '', stderr = '', exitCode = 0 } = script
  return [
    ...wait(afterMs),
    { do: 'print', stream: 'stdout', text: stdout },
    { do: 'print', stream: 'stderr', text: stderr },
    { do: 'exit', code: exitCode },
  ]
}

/** 128 + SIGKILL. */
export const killedCode = 137

const forever: CommandStep = { do: 'wait', ms: Infinity }

function wait(ms: number): readonly CommandStep[] {
  return ms > 0 ? [{ do: 'wait', ms }] : []
}

function stepsOfAnnotations(
  annotations: Readonly<Record<string, string>>,
): readonly CommandStep[] | undefined {
  const outcome = outcomeOfAnnotations(annotations)
  return outcome && [...wait(outcome.afterMs), { do: 'exit', code: outcome.exitCode }]
}
